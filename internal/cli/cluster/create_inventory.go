package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
)

// The members of the Secret: the hand-off, and what the flags have asked for.
const (
	inventoryKey = "handoff.yaml"
	askedKey     = "asked.json"
)

// inventoryName is the Secret beside the HostedCluster in which destroy finds what was made for it.
func inventoryName(cluster string) string { return cluster + "-azure-inventory" }

// inventorySecret is that Secret, for a cluster and what its flags ask for.
func (c *creation) inventorySecret(ctx context.Context, in client.Client, cluster manifest.Cluster, asked map[string]string) (*corev1.Secret, error) {
	h := c.record.File
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: inventoryName(cluster.Name)}
	earlier, err := readInventory(ctx, in, key)
	if err != nil {
		if !errors.Is(err, errDamagedInventory) {
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
	raw, err := h.Encode()
	if err != nil {
		return nil, err
	}
	wishes, err := json.Marshal(asked)
	if err != nil {
		return nil, fmt.Errorf("cannot encode what the flags ask for: %w", err)
	}
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Data:       map[string][]byte{inventoryKey: raw, askedKey: wishes},
	}, nil
}

// readAsked is what the flags asked for the last time; nothing where nobody knows.
func (c *creation) readAsked(ctx context.Context, in client.Client, existing *hyperv1.HostedCluster) (map[string]string, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: existing.Namespace, Name: inventoryName(existing.Name)}
	if err := in.Get(ctx, key, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("cannot read Secret %s: %w", key, err)
	}
	asked := map[string]string{}
	if raw := secret.Data[askedKey]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &asked); err != nil {
			c.say("warning: %s of Secret %s cannot be understood, so whatever differs from the flags counts as a wish: %v", askedKey, key, err)
			return nil, nil
		}
	}
	return asked, nil
}

// errDamagedInventory is the error of a Secret that holds no hand-off; every other error leaves open what it holds.
var errDamagedInventory = errors.New("it cannot be understood")

// readInventory reads the Secret; nil when there is none.
func readInventory(ctx context.Context, c client.Client, key client.ObjectKey) (*handoff.File, error) {
	secret := &corev1.Secret{}
	err := c.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the inventory in Secret %s: %w", key, err)
	}
	h, err := handoff.Parse(secret.Data[inventoryKey])
	if err != nil {
		return nil, fmt.Errorf("the inventory in Secret %s: %w: %w", key, errDamagedInventory, err)
	}
	return h, nil
}
