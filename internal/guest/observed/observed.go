// Package observed copies, from a guest to its control plane, what programs of the control plane take from the guest's users and operators.
package observed

import (
	"context"
	"errors"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// copied is an object of the guest that the control plane has a ConfigMap of.
type copied struct {
	kind schema.GroupVersionKind
	from client.ObjectKey
	// key of the guest's ConfigMap; all of the object where empty.
	key string
	// to is the control plane's ConfigMap, and its key.
	to, toKey string
	// capability without which there is no copy.
	capability hyperv1.OptionalCapability
}

var configMap = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// copies of what exists with a kind of payload.
var copies = map[release.Kind][]copied{
	release.KindOpenShift: {
		{kind: configv1.GroupVersion.WithKind("Build"), from: client.ObjectKey{Name: "cluster"}, to: contract.ObservedConfigPrefix + "build", toKey: "config"},
		{kind: configv1.GroupVersion.WithKind("Project"), from: client.ObjectKey{Name: "cluster"}, to: contract.ObservedConfigPrefix + "project", toKey: "config"},
		{kind: configMap, from: client.ObjectKey{Namespace: contract.ManagedNamespace, Name: "service-ca"}, key: contract.CABundleKey,
			to: contract.ServiceAuthority, toKey: contract.ServiceAuthorityKey},
		{kind: configMap, from: client.ObjectKey{Namespace: contract.ManagedNamespace, Name: contract.IngressCertificate}, key: contract.CABundleKey,
			to: contract.ObservedIngressAuthority, toKey: contract.CAKey, capability: inside.IngressCapability},
	},
}

// Names are the ConfigMaps of the control plane, with a payload of the kind.
func Names(kind release.Kind) []string {
	var out []string
	for _, c := range copies[kind] {
		out = append(out, c.to)
	}
	return out
}

// Copier copies them.
type Copier struct {
	// Guest reads past any cache; Management writes into Namespace, the control plane's.
	Guest      client.Reader
	Management client.Client
	Namespace  string
}

// Copy brings them up to date: what the guest has not has no copy.
func (c Copier) Copy(ctx context.Context, facts *inside.Facts) error {
	var failed []error
	for _, wanted := range copies[facts.Kind()] {
		content, err := c.read(ctx, facts, wanted)
		target := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: wanted.to}}
		switch {
		case err != nil:
		case content == "":
			err = c.remove(ctx, target)
		default:
			target.Data = map[string]string{wanted.toKey: content}
			err = kube.Apply(ctx, c.Management, inside.FieldManager, target)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// read is the content of a copy, empty where the guest has no such thing.
func (c Copier) read(ctx context.Context, facts *inside.Facts, wanted copied) (string, error) {
	if wanted.capability != "" && !inside.Capable(facts.HCP, wanted.capability) {
		return "", nil
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(wanted.kind)
	err := c.Guest.Get(ctx, wanted.from, obj)
	if apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s %s of the guest: %w", wanted.kind.Kind, wanted.from.Name, err)
	}
	if wanted.key != "" {
		content, _, err := unstructured.NestedString(obj.Object, "data", wanted.key)
		return content, err
	}
	// Nothing that changes with every write of the same configuration.
	obj.SetManagedFields(nil)
	obj.SetResourceVersion("")
	content, err := yaml.Marshal(obj.Object)
	if err != nil {
		return "", fmt.Errorf("encode %s %s of the guest: %w", wanted.kind.Kind, wanted.from.Name, err)
	}
	return string(content), nil
}

func (c Copier) remove(ctx context.Context, target *corev1.ConfigMap) error {
	err := c.Management.Get(ctx, client.ObjectKeyFromObject(target), &corev1.ConfigMap{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = kube.DeleteIfExists(ctx, c.Management, target)
	}
	if err != nil {
		return fmt.Errorf("delete ConfigMap %s of the control plane: %w", target.Name, err)
	}
	return nil
}
