package payload

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/images/imagestest"
	"github.com/hypershift-on-azure/hypershift/images/registry"
	"github.com/hypershift-on-azure/hypershift/parts/build"
)

// write makes a file and its directory.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// testInputs are files that stand for the programs of an architecture.
func testInputs(t *testing.T, arch string) Inputs {
	t.Helper()
	dir := t.TempDir()
	for _, program := range append([]string{"hypershift-operator", "control-plane-operator", "etcd-helper"}, programs...) {
		write(t, filepath.Join(dir, "bin", program), program+" for "+arch)
	}
	for _, path := range append([]string{"bin/busybox", "usr/sbin/haproxy", "usr/sbin/nft", "usr/sbin/xtables-nft-multi", "usr/sbin/conntrack",
		"usr/lib/x/xtables/libxt_a.so", "etc/mke2fs.conf"}, diskPrograms...) {
		write(t, filepath.Join(dir, "debian", path), path+" for "+arch)
	}
	write(t, filepath.Join(dir, "debian/etc/protocols"), "tcp 6 TCP\n")
	return Inputs{Parts: filepath.Join(dir, "bin"), Own: filepath.Join(dir, "bin"), Debian: &build.DebianRoot{Dir: filepath.Join(dir, "debian")}}
}

func testStore(t *testing.T) *images.Store {
	return &images.Store{Dir: t.TempDir(), Compress: true, Bills: true}
}

