package ignition

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

func TestMirrorsReachNodes(t *testing.T) {
	if document, err := MirrorDocument(nil); err != nil || document != "" {
		t.Errorf("no sources: %q, %v", document, err)
	}
	document, err := MirrorDocument([]hyperv1.ImageContentSource{
		{Source: "quay.io/art", Mirrors: []string{"mirror.test:5000/cache/art", "other.io/art", "renamed.test/x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	in := input()
	in.Manifests = document + "\n---\n" + `
apiVersion: operator.openshift.io/v1alpha1
kind: ImageContentSourcePolicy
metadata: {name: theirs}
spec: {repositoryDigestMirrors: [{source: docker.io, mirrors: [other.io/hub]}, {source: quay.io, mirrors: [other.io]}]}
`
	files := contents(t, rendered(t, in))
	want := "quay.io/art@sha256:1 mirror.test:5000/cache/art@sha256:1\nquay.io/art@sha256:1 other.io/art@sha256:1\nquay.io/art@sha256:1 renamed.test/x@sha256:1\n"
	if got := files[payloadMirrors]; !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 12 {
		t.Errorf("%s:\n%s", payloadMirrors, got)
	}
	// A registry that is renamed below cannot stand in for another in the runtime.
	want = `server = "https://quay.io"

[host."https://mirror.test:5000/v2/cache"]
  capabilities = ["pull"]
  override_path = true

[host."https://other.io"]
  capabilities = ["pull"]
  [host."https://other.io".header]
    Authorization = "Basic YTpi"
`
	if got := files["/etc/containerd/certs.d/quay.io/hosts.toml"]; got != want {
		t.Errorf("quay.io:\n%s", got)
	}
	if got := files["/etc/containerd/certs.d/docker.io/hosts.toml"]; !strings.Contains(got, `[host."https://other.io/v2/hub"]`) {
		t.Errorf("docker.io:\n%s", got)
	}
	for path := range contents(t, rendered(t, input())) {
		if path == payloadMirrors || strings.HasPrefix(path, runtimeRegistries) {
			t.Errorf("%s without mirrors", path)
		}
	}
	in.Manifests = `{"apiVersion":"config.openshift.io/v1","kind":"ImageDigestMirrorSet","spec":{"imageDigestMirrors":"x"}}`
	if _, err := Render(in); err == nil || !strings.Contains(err.Error(), "imageDigestMirrors") {
		t.Errorf("a malformed document: %v", err)
	}
	for _, strange := range []string{"", "quay.io/../x", `a"]`, "a b", "https://quay.io"} {
		if registryPath.MatchString(strange) {
			t.Errorf("%q is taken for a registry", strange)
		}
	}
}

// The script goes from mirror to mirror, and the image has its own name whichever it came from.
func TestPayloadIsFetchedFromMirrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("etc/kubernetes/payload-images.env", "HYPERKUBE_IMAGE=h@sha256:1\nPOD_IMAGE=p@sha256:2\nAPISERVER_PROXY_IMAGE=a@sha256:3\nCNI_PLUGINS_IMAGE=\n")
	write("etc/kubernetes/payload-mirrors", "p@sha256:2 wrong/p@sha256:2\na@sha256:3 down/a@sha256:3\na@sha256:3 up/a@sha256:3\n")
	write("bin/containerd", "#!/bin/sh\n")
	write("opt/hypershift/bin/registry-hosts", "#!/bin/sh\n")
	calls := filepath.Join(dir, "calls")
	write("bin/ctr", `#!/bin/sh
shift 2
echo "$@" | sed 's/--hosts-dir [^ ]* //' >>`+calls+`
case "$*" in *down/*) exit 1 ;; esac
`)
	script := strings.NewReplacer("/etc/kubernetes/", dir+"/etc/kubernetes/", "/opt/hypershift/bin/", dir+"/opt/hypershift/bin/", "/var/lib/", dir+"/var/lib/", "/run/", dir+"/").Replace(payloadFetchScript)
	command := exec.CommandContext(t.Context(), "/bin/sh", "-c", script, "payload-fetch", "node")
	command.Env = []string{"PATH=" + dir + "/bin:" + os.Getenv("PATH")}
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	got, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	want := "version\nimages pull down/a@sha256:3\nimages pull up/a@sha256:3\nimages tag --force up/a@sha256:3 a@sha256:3\n"
	if string(got) != want {
		t.Errorf("calls:\n%s\nwant:\n%s", got, want)
	}
}
