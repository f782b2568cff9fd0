package hostedcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// deleteMachines deletes the Cluster, which takes its Machines, the AzureCluster and, through the reference, the HostedControlPlane
// with it.
func (p *pass) deleteMachines(ctx context.Context) (string, error) {
	if p.infraID == "" {
		return "", nil
	}
	cluster, err := p.readKind(ctx, clusterKind, p.infraID)
	if err != nil || cluster == nil {
		return "", err
	}
	if cluster.GetDeletionTimestamp() == nil {
		if err := kube.DeleteIfExists(ctx, p.Client, cluster); err != nil {
			return "", err
		}
	}
	machines := &unstructured.UnstructuredList{}
	machines.SetGroupVersionKind(machineKind)
	if err := p.List(ctx, machines, client.InNamespace(p.namespace)); err != nil {
		return "", fmt.Errorf("list Machines: %w", err)
	}
	// A Machine stands for something that costs money: nobody but its provider may say that it is gone.
	if len(machines.Items) > 0 {
		return strconv.Itoa(len(machines.Items)) + " Machines of Cluster " + p.infraID, nil
	}
	azureCluster, err := p.readKind(ctx, azureClusterKind, p.cluster)
	if err != nil {
		return "", err
	}
	if azureCluster != nil {
		err = p.abandon(ctx, azureCluster)
	}
	return "Cluster " + p.infraID + " and its control plane", errors.Join(err, p.abandon(ctx, cluster))
}

// releaseUnborn lets go of machines that cannot exist. Cluster API's provider logs in to Azure with a token of the hosted cluster: where
// the API server never served, there was none, so it has made no virtual machine, and cannot find out either.
func (p *pass) releaseUnborn(ctx context.Context) error {
	if p.hcp == nil || p.hcp.Status.Initialized || kube.IsTrue(p.hcp.Status.Conditions, hyperv1.KubeAPIServerAvailable) {
		return nil
	}
	machines := &unstructured.UnstructuredList{}
	machines.SetGroupVersionKind(azureMachineKind)
	if err := p.List(ctx, machines, client.InNamespace(p.namespace)); err != nil && !meta.IsNoMatchError(err) {
		return fmt.Errorf("list AzureMachines: %w", err)
	}
	var errs []error
	for i := range machines.Items {
		if id, _, _ := unstructured.NestedString(machines.Items[i].Object, "spec", "providerID"); id == "" {
			errs = append(errs, p.abandonAfter(ctx, unbornLimit, &machines.Items[i]))
		}
	}
	return errors.Join(errs...)
}

func (p *pass) deleteControlPlane(ctx context.Context) (string, error) {
	if p.hcp == nil {
		return "", nil
	}
	if p.hcp.DeletionTimestamp.IsZero() {
		if err := kube.DeleteIfExists(ctx, p.Client, p.hcp); err != nil {
			return "", err
		}
	}
	return "HostedControlPlane " + p.namespace + "/" + p.cluster, p.abandon(ctx, p.hcp)
}

// abandon bounds the wait for a controller that may never come back: its image may be gone, or its node. What it would have cleaned up
// ends with the namespace.
func (p *pass) abandon(ctx context.Context, obj client.Object) error {
	return p.abandonAfter(ctx, finalizerLimit, obj)
}

func (p *pass) abandonAfter(ctx context.Context, limit time.Duration, obj client.Object) error {
	deleted := obj.GetDeletionTimestamp()
	if deleted.IsZero() || p.Now().Before(deleted.Add(limit)) || len(obj.GetFinalizers()) == 0 {
		return nil
	}
	p.warn(abandonedReason, fmt.Sprintf("%s has been waiting for %s since %s; its controller is given up.",
		kube.Describe(obj), strings.Join(obj.GetFinalizers(), ", "), deleted.UTC().Format("15:04:05")))
	before, _ := obj.DeepCopyObject().(client.Object)
	obj.SetFinalizers(nil)
	if err := p.Patch(ctx, obj, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("take the finalizers off %s: %w", kube.Describe(obj), err)
	}
	return nil
}

// endPods stops what runs in the namespace, and drops its disks, before the namespace is deleted. Nobody is served any more, and what
// was stored goes too: an API server's long goodbye to its clients is for rollouts, and a namespace that is deleted while something in
// it still has to end looks again only after a while.
func (p *pass) endPods(ctx context.Context) (string, error) {
	namespace, err := p.ownNamespace(ctx)
	if err != nil || namespace == nil {
		return "", err
	}
	since, waits := p.waitsSince(hyperv1.DeletingPodsReason)
	if !waits && namespace.DeletionTimestamp.IsZero() {
		err = p.deleteWorkloads(ctx)
	}
	pods, disks, listErr := p.podsAndDisks(ctx)
	if err = errors.Join(err, listErr); err != nil {
		return "", fmt.Errorf("namespace %s: %w", p.namespace, err)
	}
	if len(pods)+len(disks) == 0 {
		return "", nil
	}
	undeleted := func(obj metav1.Object) bool { return obj.GetDeletionTimestamp() == nil }
	if slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return undeleted(&pod) }) ||
		slices.ContainsFunc(disks, func(disk corev1.PersistentVolumeClaim) bool { return undeleted(&disk) }) {
		err = p.deleteWorkloads(ctx)
	}
	if err = errors.Join(err, p.forcePods(ctx, pods)); err != nil {
		return "", fmt.Errorf("namespace %s: %w", p.namespace, err)
	}
	if p.Now().Before(since.Add(endPollLimit)) {
		p.requeue(endPoll)
	}
	return fmt.Sprintf("%d pods and %d disks in namespace %s", len(pods), len(disks), p.namespace), nil
}

