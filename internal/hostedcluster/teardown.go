package hostedcluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	teardownPoll = 2 * time.Second
	// endPoll is for what nobody watches.
	endPoll           = 500 * time.Millisecond
	teardownGrace     = 1
	deletingReason    = "Deleting"
	deletedReason     = "Deleted"
	skipNamespaceTrue = "true"
)

// teardownStep removes one thing. It says what it waits for, or nothing when the thing is gone.
type teardownStep struct {
	name string
	run  func(*pass, context.Context) (string, error)
}

// teardownSteps in order: machines while the managers that delete them and the control plane they drain through still run.
var teardownSteps = []teardownStep{
	{"resume", (*pass).resumeForDeletion},
	{"node pools", (*pass).deleteNodePools},
	{"machines", (*pass).deleteMachines},
	{"control plane", (*pass).deleteControlPlane},
	{"pods", (*pass).endPods},
	{"namespace", (*pass).deleteNamespace},
	{"cluster-wide access", (*pass).deleteClusterAccess},
	{"grace period", (*pass).waitGracePeriod},
}

func (p *pass) tearDown(ctx context.Context) error {
	if !controllerutil.ContainsFinalizer(p.hc, hyperv1.Finalizer) {
		return nil
	}
	for _, s := range teardownSteps {
		waitingFor, err := s.run(p, ctx)
		if err != nil {
			err = fmt.Errorf("delete %s: %w", s.name, err)
			p.setReconciliation(err)
			return err
		}
		if waitingFor != "" {
			p.observeConditions()
			p.reportTeardown(waitingFor)
			p.requeue(teardownPoll)
			return nil
		}
	}
	p.event(corev1.EventTypeNormal, deletedReason, "Everything of the hosted cluster is gone.")
	return kube.RemoveFinalizer(ctx, p.Client, p.hc, hyperv1.Finalizer)
}

func (p *pass) reportTeardown(waitingFor string) {
	if kube.Find(p.hc.Status.Conditions, hyperv1.HostedClusterDestroyed) == nil {
		p.event(corev1.EventTypeNormal, deletingReason, "Deleting the hosted cluster: waiting for "+waitingFor+".")
	}
	if strings.HasPrefix(waitingFor, "the grace period") {
		p.conditions().True(hyperv1.HostedClusterDestroyed, hyperv1.WaitingForGracePeriodReason, "Everything is gone; waiting for "+waitingFor+".")
		return
	}
	p.conditions().False(hyperv1.HostedClusterDestroyed, deletingReason, "Waiting for "+waitingFor+".")
}

// resumeForDeletion hands the deletion of a paused cluster down, and the user's wish to clean cloud resources up.
func (p *pass) resumeForDeletion(ctx context.Context) (string, error) {
	if err := p.setCAPIPaused(ctx, false); err != nil {
		return "", err
	}
	if p.hcp == nil {
		return "", nil
	}
	before := p.hcp.DeepCopy()
	p.hcp.Spec.PausedUntil = nil
	if value, ok := p.hc.Annotations[hyperv1.CleanupCloudResourcesAnnotation]; ok {
		metav1.SetMetaDataAnnotation(&p.hcp.ObjectMeta, hyperv1.CleanupCloudResourcesAnnotation, value)
	}
	if before.Spec.PausedUntil == nil && len(before.Annotations) == len(p.hcp.Annotations) {
		return "", nil
	}
	return "", client.IgnoreNotFound(p.Patch(ctx, p.hcp, client.MergeFrom(before)))
}

