package resources

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// noteHash notes the hash of the first administrator's password, as the guest has it now, on the password: who checks log-ins starts anew
// with another.
func (r *reconciler) noteHash(ctx context.Context, facts *inside.Facts) error {
	if facts.KubeadminHash == facts.KubeadminNoted {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{contract.KubeadminHash: facts.KubeadminHash}}})
	if err != nil {
		return fmt.Errorf("encode the hash of Secret %s: %w", contract.KubeadminPassword, err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: contract.KubeadminPassword}}
	if err := r.management.Patch(ctx, secret, client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("note the hash on Secret %s of the control plane: %w", contract.KubeadminPassword, err)
	}
	return nil
}
