package cluster

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/inventory"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
)

// inventorySecret is the Secret in which destroy finds what was made for a cluster, for it and what its flags ask for.
func (c *creation) inventorySecret(ctx context.Context, in client.Client, cluster manifest.Cluster, asked map[string]string) (*corev1.Secret, error) {
	h := c.record.File
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: inventory.Name(cluster.Name)}
	earlier, err := inventory.Read(ctx, in, key)
	if err != nil {
		if !errors.Is(err, inventory.ErrDamaged) {
			return nil, err
		}
		c.say("warning: %v; it is replaced", err)
	}
	// An earlier run may have made what this one has found in its place.
	switch {
	case earlier == nil:
	case earlier.InfraID == h.InfraID:
		h.Join(earlier)
	default:
		c.say("warning: the record of infrastructure %[1]s is replaced; what may be left of it goes with `hypershift destroy infra azure --name %[2]s --infra-id %[1]s`", earlier.InfraID, cluster.Name)
	}
	return inventory.Secret(key, h, asked)
}

// readAsked is what the flags asked for the last time; nothing where nobody knows.
func (c *creation) readAsked(ctx context.Context, in client.Client, existing *hyperv1.HostedCluster) (map[string]string, error) {
	asked, err := inventory.ReadAsked(ctx, in, client.ObjectKey{Namespace: existing.Namespace, Name: inventory.Name(existing.Name)})
	if errors.Is(err, inventory.ErrDamaged) {
		c.say("warning: %v, so whatever differs from the flags counts as a wish", err)
		return nil, nil
	}
	return asked, err
}
