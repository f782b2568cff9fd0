package inside

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// AdditionalPullSecret is the Secret of kube-system in which an administrator of the guest names registries of his own.
const AdditionalPullSecret = "additional-pull-secret"

// mergedPullSecret is the user's pull secret with what the guest's administrator added; nil where he added nothing, or what no kubelet could
// read: that is his to mend, and holds up nothing else.
func (r *Reader) mergedPullSecret(ctx context.Context, original []byte) ([]byte, error) {
	secret := &corev1.Secret{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: KubeSystem, Name: AdditionalPullSecret}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read Secret %s of the guest: %w", AdditionalPullSecret, err)
	}
	if err != nil {
		return nil, nil
	}
	merged, err := mergePullSecrets(original, secret.Data[hyperv1.PullSecretKey])
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "the additional pull secret of the guest is not used", "secret", KubeSystem+"/"+AdditionalPullSecret)
		return nil, nil
	}
	return merged, nil
}

// mergePullSecrets adds registries to a pull secret; those that it has stay as they are. An error tells no content: it is secret.
func mergePullSecrets(original, additional []byte) ([]byte, error) {
	type document struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}
	var base, more document
	if err := json.Unmarshal(original, &base); err != nil {
		return nil, fmt.Errorf("the pull secret of the hosted cluster is no JSON that has auths")
	}
	if err := json.Unmarshal(additional, &more); err != nil {
		return nil, fmt.Errorf("key %s of it is no JSON that has auths; write {\"auths\":{\"REGISTRY\":{\"auth\":\"...\"}}}", hyperv1.PullSecretKey)
	}
	if len(more.Auths) == 0 {
		return nil, fmt.Errorf("key %s of it names no registry; write {\"auths\":{\"REGISTRY\":{\"auth\":\"...\"}}}", hyperv1.PullSecretKey)
	}
	for registry, entry := range more.Auths {
		var login map[string]any
		if json.Unmarshal(entry, &login) != nil || login == nil {
			return nil, fmt.Errorf("the entry of registry %q is no object; write {\"auth\":\"...\"}", registry)
		}
	}
	maps.Copy(more.Auths, base.Auths)
	merged, err := json.Marshal(more)
	if err != nil {
		return nil, fmt.Errorf("encode the merged pull secret: %w", err)
	}
	return merged, nil
}
