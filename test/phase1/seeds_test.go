package phase1

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/azcli"
)

// needAz leaves a test out only where it is asked for, or where nobody can install Debian's Azure CLI: else a missing one is a failure, since
// a test that silently does not run is none.
func needAz(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("az needs a second for each of its calls")
	}
	if problem, possible := missingAz(exec.LookPath); problem != "" && possible {
		t.Fatal(problem)
	} else if problem != "" {
		t.Skip(problem)
	}
}

// missingAz says what is wrong when there is no az, and whether this system could have it.
func missingAz(look func(string) (string, error)) (problem string, possible bool) {
	if _, err := look("az"); err == nil {
		return "", true
	}
	if _, err := look("apt-get"); err != nil {
		return "az is not installed, and this system has no apt-get to install Debian's azure-cli with", false
	}
	return "az is not installed: apt-get install azure-cli, or leave its tests out with -short", true
}

func TestMissingAzIsNoSilence(t *testing.T) {
	for _, tc := range []struct {
		has      []string
		problem  string
		possible bool
	}{{[]string{"az"}, "", true}, {[]string{"apt-get"}, "apt-get install azure-cli", true}, {nil, "no apt-get", false}} {
		problem, possible := missingAz(func(name string) (string, error) {
			if !slices.Contains(tc.has, name) {
				return "", exec.ErrNotFound
			}
			return name, nil
		})
		if possible != tc.possible || (problem == "") != (tc.problem == "") || !strings.Contains(problem, tc.problem) {
			t.Errorf("with %v: %q, %t", tc.has, problem, possible)
		}
	}
}

// TestSeedsByHand has az do what a person types, and then our own commands take the result as it is.
func TestSeedsByHand(t *testing.T) {
	needAz(t)
	c, kubeconfig := management(t)
	dir := t.TempDir()
	w := startWorld(t, dir)
	must(t, azcli.Install(filepath.Join(dir, "azcli")))
	secretFile := filepath.Join(dir, "secret")
	must(t, os.WriteFile(secretFile, []byte(secret), 0o600))
	work := filepath.Join(dir, "work")
	must(t, os.MkdirAll(work, 0o755))
	script, err := filepath.Abs("seeds.sh")
	must(t, err)
	key, err := newSigner()
	must(t, err)
	must(t, os.WriteFile(filepath.Join(work, "serviceaccount-signer.private"), key, 0o600))
	must(t, os.WriteFile(filepath.Join(work, "pull-secret.json"), []byte(`{"auths":{}}`), 0o600))
	sh := w.shell(t, work, kubeconfig, "REQUESTS_CA_BUNDLE="+w.ca, "PYTHONPATH="+filepath.Join(dir, "azcli"), "AZURE_CONFIG_DIR="+filepath.Join(dir, "azure-config"),
		"AZURE_CORE_COLLECT_TELEMETRY=no", "SUBSCRIPTION="+subscription, "TENANT="+tenant, "CLIENT_ID="+clientID, "CLIENT_SECRET_FILE="+secretFile)
	sh.run("bash", script)

	issuer := strings.TrimSpace(string(mustRead(t, filepath.Join(work, "issuer-url"))))
	phase1 := []string{"--azure-creds", w.credentials, "--oidc-issuer-url", issuer, "--sa-token-issuer-private-key-path", "serviceaccount-signer.private",
		"--workload-identities-file", "./workload-identities.json"}
	checks, _ := sh.run(append([]string{"hypershift", "verify", "azure", "--dns-zone-name", "byhand.example.com", "--dns-zone-rg-name", "os4-common", "--dns-resolver", w.server.DNSAddr()}, phase1...)...)
	if got := strings.Count(checks, "pass    token"); got != 12 {
		t.Errorf("%d tokens were exchanged, want 12:\n%s", got, checks)
	}
	network := strings.Fields(string(mustRead(t, filepath.Join(work, "network-ids"))))
	_, messages := sh.run(append([]string{"hypershift", "create", "cluster", "azure", "--name", "byhand-hc", "--namespace", "clusters", "--location", "eastus", "--node-pool-replicas", "2",
		"--base-domain", "example.com", "--pull-secret", "pull-secret.json", "--generate-ssh", "--release-image", "quay.io/openshift-release-dev/ocp-release:4.21.0-x86_64",
		"--external-dns-domain", "byhand.example.com", "--resource-group-name", "byhand-managed-rg", "--vnet-id", network[0], "--subnet-id", network[1],
		"--network-security-group-id", network[2], "--dns-zone-rg-name", "os4-common", "--assign-service-principal-roles", "--diagnostics-storage-account-type", "Managed"}, phase1...)...)
	if got := strings.Count(messages, "created  role assignment"); got != 16 {
		t.Errorf("%d roles were given, want 16:\n%s", got, messages)
	}
	hc := &hyperv1.HostedCluster{}
	must(t, c.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "byhand-hc"}, hc))
	if hc.Spec.IssuerURL != issuer || hc.Spec.Platform.Azure.VnetID != network[0] {
		t.Errorf("HostedCluster %+v", hc.Spec)
	}

	sh.run("hypershift", "destroy", "cluster", "azure", "--name", "byhand-hc", "--azure-creds", w.credentials, "--resource-group-name", "byhand-managed-rg")
	s, err := w.signIn()
	must(t, err)
	left, err := s.List(context.Background(), s.GroupID("byhand-managed-rg")+"/resources", "2021-04-01", "")
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left in the managed group: %+v", left)
	}
	if _, err := s.Get(context.Background(), network[0], "2023-11-01"); err != nil {
		t.Errorf("the network is touched: %v", err)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	must(t, err)
	return raw
}
