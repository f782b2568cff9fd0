package operators

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/images"
)

// sources are the paths of a program in an image.
func sources(spec images.Spec) []string {
	var found []string
	for _, f := range slices.Concat(spec.Layers...) {
		if f.Source != "" {
			found = append(found, f.Path+"="+filepath.Base(f.Source))
		}
	}
	slices.Sort(found)
	return found
}

// TestSpecs: what install writes into pods is where the images have it, and nobody is root.
func TestSpecs(t *testing.T) {
	for _, tc := range []struct {
		spec  images.Spec
		files string
		psa   bool
	}{
		{OperatorSpec("v1", "p"), "usr/bin/control-plane-operator=control-plane-operator usr/bin/etcd-helper=etcd-helper usr/bin/hypershift-operator=hypershift-operator", true},
		{ControlPlaneSpec(ControlPlane, "v1", "p"), "usr/bin/control-plane-operator=control-plane-operator usr/bin/etcd-helper=etcd-helper", true},
		{ExternalDNSSpec("p"), "external-dns=external-dns", false},
	} {
		if got := strings.Join(sources(tc.spec), " "); got != tc.files {
			t.Errorf("%s has %s, want %s", tc.spec.Name, got, tc.files)
		}
		if tc.spec.User == "" || tc.spec.User == "0" || tc.spec.Labels["io.openshift.build.name"] != tc.spec.Name {
			t.Errorf("%s runs as %q with labels %v", tc.spec.Name, tc.spec.User, tc.spec.Labels)
		}
		if got := tc.spec.Labels["io.openshift.hypershift.restricted-psa"] == "true"; got != tc.psa {
			t.Errorf("%s says %t to the restricted standard", tc.spec.Name, got)
		}
		if Names("v1")[tc.spec.Name] != tc.spec.Version {
			t.Errorf("%s has tag %s, and %s is announced", tc.spec.Name, tc.spec.Version, Names("v1")[tc.spec.Name])
		}
	}
}

// TestIsSource: another module is not built from.
func TestIsSource(t *testing.T) {
	if err := IsSource("../.."); err != nil {
		t.Error(err)
	}
	other := t.TempDir()
	if err := IsSource(other); err == nil {
		t.Error("an empty directory is a source tree")
	}
	if err := os.WriteFile(filepath.Join(other, "go.mod"), []byte("module example.com/other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := IsSource(other); err == nil || !strings.Contains(err.Error(), "another module") {
		t.Errorf("another module: %v", err)
	}
}
