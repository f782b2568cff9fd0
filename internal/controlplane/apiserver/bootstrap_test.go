package apiserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/controlplane/featuregates"
)

// renderer stands in for the programs of the payload: it writes what it was given, and a definition.
const renderer = `#!/bin/sh
set -e
[ "$1" != render ] || shift
[ "$1" = --asset-output-dir ]
mkdir -p "$2/manifests"
echo "definition of $0" >"$2/manifests/$(basename "$0").crd.yaml"
test -e "${3#--rendered-manifest-dir=}/99_feature-gate.yaml"
`

// TestBootstrapScripts: whatever folder a program renders into, all of it is taken, beside the first rights.
func TestBootstrapScripts(t *testing.T) {
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	for program, script := range map[string]string{"render": featuregates.Render + takeRendered + firstRights, "authentication-operator": renderAuthentication + takeRendered} {
		stub := filepath.Join(dir, program)
		if err := os.WriteFile(stub, []byte(renderer), 0o755); err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer("/usr/bin/"+program, stub, bootstrapDir+"/", work+"/").Replace(makeFolder + script)
		run := exec.CommandContext(t.Context(), "bash", "-c", text, "render", filepath.Join(dir, "of-"+program))
		run.Env = append(os.Environ(), "FEATURE_GATE_YAML=kind: FeatureGate", "PAYLOAD_VERSION=4.21.0")
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
	}
	for _, file := range []string{"99_feature-gate.yaml", "render.crd.yaml", "authentication-operator.crd.yaml"} {
		if _, err := os.Stat(filepath.Join(work, file)); err != nil {
			t.Error(err)
		}
	}
	for file, want := range map[string]string{"00_kas-bootstrap-container-rolebinding.yaml": "kas-bootstrap-container-cluster-admin cluster-admin system:kas-bootstrap-container",
		"hcco-rolebinding.yaml": "hcco-cluster-admin cluster-admin system:hosted-cluster-config"} {
		text, err := os.ReadFile(filepath.Join(work, file))
		if err != nil {
			t.Fatal(err)
		}
		binding := rbacv1.ClusterRoleBinding{}
		if err := yaml.UnmarshalStrict(text, &binding); err != nil {
			t.Fatal(err)
		}
		if got := binding.Name + " " + binding.RoleRef.Name + " " + binding.Subjects[0].Name; got != want || binding.Subjects[0].Kind != rbacv1.UserKind {
			t.Errorf("%s gives %s", file, got)
		}
	}
}
