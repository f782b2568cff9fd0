package teardown

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// endPods stops what runs in the namespace, and drops its disks, before the namespace is deleted. Nobody is served any more, and what
// was stored goes too: an API server's long goodbye to its clients is for rollouts, and a namespace that is deleted while something in
// it still has to end looks again only after a while.
func (d *Deletion) endPods(ctx context.Context) (string, error) {
	namespace, err := ownNamespace(ctx, d.Cluster)
	if err != nil || namespace == nil {
		return "", err
	}
	since, waits := d.waitsSince(hyperv1.DeletingPodsReason)
	if !waits && namespace.DeletionTimestamp.IsZero() {
		err = deleteWorkloads(ctx, d.Cluster)
	}
	pods, disks, listErr := podsAndDisks(ctx, d.Cluster)
	if err = errors.Join(err, listErr); err != nil {
		return "", fmt.Errorf("namespace %s: %w", d.Namespace, err)
	}
	if len(pods)+len(disks) == 0 {
		return "", nil
	}
	undeleted := func(obj metav1.Object) bool { return obj.GetDeletionTimestamp() == nil }
	if slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return undeleted(&pod) }) ||
		slices.ContainsFunc(disks, func(disk corev1.PersistentVolumeClaim) bool { return undeleted(&disk) }) {
		err = deleteWorkloads(ctx, d.Cluster)
	}
	if err = errors.Join(err, forcePods(ctx, d.Cluster, pods)); err != nil {
		return "", fmt.Errorf("namespace %s: %w", d.Namespace, err)
	}
	if d.Now().Before(since.Add(endPollLimit)) {
		d.requeue(endPoll)
	}
	return fmt.Sprintf("%d pods and %d disks in namespace %s", len(pods), len(disks), d.Namespace), nil
}

func deleteWorkloads(ctx context.Context, c *cluster.Cluster) error {
	// Owners first, and without their pods: else they would make new ones meanwhile.
	inside, leave := client.InNamespace(c.Namespace), client.PropagationPolicy(metav1.DeletePropagationOrphan)
	return errors.Join(
		c.Client.DeleteAllOf(ctx, &appsv1.Deployment{}, inside, leave),
		c.Client.DeleteAllOf(ctx, &appsv1.StatefulSet{}, inside, leave),
		c.Client.DeleteAllOf(ctx, &appsv1.ReplicaSet{}, inside, leave),
		c.Client.DeleteAllOf(ctx, &corev1.Pod{}, inside, client.GracePeriodSeconds(podGrace)),
		c.Client.DeleteAllOf(ctx, &corev1.PersistentVolumeClaim{}, inside))
}

func podsAndDisks(ctx context.Context, c *cluster.Cluster) ([]corev1.Pod, []corev1.PersistentVolumeClaim, error) {
	pods, disks, inside := &corev1.PodList{}, &corev1.PersistentVolumeClaimList{}, client.InNamespace(c.Namespace)
	err := errors.Join(c.Live.List(ctx, pods, inside), c.Live.List(ctx, disks, inside))
	return pods.Items, disks.Items, err
}

// forcePods bounds the wait for a kubelet that may never come back: its node is gone, or does not answer.
func forcePods(ctx context.Context, c *cluster.Cluster, pods []corev1.Pod) error {
	var errs []error
	for i := range pods {
		pod := &pods[i]
		forced := ptr.Deref(pod.DeletionGracePeriodSeconds, podGrace) == 0
		if pod.DeletionTimestamp.IsZero() || forced || c.Now().Before(pod.DeletionTimestamp.Add(podLimit)) {
			continue
		}
		err := c.Client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("give up on the node of %s: %w", kube.Describe(pod), err))
		}
	}
	return errors.Join(errs...)
}
