package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// formerStays: an upgrade without the flags of the first installation takes nothing away that it had, and says what it keeps.
func (m *managementCluster) formerStays(t *testing.T, flags string) {
	t.Helper()
	dir := t.TempDir()
	credentials, pull := filepath.Join(dir, "aws"), filepath.Join(dir, "pull")
	for path, text := range map[string]string{credentials: "[default]", pull: `{"auths":{}}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m.must(flags + " --pull-secret " + pull + " --external-dns-provider aws --external-dns-domain-filter example.com --external-dns-credentials " + credentials)
	pulls := func() int {
		account := &corev1.ServiceAccount{}
		if err := m.Get(t.Context(), client.ObjectKey{Namespace: "hypershift", Name: "operator"}, account); err != nil {
			t.Fatal(err)
		}
		return len(account.ImagePullSecrets)
	}
	m.must(flags)
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
	if out := m.must(flags + " --remove-external-dns --pull-secret="); dns() != 0 || pulls() != 0 || !strings.Contains(out, "deleted Secret hypershift/external-dns-credentials\n") {
		t.Errorf("%d objects of ExternalDNS and %d pull secrets are left:\n%s", dns(), pulls(), out)
	}
}
