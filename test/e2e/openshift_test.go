package e2e

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// twinVersion is the OpenShift that the twin payload of the scripts is of at first.
const twinVersion = "4.21.0"

// openShift makes a hosted cluster of a twin of an OpenShift payload, without node pools, beside the demo's, unless it is there. $TWIN is the
// payload, $GUEST its kubeconfig once it is Available.
func openShift(ts *testscript.TestScript, repo string) {
	demo(ts, repo)
	published, err := output(ts, "hypershift", "sandbox", "payload", "publish", "--twin", twinVersion)
	ts.Check(err)
	set(ts, "TWIN", strings.TrimSpace(published))
	dir := filepath.Join(ts.Getenv("HYPERSHIFT_SANDBOX_DIR"), "shift")
	set(ts, "GUEST", filepath.Join(dir, "kubeconfig"))
	if _, err := run(ts, "kubectl", "-n", "clusters", "get", "hostedcluster", "shift"); err != nil {
		_ = os.Remove(ts.Getenv("GUEST")) // of one that is gone; its issuer and identities are there
		ts.Check(os.MkdirAll(dir, 0o700))
		createOpenShift(ts, dir)
	}
	mustRun(ts, "kubectl", "-n", "clusters", "wait", "hostedcluster/shift", "--for=condition=Available", "--timeout=20m")
	if _, err := os.Stat(ts.Getenv("GUEST")); err != nil {
		mustRun(ts, "hypershift", "create", "kubeconfig", "shift", "--output-file", ts.Getenv("GUEST"))
	}
}

// createOpenShift types the phases. Catalogs of operators are beside the twin, in its registry.
func createOpenShift(ts *testscript.TestScript, dir string) {
	creds, handoff := ts.Getenv("AZURE_CREDS"), filepath.Join(dir, "shift.yaml")
	with := []string{"--azure-creds", creds, "--handoff", handoff}
	mustRun(ts, "hypershift", append([]string{"create", "oidc-issuer", "azure", "--name", "shift", "--resource-group-name", "os4-common",
		"--location", ts.Getenv("LOCATION"), "--output-dir", dir}, with...)...)
	mustRun(ts, "hypershift", append([]string{"create", "iam", "azure", "--infra-id", "shift-n4v7d"}, with...)...)
	mustRun(ts, "hypershift", append([]string{"create", "infra", "azure", "--base-domain", ts.Getenv("BASE_DOMAIN"), "--assign-identity-roles"}, with...)...)
	mustRun(ts, "hypershift", "create", "cluster", "azure", "--from", handoff, "--azure-creds", creds, "--pull-secret", ts.Getenv("PULL_SECRET"),
		"--generate-ssh", "--release-image", ts.Getenv("TWIN"), "--node-pool-replicas", "0", "--control-plane-availability-policy", "SingleReplica",
		"--annotations", "hypershift.openshift.io/olm-catalogs-is-registry-overrides=registry.redhat.io/redhat=quay.io/openshift-release-dev")
}
