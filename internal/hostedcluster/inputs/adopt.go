package inputs

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
)

// AdoptSecrets makes Secrets that were created for this cluster go away with it. Secrets of the user's are never touched.
func AdoptSecrets(ctx context.Context, c *cluster.Cluster) error {
	made := &corev1.SecretList{}
	if err := c.Client.List(ctx, made, client.InNamespace(c.Hosted.Namespace), client.MatchingLabels{
		hyperv1.DeleteWithClusterLabel: "true", hyperv1.AutoInfraLabel: c.InfraID(),
	}); err != nil {
		return fmt.Errorf("list Secrets of infrastructure %s: %w", c.InfraID(), err)
	}
	owner := metav1.OwnerReference{
		APIVersion: hyperv1.GroupVersion.String(), Kind: "HostedCluster", Name: c.Hosted.Name, UID: c.Hosted.UID,
	}
	var problems []error
	for i := range made.Items {
		secret := &made.Items[i]
		if metav1.IsControlledBy(secret, c.Hosted) || ownedBy(secret, owner) {
			continue
		}
		before := secret.DeepCopy()
		secret.OwnerReferences = append(secret.OwnerReferences, owner)
		if err := c.Client.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			problems = append(problems, fmt.Errorf("own Secret %s: %w", secret.Name, err))
		}
	}
	return errors.Join(problems...)
}

func ownedBy(obj client.Object, owner metav1.OwnerReference) bool {
	for _, reference := range obj.GetOwnerReferences() {
		if reference.UID == owner.UID {
			return true
		}
	}
	return false
}
