// Package inputs brings the user's Secrets and ConfigMaps that a HostedCluster names, and what the installation and the platform add to
// them, to the control-plane namespace.
package inputs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Kinds of objects that a HostedCluster names.
const (
	SecretKind    = "Secret"
	ConfigMapKind = "ConfigMap"
)

// Keys of the user's Secret with which an etcd of his own is reached.
var etcdClientKeys = []string{"etcd-client.crt", "etcd-client.key", "etcd-client-ca.crt"}

// reference is a Secret or ConfigMap of the user's that a HostedCluster names.
type reference struct {
	// field of the HostedCluster, for messages.
	field      string
	kind, name string
	// keys that the object must have, and that are copied.
	keys []string
	// used are keys of a Secret that it may have, and that are copied then.
	used []string
	// whole copies labels and annotations too, and of a ConfigMap all keys. Of a Secret no key is copied that nothing uses.
	whole bool
	// copyAs is the name of the copy; empty keeps the name.
	copyAs string
	// required copies are those without which a control plane must not be started: it would make up its own.
	required bool
	// kept copies stay when they are no longer named: something may still be encrypted with them, or signed.
	kept bool
	// transform checks the content and makes the copy's out of it; nil takes it as it is.
	transform func(map[string][]byte) (map[string][]byte, error)
	// reports is the condition that tells of a problem; empty means ValidConfiguration.
	reports hyperv1.ConditionType
}

// references lists everything the HostedCluster names.
func references(hc *hyperv1.HostedCluster) ([]reference, error) {
	spec := hc.Spec
	list := []reference{{
		field: "spec.pullSecret", kind: SecretKind, name: spec.PullSecret.Name, keys: []string{hyperv1.PullSecretKey},
		copyAs: contract.PullSecret, required: true, reports: hyperv1.ValidReleaseImage,
	}, {
		field: "spec.sshKey", kind: SecretKind, name: spec.SSHKey.Name, keys: []string{hyperv1.SSHPublicKeyKey}, copyAs: contract.SSHKey,
	}, {
		field: "spec.auditWebhook", kind: SecretKind, name: nameOf(spec.AuditWebhook), keys: []string{auditWebhookKey},
	}, {
		field: "spec.additionalTrustBundle", kind: ConfigMapKind, name: nameOf(spec.AdditionalTrustBundle),
		keys: []string{hyperv1.TrustBundleKey}, copyAs: contract.UserCABundle, transform: certificatesIn(hyperv1.TrustBundleKey),
	}, {
		field: "spec.serviceAccountSigningKey", kind: SecretKind, name: nameOf(spec.ServiceAccountSigningKey),
		keys: []string{hyperv1.ServiceAccountSigningKey}, copyAs: contract.SigningKey, required: true, kept: true, transform: signingKeyData,
	}}
	list = append(list, encryptionReferences(spec.SecretEncryption)...)
	if unmanaged := spec.Etcd.Unmanaged; unmanaged != nil {
		list = append(list, reference{
			field: "spec.etcd.unmanaged.tls.clientSecret", kind: SecretKind, name: unmanaged.TLS.ClientSecret.Name, keys: etcdClientKeys,
			required: true, reports: hyperv1.UnmanagedEtcdAvailable,
		})
	}
	configured, err := configurationReferences(spec.Configuration)
	list = append(list, configured...)
	named := list[:0]
	for _, r := range list {
		if r.name != "" {
			named = append(named, r)
		}
	}
	return named, err
}

// Named tells whether the HostedCluster names an object of the kind, SecretKind or ConfigMapKind.
func Named(hc *hyperv1.HostedCluster, kind, name string) bool {
	// A part of the configuration that cannot be read names nothing.
	list, _ := references(hc)
	return slices.ContainsFunc(list, func(one reference) bool { return one.kind == kind && one.name == name })
}

func encryptionReferences(encryption *hyperv1.SecretEncryptionSpec) []reference {
	if encryption == nil || encryption.AESCBC == nil {
		return nil
	}
	key := func(field, name string) reference {
		return reference{
			field: "spec.secretEncryption.aescbc." + field, kind: SecretKind, name: name, keys: []string{hyperv1.AESCBCKeySecretKey},
			required: true, kept: true, transform: encryptionKey,
		}
	}
	return []reference{key("activeKey", encryption.AESCBC.ActiveKey.Name), key("backupKey", nameOf(encryption.AESCBC.BackupKey))}
}

func nameOf(local *corev1.LocalObjectReference) string {
	if local == nil {
		return ""
	}
	return local.Name
}

// target is the name of the copy in the control-plane namespace.
func (r reference) target() string {
	if r.copyAs != "" {
		return r.copyAs
	}
	return r.name
}

func (r reference) condition() hyperv1.ConditionType {
	if r.reports != "" {
		return r.reports
	}
	return hyperv1.ValidHostedClusterConfiguration
}

// missing says that the object is not there, and what it would have to be.
func (r reference) missing(namespace string) error {
	with := ""
	if len(r.keys) > 0 {
		with = " with key " + strings.Join(r.keys, ", ")
	}
	return fmt.Errorf("%s: %s %q does not exist in namespace %s; create it%s", r.field, r.kind, r.name, namespace, with)
}

// content is what the copy gets.
func (r reference) content(source map[string][]byte) (map[string][]byte, error) {
	for _, key := range r.keys {
		if len(source[key]) == 0 {
			return nil, fmt.Errorf("%s: %s %q has no key %q; add it", r.field, r.kind, r.name, key)
		}
	}
	chosen := map[string][]byte{}
	for _, key := range r.keys {
		chosen[key] = source[key]
	}
	if r.transform != nil {
		var err error
		if chosen, err = r.transform(source); err != nil {
			return nil, fmt.Errorf("%s: %s %q: %w", r.field, r.kind, r.name, err)
		}
	}
	if !r.whole {
		return chosen, nil
	}
	if r.kind == ConfigMapKind {
		return source, nil
	}
	for _, key := range r.used {
		if value, ok := source[key]; ok {
			chosen[key] = value
		}
	}
	return chosen, nil
}

// clash says that the copy would carry the name of an object the control plane makes for itself.
func (r reference) clash() error {
	return fmt.Errorf("%s: the control plane has a %s %q of its own, which a copy would overwrite; give yours another name", r.field, r.kind, r.name)
}

// encryptionKey accepts what the provider aescbc encrypts with.
func encryptionKey(source map[string][]byte) (map[string][]byte, error) {
	const size = 32
	key := source[hyperv1.AESCBCKeySecretKey]
	if len(key) != size {
		return nil, fmt.Errorf("key %q holds %d bytes, an encryption key has %d", hyperv1.AESCBCKeySecretKey, len(key), size)
	}
	return map[string][]byte{hyperv1.AESCBCKeySecretKey: key}, nil
}

// certificatesIn accepts a bundle of certificates under the key.
func certificatesIn(key string) func(map[string][]byte) (map[string][]byte, error) {
	return func(source map[string][]byte) (map[string][]byte, error) {
		if err := parseBundle(source[key]); err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
		return map[string][]byte{key: source[key]}, nil
	}
}

var errNoCertificate = errors.New("there is no PEM block CERTIFICATE in it")
