package install

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// formerStays: an upgrade without the flags of the first installation takes nothing away that it had, and says what it keeps.
func (m *managementCluster) formerStays(t *testing.T, flags string) {
	t.Helper()
	dir := t.TempDir()
	credentials, pull, keys := filepath.Join(dir, "aws"), filepath.Join(dir, "pull"), filepath.Join(dir, "keys")
	for path, text := range map[string]string{credentials: "[default]", pull: `{"auths":{}}`, keys: publicKey} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m.must(flags + " --release-signature-keys " + keys + " --pull-secret " + pull + " --external-dns-provider aws --external-dns-domain-filter example.com --external-dns-credentials " + credentials)
	pulls := func() int {
		account := &corev1.ServiceAccount{}
		if err := m.Get(t.Context(), client.ObjectKey{Namespace: "hypershift", Name: "operator"}, account); err != nil {
			t.Fatal(err)
		}
		return len(account.ImagePullSecrets)
	}
	judges := func() bool {
		d := &appsv1.Deployment{}
		if err := m.Get(t.Context(), client.ObjectKey{Namespace: "hypershift", Name: "operator"}, d); err != nil {
			t.Fatal(err)
		}
		return slices.Contains(d.Spec.Template.Spec.Containers[0].Args, "--release-signature-keys=/etc/release-signature-keys/keys.pem") &&
			m.exists("ConfigMap", "hypershift", "release-signature-keys")
	}
	m.must(flags)
	if !judges() {
		t.Error("an upgrade takes unsigned releases")
	}
	if !strings.Contains(m.messages, "kept ExternalDNS of an earlier installation as it is (domain-filter=example.com, provider=aws") ||
		!strings.Contains(m.messages, "--remove-external-dns") || !strings.Contains(m.messages, "given with --pull-secret") {
		t.Errorf("it does not say what is kept: %s", m.messages)
	}
	dns := func() (n int) {
		for name := range m.versions(t) {
			if strings.Contains(name, "external-dns") {
				n++
			}
		}
		return n
	}
	if dns() != 6 || pulls() != 1 {
		t.Errorf("%d objects of ExternalDNS and %d pull secrets are left, want 6 and 1", dns(), pulls())
	}
	if _, err := m.hypershift(flags + " --remove-external-dns --external-dns-provider aws --external-dns-domain-filter example.com --external-dns-credentials " + credentials); err == nil || !strings.Contains(err.Error(), "exclude each other") {
		t.Errorf("removed and given: %v", err)
	}
	if out := m.must(flags + " --remove-external-dns --pull-secret= --release-signature-keys="); judges() || m.exists("ConfigMap", "hypershift", "release-signature-keys") || m.exists("Secret", "hypershift", "pull-secret") || dns() != 0 || pulls() != 0 || !strings.Contains(out, "deleted Secret hypershift/external-dns-credentials\n") {
		t.Errorf("%d objects of ExternalDNS and %d pull secrets are left:\n%s", dns(), pulls(), out)
	}
}
