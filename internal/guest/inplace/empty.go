package inplace

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// empty evicts what runs on a node, and says what it still waits for; empty when nothing is left that another node could run. A budget
// that an eviction would break holds it up for as long as it does.
func (r *reconciler) empty(ctx context.Context, node *corev1.Node) (string, error) {
	var pods corev1.PodList
	if err := r.live.List(ctx, &pods, client.MatchingFields{"spec.nodeName": node.Name}); err != nil {
		return "", fmt.Errorf("list the pods of node %s: %w", node.Name, err)
	}
	left, held := 0, ""
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !movable(pod) {
			continue
		}
		left++
		if pod.DeletionTimestamp != nil {
			continue
		}
		err := r.guest.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{}})
		switch {
		case apierrors.IsTooManyRequests(err):
			held = fmt.Sprintf(", %s/%s is held by its disruption budget", pod.Namespace, pod.Name)
		case client.IgnoreNotFound(err) != nil:
			return "", fmt.Errorf("evict pod %s/%s from node %s: %w", pod.Namespace, pod.Name, node.Name, err)
		}
	}
	if left == 0 {
		return "", nil
	}
	return fmt.Sprintf("%d pods have to leave it%s", left, held), nil
}

// movable: what belongs to the node itself, or runs no more, does not leave it.
func movable(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || isOwn(pod) {
		return false
	}
	if _, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
		return false
	}
	owner := metav1.GetControllerOf(pod)
	return owner == nil || owner.Kind != "DaemonSet"
}

// isOwn: the pod is what changes the node.
func isOwn(pod *corev1.Pod) bool {
	return pod.Labels[targetLabel] != "" && (pod.Namespace == metav1.NamespaceSystem || pod.Namespace == upgradeName(pod.Labels[poolLabel]))
}
