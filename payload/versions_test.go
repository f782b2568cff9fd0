package payload

import (
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/parts/build"
)

func TestEveryBuiltInRelease(t *testing.T) {
	kubernetes := map[string]bool{}
	for _, release := range BuiltIn() {
		v, err := Of(release)
		if err != nil {
			t.Fatal(err)
		}
		if v.Release != release {
			t.Errorf("versions/%s.yaml is of release %s", release, v.Release)
		}
		if err := v.ServesMachines(Architectures); err != nil {
			t.Errorf("%s: %v", release, err)
		}
		kubernetes[v.Kubernetes] = true
		if got := Programs(v)["kube"]; got != v.Kubernetes {
			t.Errorf("release %s is built with Kubernetes %s", release, got)
		}
	}
	for _, version := range build.KubernetesVersions() {
		if !kubernetes[version] {
			t.Errorf("no release has Kubernetes %s", version)
		}
	}
	if _, err := Of("4.99.0"); err == nil || !strings.Contains(err.Error(), "4.21.0") {
		t.Errorf("a release that is not there: %v", err)
	}
}

const goodVersions = `apiVersion: payload.hypershift.openshift.io/v1
kind: Versions
release: 4.21.7
kubernetes: v1.34.2
nodeImages:
  stream: own
  amd64: {gen2: {publisher: p, offer: o, sku: s, version: latest}}
images:
  cluster-autoscaler: registry.example.com/autoscaler@sha256:0123456789012345678901234567890123456789012345678901234567890123
`

// TestVersionsFile: the error names the member.
func TestVersionsFile(t *testing.T) {
	v, err := Parse([]byte(goodVersions))
	if err != nil || v.NodeImages.AMD64.Gen2.SKU != "s" {
		t.Fatalf("%+v, %v", v, err)
	}
	if v.ServesMachines([]string{"arm64"}) == nil {
		t.Error("an architecture without a machine image is served")
	}
	for _, tc := range []struct{ old, new, member string }{
		{"payload.hypershift.openshift.io/v1", "payload.hypershift.openshift.io/v2", "apiVersion"},
		{"kind: Versions", "kind: Version", "kind"},
		{"release: 4.21.7", "release: 4.21", "release"},
		{"release: 4.21.7", "release: v4.21.7", "release"},
		{"release: 4.21.7", "release: 4.20.7", "1.34"},
		{"kubernetes: v1.34.2", "kubernetes: v1.34.99", "v1.34.2, v1.34.3, v1.35.1"},
		{"kubernetes: v1.34.2", "kubernetes: v1.34.2\nkubernetes: v1.34.2", "kubernetes"},
		{"kind: Versions", "kind: Versions\nunknown: 1", "unknown"},
		{"stream: own", "strem: own", "strem"},
		{"stream: own", "stream: ''", "nodeImages.stream"},
		{"sku: s, ", "", "nodeImages.amd64.gen2"},
		{"gen2: {publisher: p, offer: o, sku: s, version: latest}", "", "nodeImages"},
		{"cluster-autoscaler:", "Cluster_Autoscaler:", "images.Cluster_Autoscaler"},
		{"registry.example.com/autoscaler@sha256:0123456789012345678901234567890123456789012345678901234567890123", "nowhere", "images.cluster-autoscaler"},
		{"kind: Versions", "kind: Versions\n---\nkind: Versions", "documents"},
	} {
		text := strings.Replace(goodVersions, tc.old, tc.new, 1)
		if text == goodVersions {
			t.Fatalf("%q is not there", tc.old)
		}
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), tc.member) {
			t.Errorf("%q: %v, want a word of %q", tc.new, err, tc.member)
		}
	}
}

// TestGivenImages: those of the command line win, and the file's own are left as they are.
func TestGivenImages(t *testing.T) {
	v, err := Parse([]byte(goodVersions))
	if err != nil {
		t.Fatal(err)
	}
	before := v.Images["cluster-autoscaler"]
	with, err := v.With(map[string]string{"cluster-autoscaler": "registry.example.com/other:v1", "extra": "registry.example.com/extra:v1"})
	if err != nil || with.Images["cluster-autoscaler"] != "registry.example.com/other:v1" || len(with.Images) != 2 || v.Images["cluster-autoscaler"] != before {
		t.Errorf("%v of %v: %v", with.Images, v.Images, err)
	}
	if _, err := v.With(map[string]string{"extra": "no reference"}); err == nil || !strings.Contains(err.Error(), "images.extra") {
		t.Errorf("a bad reference: %v", err)
	}
}

// FuzzVersions: what is accepted can be built.
func FuzzVersions(f *testing.F) {
	f.Add([]byte(goodVersions))
	for _, release := range BuiltIn() {
		text, err := builtIn.ReadFile("versions/" + release + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"apiVersion":"payload.hypershift.openshift.io/v1","kind":"Versions","release":"4.21.0","kubernetes":"v1.34.2"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := Parse(raw)
		if err != nil {
			return
		}
		if v.APIVersion != APIVersion || v.Kind != Kind || Programs(v)["kube"] != v.Kubernetes {
			t.Fatalf("accepted %+v", v)
		}
		if _, err := v.bootImages(); err != nil {
			t.Fatal(err)
		}
	})
}
