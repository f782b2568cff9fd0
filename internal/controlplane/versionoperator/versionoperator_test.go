package versionoperator

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
)

// The script, run on a small release: what is the operator's own, of another set of features or left out is not there any more.
func TestPreparePayload(t *testing.T) {
	root, payload := t.TempDir(), t.TempDir()
	put := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	of := func(sets string) string {
		return "metadata:\n  annotations:\n    release.openshift.io/feature-set: " + sets + "\n"
	}
	put("manifests/0000_00_cvo_03_deployment.yaml", "x")
	put("manifests/0000_90_cvo_servicemonitor.yaml", "x")
	put("manifests/0000_50_cluster-update-console-plugin_01.yaml", "x")
	put("manifests/crd-all.yaml", "kind: A\n")
	put("manifests/crd-default.yaml", of(`"Default,TechPreviewNoUpgrade"`))
	put("manifests/crd-custom.yaml", of("CustomNoUpgrade"))
	put("release-manifests/0000_50_olm_07-olm-operator.deployment.yaml", "x")
	put("release-manifests/0000_50_console-operator_01-oauth.yaml", "x")
	put("release-manifests/kept.yaml", of("CustomNoUpgrade"))
	hcp := planetest.Plane()
	cleanup, err := cleanupManifest()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("bash", append([]string{"-c", prepare, "prepare-payload", payload, featureSet(hcp)}, left(hcp)...)...)
	command.Env = append(os.Environ(), "ROOT="+root, "CLEANUP_MANIFEST="+cleanup)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got []string
	for _, dir := range []string{"manifests", "release-manifests"} {
		entries, err := os.ReadDir(filepath.Join(payload, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			got = append(got, dir+"/"+e.Name())
		}
	}
	want := []string{"manifests/crd-all.yaml", "manifests/crd-default.yaml",
		"release-manifests/0000_01_cleanup.yaml", "release-manifests/0000_50_console-operator_01-oauth.yaml", "release-manifests/kept.yaml"}
	if !slices.Equal(got, want) {
		t.Errorf("the payload has\n%v, want\n%v", got, want)
	}
	text, err := os.ReadFile(filepath.Join(payload, "release-manifests/0000_01_cleanup.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(strings.TrimPrefix(string(text), "---\n"), "---\n")
	if len(documents) != 14 {
		t.Errorf("%d objects are cleaned up, want 14", len(documents))
	}
	for _, one := range documents {
		var object struct {
			Metadata struct {
				Name        string            `json:"name"`
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
		}
		if err := yaml.Unmarshal([]byte(one), &object); err != nil || object.Metadata.Name == "" ||
			object.Metadata.Annotations["release.openshift.io/delete"] != "true" || object.Metadata.Annotations["include.release.openshift.io/ibm-cloud-managed"] != "true" {
			t.Errorf("%s: %v", one, err)
		}
	}
}

// Without an OAuth server its place in the console is left out too.
func TestLeftWithoutOAuth(t *testing.T) {
	hcp := planetest.Plane()
	const console = "0000_50_console-operator_01-oauth.yaml"
	if slices.Contains(left(hcp), console) {
		t.Error("with an OAuth server its place in the console is left out")
	}
	hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{Authentication: &runtime.RawExtension{Raw: []byte(`{"type":"OIDC"}`)}}
	if files := left(hcp); !slices.Contains(files, console) || len(files) != 46 {
		t.Errorf("%d files are left out: %v", len(files), files)
	}
}