func (p *pass) deleteNodePools(ctx context.Context) (string, error) {
	pools := &hyperv1.NodePoolList{}
	if err := p.List(ctx, pools, client.InNamespace(p.hc.Namespace)); err != nil {
		return "", fmt.Errorf("list NodePools: %w", err)
	}
	var remaining []string
	for i := range pools.Items {
		pool := &pools.Items[i]
		if pool.Spec.ClusterName != p.hc.Name {
			continue
		}
		remaining = append(remaining, pool.Name)
		if pool.DeletionTimestamp.IsZero() {
			if err := kube.DeleteIfExists(ctx, p.Client, pool); err != nil {
				return "", err
			}
		}
	}
	if len(remaining) == 0 {
		return "", nil
	}
	return "NodePools " + strings.Join(remaining, ", "), nil
}

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
	if len(machines.Items) > 0 {
		return strconv.Itoa(len(machines.Items)) + " Machines of Cluster " + p.infraID, nil
	}
	return "Cluster " + p.infraID + " and its control plane", nil
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
	return "HostedControlPlane " + p.namespace + "/" + p.cluster, nil
}

// endPods stops what runs in the namespace, and drops its disks, before the namespace is deleted. Nobody is served any more, and what
// was stored goes too: an API server's long goodbye to its clients is for rollouts, and a namespace that is deleted while something in
// it still has to end looks again only after a while.
func (p *pass) endPods(ctx context.Context) (string, error) {
	namespace, err := p.ownNamespace(ctx)
	if err != nil || namespace == nil {
		return "", err
	}
	// Owners first, and without their pods: else they would make new ones meanwhile.
	inside, leave := client.InNamespace(p.namespace), client.PropagationPolicy(metav1.DeletePropagationOrphan)
	err = errors.Join(
		p.DeleteAllOf(ctx, &appsv1.Deployment{}, inside, leave),
		p.DeleteAllOf(ctx, &appsv1.StatefulSet{}, inside, leave),
		p.DeleteAllOf(ctx, &appsv1.ReplicaSet{}, inside, leave),
		p.DeleteAllOf(ctx, &corev1.Pod{}, inside, client.GracePeriodSeconds(teardownGrace)),
		p.DeleteAllOf(ctx, &corev1.PersistentVolumeClaim{}, inside))
	pods, disks := &corev1.PodList{}, &corev1.PersistentVolumeClaimList{}
	if err = errors.Join(err, p.Live.List(ctx, pods, inside), p.Live.List(ctx, disks, inside)); err != nil {
		return "", fmt.Errorf("namespace %s: %w", p.namespace, err)
	}
	if len(pods.Items)+len(disks.Items) == 0 {
		return "", nil
	}
	p.requeue(endPoll)
	return fmt.Sprintf("%d pods and %d disks in namespace %s", len(pods.Items), len(disks.Items), p.namespace), nil
}

// ownNamespace is the control-plane namespace, nil when it is gone, to be kept, or somebody else's that happens to have the name.
func (p *pass) ownNamespace(ctx context.Context) (*corev1.Namespace, error) {
	if p.hc.Annotations[hyperv1.SkipDeleteNamespaceAnnotation] == skipNamespaceTrue {
		return nil, nil
	}
	namespace := &corev1.Namespace{}
	err := p.Get(ctx, client.ObjectKey{Name: p.namespace}, namespace)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", p.namespace, err)
	}
	if namespace.Annotations[hyperv1.HostedClusterAnnotation] != p.hc.Namespace+"/"+p.hc.Name {
		return nil, nil
	}
	return namespace, nil
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
			if err := kube.DeleteIfExists(ctx, p.Client, obj); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}

// waitGracePeriod keeps the finished object visible for as long as the user asked.
func (p *pass) waitGracePeriod(context.Context) (string, error) {
	value, ok := p.hc.Annotations[hyperv1.DestroyGracePeriodAnnotation]
	if !ok {
		return "", nil
	}
	grace, err := time.ParseDuration(value)
	if err != nil {
		p.warn("InvalidGracePeriod", fmt.Sprintf("Annotation %s=%q is not a duration like 10m; it is ignored.", hyperv1.DestroyGracePeriodAnnotation, value))
		return "", nil
	}
	since := p.Now()
	if done := kube.Find(p.hc.Status.Conditions, hyperv1.HostedClusterDestroyed); done != nil && done.Reason == hyperv1.WaitingForGracePeriodReason {
		since = done.LastTransitionTime.Time
	}
	if !p.Now().Before(since.Add(grace)) {
		return "", nil
	}
	return "the grace period of " + grace.String(), nil
}