func (p *pass) deleteWorkloads(ctx context.Context) error {
	// Owners first, and without their pods: else they would make new ones meanwhile.
	inside, leave := client.InNamespace(p.namespace), client.PropagationPolicy(metav1.DeletePropagationOrphan)
	return errors.Join(
		p.DeleteAllOf(ctx, &appsv1.Deployment{}, inside, leave),
		p.DeleteAllOf(ctx, &appsv1.StatefulSet{}, inside, leave),
		p.DeleteAllOf(ctx, &appsv1.ReplicaSet{}, inside, leave),
		p.DeleteAllOf(ctx, &corev1.Pod{}, inside, client.GracePeriodSeconds(teardownGrace)),
		p.DeleteAllOf(ctx, &corev1.PersistentVolumeClaim{}, inside))
}

func (p *pass) podsAndDisks(ctx context.Context) ([]corev1.Pod, []corev1.PersistentVolumeClaim, error) {
	pods, disks, inside := &corev1.PodList{}, &corev1.PersistentVolumeClaimList{}, client.InNamespace(p.namespace)
	err := errors.Join(p.Live.List(ctx, pods, inside), p.Live.List(ctx, disks, inside))
	return pods.Items, disks.Items, err
}

// forcePods bounds the wait for a kubelet that may never come back: its node is gone, or does not answer.
func (p *pass) forcePods(ctx context.Context, pods []corev1.Pod) error {
	var errs []error
	for i := range pods {
		pod := &pods[i]
		forced := ptr.Deref(pod.DeletionGracePeriodSeconds, teardownGrace) == 0
		if pod.DeletionTimestamp.IsZero() || forced || p.Now().Before(pod.DeletionTimestamp.Add(podLimit)) {
			continue
		}
		err := p.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("give up on the node of %s: %w", kube.Describe(pod), err))
		}
	}
	return errors.Join(errs...)
}

// ownNamespace is the control-plane namespace, nil when it is gone, to be kept, or somebody else's that happens to have the name.
func (p *pass) ownNamespace(ctx context.Context) (*corev1.Namespace, error) {
	if p.hc.Annotations[hyperv1.SkipDeleteNamespaceAnnotation] == skipNamespaceTrue {
		return nil, nil
	}
	namespace := &corev1.Namespace{}
	err := p.Get(ctx, client.ObjectKey{Name: p.namespace}, namespace)
	if apierrors.IsNotFound(err) {
		// The cache may lag behind the pass that made it.
		err = p.Live.Get(ctx, client.ObjectKey{Name: p.namespace}, namespace)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", p.namespace, err)
	}
	if !p.owns(namespace) {
		return nil, nil
	}
	return namespace, nil
}

// owns tells whether the object refers back to this HostedCluster. Names are no proof: two clusters may lead to the same one.
func (p *pass) owns(obj client.Object) bool {
	return obj.GetAnnotations()[hyperv1.HostedClusterAnnotation] == p.hc.Namespace+"/"+p.hc.Name
}

func (p *pass) deleteNamespace(ctx context.Context) (string, error) {
	namespace, err := p.ownNamespace(ctx)
	if err != nil || namespace == nil {
		return "", err
	}
	if namespace.DeletionTimestamp.IsZero() {
		if err := kube.DeleteIfExists(ctx, p.Client, namespace); err != nil {
			return "", err
		}
	}
	return "namespace " + p.namespace + namespaceProblems(namespace), nil
}

// namespaceProblems repeats what the API server says holds the namespace back.
func namespaceProblems(namespace *corev1.Namespace) string {
	var problems []string
	for _, condition := range namespace.Status.Conditions {
		if condition.Status == corev1.ConditionTrue && condition.Message != "" {
			problems = append(problems, condition.Message)
		}
	}
	if len(problems) == 0 {
		return ""
	}
	return ": " + strings.Join(problems, "; ")
}

func (p *pass) deleteClusterAccess(ctx context.Context) (string, error) {
	for workload := range clusterScopedRules {
		name := metav1.ObjectMeta{Name: p.namespace + "-" + workload}
		for _, obj := range []client.Object{&rbacv1.ClusterRoleBinding{ObjectMeta: name}, &rbacv1.ClusterRole{ObjectMeta: name}} {
			// Past the cache, which may lag behind the pass that made it.
			err := p.Live.Get(ctx, client.ObjectKeyFromObject(obj), obj)
			if client.IgnoreNotFound(err) != nil {
				return "", fmt.Errorf("read %s: %w", kube.Describe(obj), err)
			}
			if err != nil || !p.owns(obj) {
				continue
			}
			if err := kube.DeleteIfExists(ctx, p.Client, obj); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}
