package images

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/images/imagestest"
	"github.com/hypershift-on-azure/hypershift/images/operators"
	"github.com/hypershift-on-azure/hypershift/images/registry"
	"github.com/hypershift-on-azure/hypershift/internal/cli/registryflags"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
	"github.com/hypershift-on-azure/hypershift/internal/release/signature"
	"github.com/hypershift-on-azure/hypershift/internal/version"
)

// run types a line after "hypershift images".
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

// bundle is one whose images carry files that stand for programs.
func bundle(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	for _, program := range []string{"hypershift-operator", "control-plane-operator", "etcd-helper", "external-dns"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte(program), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	store := &images.Store{Dir: t.TempDir(), Compress: true, Bills: true}
	var list []images.Artifact
	for _, spec := range []images.Spec{operators.ControlPlaneSpec(operators.ControlPlane, version, dir), operators.ExternalDNSSpec(dir), operators.OperatorSpec(version, dir)} {
		a, err := store.Artifact(spec.Name+":"+spec.Version, []string{"amd64", "arm64"}, func(string) (images.Spec, error) { return spec, nil })
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	file := filepath.Join(t.TempDir(), "images.tar")
	if err := writeBundle(list, file); err != nil {
		t.Fatal(err)
	}
	return file
}

func azureLogin(t *testing.T, r *imagestest.Registry) string {
	t.Helper()
	return r.DockerConfig(t, map[string]string{"identitytoken": imagestest.RefreshToken, "username": "00000000-0000-0000-0000-000000000000"})
}

// TestPublishFromBundle: who has only the program and the bundle gets the images in an Azure registry, under the names that install
// asks for, and the hand-off file says where.
func TestPublishFromBundle(t *testing.T) {
	r := imagestest.New(t, imagestest.Azure, true)
	auth, file, on := azureLogin(t, r), bundle(t, version.Version), filepath.Join(t.TempDir(), "demo.yaml")
	private, public := releasetest.KeyPair(t)
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, private, 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := signature.ParseKeys(public)
	if err != nil {
		t.Fatal(err)
	}
	line := []string{"publish", "--sign-key", key, "--to", r.Host + "/team/", "--from", file, "--auth-file", auth, "--ca-file", r.CA, "--handoff", on}
	stdout, stderr, err := run(t, append(line, "-o", "json")...)
	if err != nil {
		t.Fatal(err)
	}
	var out result
	if err := json.Unmarshal([]byte(stdout), &out); err != nil {
		t.Fatal(err)
	}
	if out.Registry != r.Host+"/team" || out.Version != version.Version || len(out.Images) != 3 || strings.Contains(stderr, "warning") {
		t.Errorf("result %+v, messages %s", out, stderr)
	}
	client, err := registry.New(registry.Options{AuthFile: auth, CAFile: r.CA, Direct: true})
	if err != nil {
		t.Fatal(err)
	}
	for image, tag := range map[string]string{"hypershift-operator": version.Version, "control-plane-operator": version.Version, "external-dns": "v0.18.0"} {
		ref, err := name.NewTag(r.Host + "/team/" + image + ":" + tag)
		if err != nil {
			t.Fatal(err)
		}
		a, err := client.Artifact(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		desc, err := a.Describe()
		if err != nil {
			t.Fatal(err)
		}
		if out.Images[image] != ref.Context().Name()+"@"+desc.Digest.String() || !desc.MediaType.IsIndex() || len(a.Attached) != 2 {
			t.Errorf("%s is %s with %d bills, printed as %s", ref, desc.Digest, len(a.Attached), out.Images[image])
		}
		if err := registryflags.CheckSigned(t.Context(), client, ref.Context().Digest(desc.Digest.String()), keys); err != nil {
			t.Error(err)
		}
	}
	h, err := handoff.Read(on)
	if err != nil {
		t.Fatal(err)
	}
	if h.Images == nil || h.Images.Registry != out.Registry || h.Images.References["hypershift-operator"] != out.Images["hypershift-operator"] {
		t.Errorf("the hand-off file has %+v", h.Images)
	}
	text, _, err := run(t, line...)
	if err != nil || !strings.Contains(text, out.Images["external-dns"]+"\n") || strings.Count(text, "\n") != 3 {
		t.Errorf("a second run prints %q: %v", text, err)
	}
}

// TestDryRunSendsNothing: it says what would be published.
func TestDryRunSendsNothing(t *testing.T) {
	r := imagestest.New(t, imagestest.Azure, true)
	on := filepath.Join(t.TempDir(), "demo.yaml")
	stdout, _, err := run(t, "publish", "--to", r.Host, "--from", bundle(t, version.Version), "--auth-file", azureLogin(t, r), "--ca-file", r.CA, "--dry-run", "--handoff", on)
	if err != nil || !strings.Contains(stdout, r.Host+"/hypershift-operator@sha256:") {
		t.Errorf("%q, %v", stdout, err)
	}
	if _, err := os.Stat(on); err == nil || r.Writes.Load() > 0 {
		t.Errorf("%d writes, hand-off file: %v", r.Writes.Load(), err)
	}
}

// TestBundleOfAnotherVersion: install would ask for other tags.
func TestBundleOfAnotherVersion(t *testing.T) {
	r := imagestest.New(t, imagestest.Azure, true)
	_, stderr, err := run(t, "publish", "--to", r.Host, "--from", bundle(t, "v9"), "--auth-file", azureLogin(t, r), "--ca-file", r.CA, "--dry-run")
	if err != nil || !strings.Contains(stderr, "warning: the bundle has hypershift-operator:v9") {
		t.Errorf("%v, %q", err, stderr)
	}
}

// TestPublishRefusals: what cannot work is said before anything is built or sent.
func TestPublishRefusals(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Chdir(t.TempDir())
	r := imagestest.New(t, imagestest.Azure, true)
	for line, want := range map[string]string{
		"":                       "--to is required",
		"--to https://" + r.Host: "--to",
		"--to team":              "no registry",
		"--to " + r.Host:         "--source",
		"--to " + r.Host + " --platforms linux/s390x":                             "linux/s390x",
		"--to " + r.Host + " --source .":                                          "--source",
		"--to " + r.Host + " --from nowhere.tar --ca-file " + r.CA:                "--auth-file",
		"--to " + r.Host + " --from nowhere.tar --dry-run":                        "nowhere.tar",
		"--to " + r.Host + " --from nowhere.tar --source .":                       "source",
		"--to " + r.Host + " --from nowhere.tar --handoff /nonexistent/demo.yaml": "--handoff",
		"--to " + r.Host + " --from nowhere.tar -o text":                          "--output",
		"--to " + r.Host + " --from nowhere.tar --auth-file nowhere.json":         "nowhere.json",
	} {
		if _, _, err := run(t, append([]string{"publish"}, strings.Fields(line)...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a word of %q", line, err, want)
		}
	}
	if r.Writes.Load() > 0 {
		t.Errorf("%d writes", r.Writes.Load())
	}
}

// TestBundle: what the command cannot build from, or write to, is refused before anything is built.
func TestBundle(t *testing.T) {
	t.Chdir(t.TempDir())
	there := filepath.Join(t.TempDir(), "there.tar")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"":               "--out is required",
		"--out " + there: "is there already",
		"--out new.tar":  "--source",
		"--out new.tar --source /nonexistent --cache c": "--source",
		"--out new.tar --platforms windows/amd64":       "windows/amd64",
	} {
		if _, _, err := run(t, append([]string{"bundle"}, strings.Fields(line)...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a word of %q", line, err, want)
		}
	}
	if found, err := Source(""); err == nil {
		t.Errorf("a source tree in an empty directory: %s", found)
	}
	t.Chdir("/")
}

// TestSourceIsFoundFromBelow: the commands work in every directory of a checkout.
func TestSourceIsFoundFromBelow(t *testing.T) {
	found, err := Source("")
	if err != nil || operators.IsSource(found) != nil {
		t.Errorf("%q, %v", found, err)
	}
	if above := sourceAbove(filepath.Join(found, "bin")); above != found {
		t.Errorf("a program in bin finds %q", above)
	}
	if above := sourceAbove("/"); above != "" {
		t.Errorf("found %q in the root directory", above)
	}
}
