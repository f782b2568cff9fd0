package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/existing"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
)

// plan is what is applied for a cluster in its infrastructure.
type plan struct {
	cluster manifest.Cluster
	// objects are in the order in which they are applied; each carries the infrastructure id, by which destroy finds them. Of a cluster
	// that is there it is the record alone: what else is missing is seen, and made, after that is written.
	objects []client.Object
}

// plan reads what an earlier run has left and puts the objects together.
func (c *creation) plan(ctx context.Context, r resolved, cluster manifest.Cluster) (plan, error) {
	asked := r.asked
	if r.existing == nil {
		var err error
		if asked, err = existing.Wishes(r.typed.wishes(), cluster); err != nil {
			return plan{}, err
		}
	}
	inventory, err := c.inventorySecret(ctx, r.client, cluster, asked)
	if err != nil {
		return plan{}, err
	}
	if r.existing != nil {
		return plan{cluster, owned(cluster, inventory)}, nil
	}
	if cluster.Secrets, err = keptSecrets(ctx, r, cluster); err != nil {
		return plan{}, err
	}
	objs := slices.Insert(cluster.Objects(), 1, client.Object(inventory)) // after the namespace, and before what may be destroyed
	return plan{cluster, owned(cluster, objs...)}, nil
}

// owned marks objects with the infrastructure id.
func owned(cluster manifest.Cluster, objs ...client.Object) []client.Object {
	for _, obj := range objs {
		labels := maps.Clone(obj.GetLabels())
		if labels == nil {
			labels = map[string]string{}
		}
		labels[hyperv1.AutoInfraLabel] = cluster.Infra.InfraID
		obj.SetLabels(labels)
	}
	return objs
}

// keptSecrets puts the keys of an earlier run in place of the ones just generated: replacing the encryption key of a living cluster
// would lose its Secrets.
func keptSecrets(ctx context.Context, r resolved, cluster manifest.Cluster) (manifest.Secrets, error) {
	kept := cluster.Secrets
	for _, obj := range cluster.Objects() {
		secret, ok := obj.(*corev1.Secret)
		if !ok {
			continue
		}
		live := &corev1.Secret{}
		err := r.client.Get(ctx, client.ObjectKeyFromObject(secret), live)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return kept, fmt.Errorf("cannot read Secret %s: %w", client.ObjectKeyFromObject(secret), err)
		}
		if live.Labels[hyperv1.AutoInfraLabel] != cluster.Infra.InfraID {
			continue
		}
		if secret.Type == corev1.SecretTypeOpaque {
			if kept.EtcdEncryptionKey, err = r.typed.restore.keptEncryptionKey(live, kept.EtcdEncryptionKey); err != nil {
				return kept, err
			}
		}
		if private := live.Data[hyperv1.SSHPrivateKeyKey]; len(private) > 0 && r.typed.generateSSH {
			kept.SSHPrivateKey, kept.SSHPublicKey = private, live.Data[hyperv1.SSHPublicKeyKey]
		}
	}
	return kept, nil
}