// testPayload is release 4.21.0 made of files that stand for programs.
func testPayload(t *testing.T, store *images.Store, archs ...string) *Payload {
	t.Helper()
	v, err := Of("4.21.0")
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]Inputs{}
	for _, arch := range archs {
		inputs[arch] = testInputs(t, arch)
	}
	p, err := Config{Versions: v, Archs: archs, OwnVersion: "v1", Store: store}.assemble(t.Context(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func testClient(t *testing.T, r *imagestest.Registry) *registry.Client {
	t.Helper()
	client, err := registry.New(registry.Options{CAFile: r.CA, User: imagestest.User, Password: imagestest.Password, Direct: true})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func get(t *testing.T, client *registry.Client, spec string) images.Artifact {
	t.Helper()
	ref, err := name.ParseReference(spec)
	if err != nil {
		t.Fatal(err)
	}
	a, err := client.Artifact(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func contents(t *testing.T, img v1.Image) map[string]string {
	t.Helper()
	files := map[string]string{}
	flat := mutate.Extract(img)
	defer flat.Close()
	for tr := tar.NewReader(flat); ; {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = header.Linkname + string(text)
	}
}

func TestPublishedReleaseNamesImagesThatCanBePulled(t *testing.T) {
	r := imagestest.New(t, imagestest.Basic, true)
	client, store := testClient(t, r), testStore(t)
	p := testPayload(t, store, "amd64")
	place := Place{Write: r.Host + "/vendor", Read: r.Host + "/vendor", Components: "art", Release: "ocp-release", Tag: "4.21.0-x86_64"}
	out, err := p.Publish(t.Context(), client, store, place, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := r.Host + "/vendor/ocp-release:4.21.0-x86_64"; out.ReleaseImage != want {
		t.Errorf("release %s, want %s", out.ReleaseImage, want)
	}
	facts, err := ReadFacts(get(t, client, out.ReleaseImage))
	if err != nil {
		t.Fatal(err)
	}
	if facts.Version != "4.21.0" || facts.Kubernetes != "1.34.2" {
		t.Errorf("facts %+v", facts)
	}
	found := map[string]map[string]string{}
	for key, spec := range facts.Images {
		if !strings.HasPrefix(spec, r.Host+"/vendor/art@sha256:") {
			t.Errorf("%s is not named by digest: %s", key, spec)
		}
		img, _, err := firstImage(get(t, client, spec))
		if err != nil {
			t.Fatal(err)
		}
		found[key] = contents(t, img)
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if key == "haproxy-router" && config.Config.User != "1001" {
			t.Errorf("the router's image runs as %q, want a user without rights", config.Config.User)
		}
		// Without the label the namespace of a control plane would allow privileged pods.
		if got := config.Config.Labels["io.openshift.hypershift.restricted-psa"] == "true"; got != (key == "hypershift") {
			t.Errorf("image %s says %t to the restricted standard", key, got)
		}
	}
	for key, file := range map[string]string{
		"hyperkube": "bin/kube-apiserver", "etcd": "bin/etcdctl", "pod": "bin/pause", "haproxy-router": "usr/sbin/haproxy",
		"hypershift": "usr/bin/etcd-helper", "kube-proxy": "usr/sbin/nft", "tools": "bin/sh", "flannel": "cni/flannel",
		"azure-disk-csi-driver": "usr/sbin/mkfs.ext4", "csi-external-attacher": "bin/csi-attacher",
		"apiserver-network-proxy": "bin/proxy-agent", "container-networking-plugins": "cni/bridge",
	} {
		if _, ok := found[key][file]; !ok {
			t.Errorf("image %s has no %s", key, file)
		}
	}
	if !strings.Contains(found["kube-proxy"]["etc/protocols"], "tcp") {
		t.Error("nft of image kube-proxy cannot name protocols")
	}
	before := r.Writes.Load()
	again, err := p.Publish(t.Context(), client, store, place, nil)
	if writes := r.Writes.Load() - before; err != nil || writes != 0 || again.Digest != out.Digest {
		t.Errorf("publishing again made %d writes, error %v", writes, err)
	}
}

// The same payload comes of the same files at another time in another cache.
func TestSameFilesSameDigests(t *testing.T) {
	inputs := map[string]Inputs{"amd64": testInputs(t, "amd64"), "arm64": testInputs(t, "arm64")}
	v, err := Of("4.21.0")
	if err != nil {
		t.Fatal(err)
	}
	var digests []string
	for range 2 {
		store := testStore(t)
		p, err := Config{Versions: v, Archs: []string{"amd64", "arm64"}, OwnVersion: "v1", Store: store}.assemble(t.Context(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		planned, err := p.Plan(store, At("registry.example.com/a", "4.21.0"))
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, planned.Digest)
	}
	if digests[0] != digests[1] {
		t.Errorf("digests %v", digests)
	}
}

// A payload goes from a layout to a registry, and from there to another, and stays the same but for where its components lie.
func TestPayloadIsCopied(t *testing.T) {
	store := testStore(t)
	p := testPayload(t, store, "amd64", "arm64")
	dir := filepath.Join(t.TempDir(), "layout")
	if err := p.WriteLayout(store, dir); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteLayout(store, dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a second layout over the first: %v", err)
	}
	read, err := ReadLayout(dir)
	if err != nil {
		t.Fatal(err)
	}
	first, second := imagestest.New(t, imagestest.Basic, false), imagestest.New(t, imagestest.Basic, true)
	one, err := read.Publish(t.Context(), testClient(t, first), testStore(t), At(first.Host+"/one", p.Version), nil)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(one.ReleaseImage)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), testClient(t, first), ref, func(*Facts) error { return errors.New("of another kind") }); err == nil || !strings.Contains(err.Error(), "another kind") {
		t.Errorf("a payload that is not accepted: %v", err)
	}
	remote, err := Read(t.Context(), testClient(t, first), ref, func(*Facts) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	two, err := remote.Publish(t.Context(), testClient(t, second), testStore(t), At(second.Host+"/two", p.Version), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(two.Components) != len(p.Components) {
		t.Errorf("%d components, want %d", len(two.Components), len(p.Components))
	}
	for key, spec := range two.Components {
		_, digest, _ := strings.Cut(spec, "@")
		if !strings.HasSuffix(one.Components[key], digest) || !strings.HasPrefix(spec, second.Host+"/two/release-images@") {
			t.Errorf("%s went from %s to %s", key, one.Components[key], spec)
		}
		if copied := get(t, testClient(t, second), spec); len(copied.Attached) != 2 {
			t.Errorf("%s has %d bills of materials, want one for each architecture", key, len(copied.Attached))
		}
	}
	facts, err := ReadFacts(get(t, testClient(t, second), two.ReleaseImage))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(facts.Archs, ",") != "amd64,arm64" || facts.Images["pod"] != two.Components["pod"] {
		t.Errorf("facts %+v", facts)
	}
}

func TestPublishNeedsThePassword(t *testing.T) {
	r := imagestest.New(t, imagestest.Basic, true)
	client, err := registry.New(registry.Options{CAFile: r.CA, User: imagestest.User, Password: "wrong", Direct: true})
	if err != nil {
		t.Fatal(err)
	}
	store := testStore(t)
	_, err = testPayload(t, store, "amd64").Publish(t.Context(), client, store, At(r.Host+"/a", "4.21.0"), nil)
	if err == nil || !strings.Contains(err.Error(), "--auth-file") || strings.Contains(err.Error(), "wrong") {
		t.Fatalf("a push without the password: %v", err)
	}
}

func TestAMissingPartIsNamed(t *testing.T) {
	in := testInputs(t, "amd64")
	if err := os.Remove(in.bin("coredns")); err != nil {
		t.Fatal(err)
	}
	v, err := Of("4.21.0")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Config{Versions: v, Archs: []string{"amd64"}, OwnVersion: "v1", Store: testStore(t)}.assemble(t.Context(), map[string]Inputs{"amd64": in})
	if err == nil || !strings.Contains(err.Error(), "coredns") {
		t.Fatalf("the error does not name the part: %v", err)
	}
}
