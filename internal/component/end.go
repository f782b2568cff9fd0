package component

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// EndAtOnce stops the pods of a Deployment that may take minutes to say goodbye to their clients: that is for rollouts. A pod that was asked
// to end cannot be asked to hurry, so its owners are taken away first, and leave it; who wants the Deployment makes it anew.
func EndAtOnce(ctx context.Context, c client.Client, namespace, name string) error {
	inside, itself := client.InNamespace(namespace), client.MatchingLabels{LabelApp: name}
	leave := client.PropagationPolicy(metav1.DeletePropagationOrphan)
	owner := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	if err := kube.DeleteIfExists(ctx, c, owner, leave); err != nil {
		return err
	}
	if err := c.DeleteAllOf(ctx, &appsv1.ReplicaSet{}, inside, itself, leave); err != nil {
		return fmt.Errorf("delete the replica sets of %s: %w", name, err)
	}
	if err := c.DeleteAllOf(ctx, &corev1.Pod{}, inside, itself, client.GracePeriodSeconds(1)); err != nil {
		return fmt.Errorf("end the pods of %s: %w", name, err)
	}
	return nil
}
