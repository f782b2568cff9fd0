package payload

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/images/imagestest"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/payload"
)

// run types a line after "hypershift payload".
func run(t *testing.T, words ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := NewCommand()
	var out, messages bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&messages)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(words)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), messages.String(), err
}

const machines = `data:
  stream: '{"stream":"s","architectures":{"x86_64":{"rhel-coreos-extensions":{"marketplace":{"azure":{"no-purchase-plan":{"hyperVGen2":{"publisher":"p"}}}}}}}}'
`

// layout is a payload of small images with the given keys.
func layout(t *testing.T, keys ...string) string {
	t.Helper()
	store := &images.Store{Dir: t.TempDir(), Compress: true, Bills: true}
	p := &payload.Payload{Version: "4.21.0", Kubernetes: "1.34.2", Archs: []string{"amd64"}, BootImages: machines, Components: map[string]images.Artifact{}}
	for _, key := range keys {
		a, err := store.Artifact(key, p.Archs, func(string) (images.Spec, error) {
			return images.Spec{Name: key, Layers: [][]images.File{{{Path: "key", Text: key}}}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		p.Components[key] = a
	}
	dir := filepath.Join(t.TempDir(), "payload")
	if err := p.WriteLayout(store, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestPublishInspectVerify takes a payload from a directory to a registry and judges it there.
func TestPublishInspectVerify(t *testing.T) {
	r := imagestest.New(t, imagestest.Azure, true)
	reach := []string{"--ca-file", r.CA, "--auth-file", r.DockerConfig(t, map[string]string{"identitytoken": imagestest.RefreshToken})}
	all := required(&payload.Facts{})
	dir := layout(t, all...)
	publish := append([]string{"publish", "--from", dir, "--to", r.Host + "/team", "--cache", t.TempDir()}, reach...)

	planned, _, err := run(t, append(publish, "--dry-run", "-o", "json")...)
	if err != nil || r.Writes.Load() > 0 {
		t.Fatalf("a dry run made %d writes: %v", r.Writes.Load(), err)
	}
	done, _, err := run(t, append(publish, "-o", "json")...)
	if err != nil || done != planned {
		t.Fatalf("%v; published %s, planned %s", err, done, planned)
	}
	var out payload.Published
	if err := json.Unmarshal([]byte(done), &out); err != nil {
		t.Fatal(err)
	}
	image := r.Host + "/team/release:4.21.0"
	if out.ReleaseImage != image || len(out.Components) != len(all) {
		t.Errorf("published %+v", out)
	}

	for _, from := range []string{dir, image} {
		text, _, err := run(t, append([]string{"inspect", from, "-o", "json"}, reach...)...)
		if err != nil {
			t.Fatal(err)
		}
		var got inspected
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if got.Version != "4.21.0" || got.Kind != release.KindKubernetes || got.Kubernetes != "1.34.2" || strings.Join(got.Architectures, ",") != "amd64" ||
			len(got.Images) != len(all) || got.SizeBytes == 0 {
			t.Errorf("%s is %+v", from, got)
		}
	}
	text, _, err := run(t, append([]string{"inspect", image}, reach...)...)
	if err != nil || !strings.Contains(text, "Kubernetes:") || !strings.Contains(text, out.Components["etcd"]) {
		t.Errorf("%v: %s", err, text)
	}

	text, _, err = run(t, append([]string{"verify", image}, reach...)...)
	if err != nil || !strings.Contains(text, "all there") {
		t.Errorf("%v: %s", err, text)
	}
	r.Lose(out.Components["etcd"][strings.Index(out.Components["etcd"], "sha256:"):])
	text, _, err = run(t, append([]string{"verify", image, "-o", "json"}, reach...)...)
	var verdict verified
	if decodeErr := json.Unmarshal([]byte(text), &verdict); decodeErr != nil {
		t.Fatal(decodeErr)
	}
	if err == nil || len(verdict.Findings) != 1 || verdict.Findings[0].Key != "etcd" {
		t.Errorf("%v: %+v", err, verdict)
	}
	text, _, err = run(t, append([]string{"inspect", image}, reach...)...)
	if err != nil || !strings.Contains(text, "unknown: image for etcd") || !strings.Contains(text, "1.34.2") {
		t.Errorf("a payload that lacks an image: %v: %s", err, text)
	}
}

// TestVerifyNamesMissingKeys: a payload without what nodes and control planes need is no good.
func TestVerifyNamesMissingKeys(t *testing.T) {
	r := imagestest.New(t, imagestest.Basic, false)
	auth := r.DockerConfig(t, map[string]string{"username": imagestest.User, "password": imagestest.Password})
	reach := []string{"--ca-file", r.CA, "--auth-file", auth}
	if _, _, err := run(t, append([]string{"publish", "--from", layout(t, "hyperkube"), "--to", r.Host, "--cache", t.TempDir()}, reach...)...); err != nil {
		t.Fatal(err)
	}
	text, _, err := run(t, append([]string{"verify", r.Host + "/release:4.21.0"}, reach...)...)
	if err == nil || !strings.Contains(text, "etcd: ") || !strings.Contains(text, "kube-proxy: ") || strings.Contains(text, "hyperkube: ") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestOpenShiftPayload: it is told as what it is, and not copied as if it were plain Kubernetes.
func TestOpenShiftPayload(t *testing.T) {
	r := imagestest.New(t, imagestest.Basic, true)
	reach := []string{"--ca-file", r.CA, "--auth-file", r.DockerConfig(t, map[string]string{"username": imagestest.User, "password": imagestest.Password})}
	if _, _, err := run(t, append([]string{"publish", "--from", layout(t, "hyperkube", "cluster-version-operator"), "--to", r.Host, "--cache", t.TempDir()}, reach...)...); err != nil {
		t.Fatal(err)
	}
	image := r.Host + "/release:4.21.0"
	if text, _, err := run(t, append([]string{"inspect", image, "-o", "yaml"}, reach...)...); err != nil || !strings.Contains(text, "kind: OpenShift") {
		t.Errorf("%v: %s", err, text)
	}
	if _, _, err := run(t, append([]string{"publish", "--from", image, "--to", r.Host + "/copy"}, reach...)...); err == nil || !strings.Contains(err.Error(), "oc adm release mirror") {
		t.Errorf("a copy: %v", err)
	}
}

// TestBuildPlan: --dry-run says what would be built, with what was added by flags.
func TestBuildPlan(t *testing.T) {
	file := filepath.Join(t.TempDir(), "versions.yaml")
	for _, release := range payload.BuiltIn() {
		text, _, err := run(t, "build", "--release", release, "--arch", "arm64", "--image", "extra=registry.example.com/extra:v1", "--dry-run", "-o", "json")
		if err != nil {
			t.Fatal(err)
		}
		var got plan
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if got.Versions.Release != release || strings.Join(got.Architectures, ",") != "arm64" || got.Versions.Images["extra"] == "" || got.Programs["kube"] != got.Versions.Kubernetes {
			t.Errorf("%s: %+v", release, got)
		}
		// What is printed of the versions can be built from.
		raw, err := json.Marshal(got.Versions)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		text, _, err = run(t, "build", "--versions", file, "--dry-run")
		if err != nil || !strings.Contains(text, got.Versions.Kubernetes) || !strings.Contains(text, "registry.example.com/extra:v1") {
			t.Errorf("%s: %v: %s", release, err, text)
		}
	}
}

// TestBuildRefusals: what cannot be built is said before anything is fetched.
func TestBuildRefusals(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	amdOnly := filepath.Join(t.TempDir(), "versions.yaml")
	if err := os.WriteFile(amdOnly, []byte(`{apiVersion: payload.hypershift.openshift.io/v1, kind: Versions, release: 4.21.0, kubernetes: v1.34.2,
  nodeImages: {stream: s, amd64: {gen2: {publisher: p, offer: o, sku: s, version: v}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	for line, want := range map[string]string{
		"":                               "release",
		"--release 4.21.0":               "--out",
		"--release 4.99.0 --out " + out:  "--release",
		"--release 4.21.0 --out " + full: "not empty",
		"--release 4.21.0 --arch mips --out " + out:             "--arch",
		"--release 4.21.0 --image etcd=? --out " + out:          "--image",
		"--release 4.21.0 --source /nonexistent --out " + out:   "--source",
		"--release 4.21.0 --dry-run -o text":                    "--output",
		"--versions /nonexistent --out " + out:                  "--versions",
		"--versions " + amdOnly + " --dry-run":                  "arm64",
		"--versions " + amdOnly + " --release 4.21.0 --cache c": "versions",
	} {
		if _, _, err := run(t, append([]string{"build"}, strings.Fields(line)...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a word of %q", line, err, want)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a refused build made its directory")
	}
}

// Names that are none are refused without a registry being asked.
func TestReferences(t *testing.T) {
	for _, line := range []string{"inspect /nonexistent", "verify nowhere", "publish --from nowhere --to registry.example.com"} {
		if _, _, err := run(t, strings.Fields(line)...); err == nil || !strings.Contains(err.Error(), "reference") {
			t.Errorf("%s: %v", line, err)
		}
	}
}
