package e2e

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// managementNodes is how many nodes a highly available control plane is spread over.
const managementNodes = "3"

// highlyAvailable is quick where a highly available hosted cluster runs on three management nodes. Such a sandbox takes the place of one
// with another number of nodes, and so it is made only where no sandbox was up before the tests.
func highlyAvailable(ts *testscript.TestScript, repo string) {
	if enterSandbox(ts, repo) != nil || !hasNodes(ts) {
		mustRun(ts, "hypershift", "sandbox", "down", "--purge")
		mustRun(ts, "hypershift", "sandbox", "up", "--azure-profile", ts.Getenv("AZURE_PROFILE"), "--management-nodes", managementNodes)
		ts.Check(enterSandbox(ts, repo))
	}
	set(ts, "GUEST", filepath.Join(ts.Getenv("HYPERSHIFT_SANDBOX_DIR"), "triple.kubeconfig"))
	if _, err := run(ts, "kubectl", "-n", "clusters", "get", "hostedcluster", "triple"); err != nil {
		createHighlyAvailable(ts)
	}
	mustRun(ts, "kubectl", "-n", "clusters", "wait", "hostedcluster/triple", "--for=condition=Available", "--timeout=10m")
	if _, err := os.Stat(ts.Getenv("GUEST")); err != nil {
		mustRun(ts, "hypershift", "create", "kubeconfig", "triple", "--output-file", ts.Getenv("GUEST"))
	}
}

func hasNodes(ts *testscript.TestScript) bool {
	out, err := run(ts, "kubectl", "get", "nodes", "-o", "name")
	return err == nil && strings.Count(out, "node/") == 3
}

// createHighlyAvailable types the three phases.
func createHighlyAvailable(ts *testscript.TestScript) {
	creds, handoff := ts.Getenv("AZURE_CREDS"), filepath.Join(ts.Getenv("HYPERSHIFT_SANDBOX_DIR"), "triple.yaml")
	with := []string{"--azure-creds", creds, "--handoff", handoff}
	mustRun(ts, "hypershift", "install", "--pull-secret", ts.Getenv("PULL_SECRET"), "--limit-crd-install", "Azure", "--wait-until-available")
	mustRun(ts, "hypershift", append([]string{"create", "oidc-issuer", "azure", "--name", "triple", "--resource-group-name", "os4-common",
		"--location", ts.Getenv("LOCATION"), "--output-dir", filepath.Dir(handoff)}, with...)...)
	mustRun(ts, "hypershift", append([]string{"create", "iam", "azure", "--infra-id", "triple-q7r2t"}, with...)...)
	mustRun(ts, "hypershift", append([]string{"create", "infra", "azure", "--base-domain", ts.Getenv("BASE_DOMAIN"), "--assign-identity-roles"}, with...)...)
	mustRun(ts, "hypershift", "create", "cluster", "azure", "--from", handoff, "--azure-creds", creds, "--pull-secret", ts.Getenv("PULL_SECRET"),
		"--generate-ssh", "--release-image", ts.Getenv("RELEASE_IMAGE"), "--node-pool-replicas", "1", "--control-plane-availability-policy", "HighlyAvailable")
}
