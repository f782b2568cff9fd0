// Package inventory is the Secret beside a HostedCluster in which destroy finds what was made for it.
package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
)

// The members of the Secret: the hand-off, and what the flags have asked for.
const (
	HandoffKey = "handoff.yaml"
	AskedKey   = "asked.json"
)

// Name is the Secret beside the HostedCluster in which destroy finds what was made for it.
func Name(cluster string) string { return cluster + "-azure-inventory" }

// Secret is that Secret with a hand-off and what flags ask for.
func Secret(key client.ObjectKey, h *handoff.File, asked map[string]string) (*corev1.Secret, error) {
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
		Data:       map[string][]byte{HandoffKey: raw, AskedKey: wishes},
	}, nil
}

// ErrDamaged is the error of a Secret that holds no hand-off; every other error leaves open what it holds.
var ErrDamaged = errors.New("it cannot be understood")

// Read reads the Secret; nil when there is none.
func Read(ctx context.Context, c client.Client, key client.ObjectKey) (*handoff.File, error) {
	secret := &corev1.Secret{}
	err := c.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the inventory in Secret %s: %w", key, err)
	}
	h, err := handoff.Parse(secret.Data[HandoffKey])
	if err != nil {
		return nil, fmt.Errorf("the inventory in Secret %s: %w: %w", key, ErrDamaged, err)
	}
	return h, nil
}

// ReadAsked is what the flags asked for the last time; nothing where nobody knows.
func ReadAsked(ctx context.Context, c client.Client, key client.ObjectKey) (map[string]string, error) {
	secret := &corev1.Secret{}
	if err := c.Get(ctx, key, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("cannot read Secret %s: %w", key, err)
	}
	asked := map[string]string{}
	if raw := secret.Data[AskedKey]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &asked); err != nil {
			return nil, fmt.Errorf("%s of Secret %s: %w: %w", AskedKey, key, ErrDamaged, err)
		}
	}
	return asked, nil
}
