package phase1

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/azcli"
)

// TestSeedsByHand has az do what a person types, and then our own commands take the result as it is.
func TestSeedsByHand(t *testing.T) {
	for _, tool := range []string{"az", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	if testing.Short() {
		t.Skip("az needs a second for each of its 22 calls")
	}
	dir := t.TempDir()
	w, stop, err := newWorld(dir)
	must(t, err)
	t.Cleanup(stop)
	must(t, azcli.Install(filepath.Join(dir, "azcli")))
	secretFile, pullSecret := filepath.Join(dir, "secret"), filepath.Join(dir, "pull-secret.json")
	must(t, os.WriteFile(secretFile, []byte(secret), 0o600))
	must(t, os.WriteFile(pullSecret, []byte(`{"auths":{}}`), 0o600))
	work := filepath.Join(dir, "work")
	must(t, os.MkdirAll(work, 0o755))
	script, err := filepath.Abs("seeds.sh")
	must(t, err)
	key, err := newSigner()
	must(t, err)
	must(t, os.WriteFile(filepath.Join(work, "serviceaccount-signer.private"), key, 0o600))

	sh := w.shell(t, work, "REQUESTS_CA_BUNDLE="+w.ca, "PYTHONPATH="+filepath.Join(dir, "azcli"), "AZURE_CONFIG_DIR="+filepath.Join(dir, "azure-config"),
		"AZURE_CORE_COLLECT_TELEMETRY=no", "SUBSCRIPTION="+subscription, "TENANT="+tenant, "CLIENT_ID="+clientID, "CLIENT_SECRET_FILE="+secretFile)
	sh.run("bash", script)
	issuer := strings.TrimSpace(string(mustRead(t, filepath.Join(work, "issuer-url"))))
	phase1 := []string{"--azure-creds", w.credentials, "--oidc-issuer-url", issuer, "--sa-token-issuer-private-key-path", "serviceaccount-signer.private",
		"--workload-identities-file", "workload-identities.json"}
	checks, _ := sh.run(append([]string{"hypershift", "verify", "azure"}, phase1...)...)
	if got := strings.Count(checks, "pass    token"); got != 12 {
		t.Errorf("%d tokens were exchanged, want 12:\n%s", got, checks)
	}
	manifests, _ := sh.run(append([]string{"hypershift", "create", "cluster", "azure", "--name", "byhand", "--infra-id", "byhand-1", "--base-domain", "example.com", "--pull-secret", pullSecret,
		"--release-image", "quay.io/ocp:4.21", "--assign-service-principal-roles", "--dns-zone-rg-name", "parent", "--render"}, phase1...)...)
	if !strings.Contains(manifests, "issuerURL: "+issuer) {
		t.Errorf("the issuer is missing:\n%s", manifests)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	must(t, err)
	return raw
}
