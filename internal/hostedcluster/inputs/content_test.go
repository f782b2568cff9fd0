package inputs

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// TestCopiesHaveNoOtherKeys: what else a user keeps in a Secret that he names is no business of the control plane, whose pods a hostile
// guest may get into.
func TestCopiesHaveNoOtherKeys(t *testing.T) {
	raw := func(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }
	list, err := configurationReferences(&hyperv1.ClusterConfiguration{
		APIServer: raw(`{"servingCerts":{"namedCertificates":[{"servingCertificate":{"name":"serving"}}]},"clientCA":{"name":"ca"}}`),
		Authentication: raw(`{"webhookTokenAuthenticator":{"kubeConfig":{"name":"webhook"}},
			"oidcProviders":[{"oidcClients":[{"clientSecret":{"name":"client"}}]}]}`),
		OAuth: raw(`{"identityProviders":[{"htpasswd":{"fileData":{"name":"users"}}},{"ldap":{"bindPassword":{"name":"bind"}}},
			{"basicAuth":{"tlsClientCert":{"name":"cert"},"tlsClientKey":{"name":"key"}}}],"templates":{"login":{"name":"login"}}}`),
		Image: raw(`{"additionalTrustedCA":{"name":"registries"}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	source := map[string][]byte{"cloud-password": []byte("x"), "registry.example.com": []byte("x")}
	for _, key := range []string{"tls.crt", "tls.key", "kubeConfig", "clientSecret", "htpasswd", "bindPassword", "login.html", "ca-bundle.crt"} {
		source[key] = []byte("x")
	}
	want := map[string][]string{
		"serving": {"tls.crt", "tls.key"}, "webhook": {"kubeConfig"}, "client": {"clientSecret"}, "users": {"htpasswd"}, "bind": {"bindPassword"},
		"cert": {"tls.crt", "tls.key"}, "key": {"tls.crt", "tls.key"}, "login": {"login.html"},
	}
	secrets := 0
	for _, r := range list {
		data, err := r.content(source)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Sorted(maps.Keys(data))
		if r.kind == ConfigMapKind {
			if len(got) != len(source) {
				t.Errorf("%s: a ConfigMap's copy has %v", r.field, got)
			}
			continue
		}
		secrets++
		if !slices.Equal(got, want[r.name]) {
			t.Errorf("%s: the copy has %v, want %v", r.field, got, want[r.name])
		}
	}
	if secrets != len(want) {
		t.Errorf("%d Secrets are named, want %d", secrets, len(want))
	}
}

// TestCopiesOfNamedSecretsHaveNoOtherKeys is the same for the fields that name a Secret of their own.
func TestCopiesOfNamedSecretsHaveNoOtherKeys(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	named := func(name string) *corev1.LocalObjectReference { return &corev1.LocalObjectReference{Name: name} }
	hc := &hyperv1.HostedCluster{}
	hc.Spec.PullSecret.Name, hc.Spec.SSHKey.Name = "pull", "ssh"
	hc.Spec.AuditWebhook, hc.Spec.ServiceAccountSigningKey = named("audit"), named("signer")
	hc.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{AESCBC: &hyperv1.AESCBCSpec{ActiveKey: *named("active"), BackupKey: named("backup")}}
	hc.Spec.Etcd.Unmanaged = &hyperv1.UnmanagedEtcdSpec{TLS: hyperv1.EtcdTLSConfig{ClientSecret: *named("etcd")}}
	list, err := references(hc)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"pull": {".dockerconfigjson"}, "ssh": {"id_rsa.pub"}, "audit": {"webhook-kubeconfig"}, "signer": {contract.SigningPrivateKey, contract.SigningPublicKey},
		"active": {"key"}, "backup": {"key"}, "etcd": {"etcd-client-ca.crt", "etcd-client.crt", "etcd-client.key"},
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	for _, r := range list {
		source := map[string][]byte{"cloud-password": []byte("x"), "id_rsa": []byte("x")}
		for _, key := range r.keys {
			source[key] = bytes.Repeat([]byte("x"), 32)
		}
		if r.name == "signer" {
			source[hyperv1.ServiceAccountSigningKey] = private
		}
		data, err := r.content(source)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(want[r.name])
		if got := slices.Sorted(maps.Keys(data)); r.kind != SecretKind || !slices.Equal(got, want[r.name]) {
			t.Errorf("%s: the copy has %v, want %v", r.field, got, want[r.name])
		}
		delete(want, r.name)
	}
	if len(want) > 0 {
		t.Errorf("nothing names %v", want)
	}
}

// TestEverySecretHasKeys: a place that names a Secret says what of it is used.
func TestEverySecretHasKeys(t *testing.T) {
	for _, place := range configurationPaths {
		if place.kind == SecretKind && len(place.keys)+len(place.used) == 0 {
			t.Errorf("%s: no key of the Secret would be copied", place.path)
		}
	}
}

func TestTypeOfACopyFitsItsKeys(t *testing.T) {
	for _, test := range []struct {
		source corev1.SecretType
		used   []string
		want   corev1.SecretType
	}{
		{corev1.SecretTypeTLS, serving, corev1.SecretTypeTLS}, {corev1.SecretTypeTLS, []string{corev1.TLSCertKey}, corev1.SecretTypeOpaque},
		{corev1.SecretTypeBasicAuth, []string{"clientSecret"}, corev1.SecretTypeOpaque},
	} {
		data := map[string][]byte{}
		for _, key := range test.used {
			data[key] = []byte("x")
		}
		made := &corev1.Secret{}
		input{reference: reference{kind: SecretKind, whole: true}, source: &corev1.Secret{Type: test.source}, data: data}.addTo(made)
		if made.Type != test.want {
			t.Errorf("%s with %v becomes %s, want %s", test.source, test.used, made.Type, test.want)
		}
	}
}
