package payload

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"archive/tar"
)

// authenticated refuses whoever does not send the password, and counts what is written.
type authenticated struct {
	http.Handler
	writes atomic.Int64
}

func (a *authenticated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if user, password, _ := r.BasicAuth(); user != "u" || password != "p" {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.Method == http.MethodPut || r.Method == http.MethodPost || r.Method == http.MethodPatch {
		a.writes.Add(1)
	}
	a.Handler.ServeHTTP(w, r)
}

func testConfig(t *testing.T) (Config, *authenticated, *httptest.Server) {
	t.Helper()
	dir := t.TempDir()
	fake := func(path ...string) {
		file := filepath.Join(append([]string{dir}, path...)...)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(file), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range []string{"kube", "etcd", "konnectivity-server", "konnectivity-agent", "cluster-api", "cluster-api-provider-azure",
		"azure-cloud-controller-manager", "azure-cloud-node-manager", "coredns", "flanneld", "flannel", "pause", "bridge", "loopback",
		"host-local", "portmap", "external-dns", "azure-workload-identity-webhook", "skipper", "hypershift-operator", "control-plane-operator", "etcd-helper"} {
		fake("bin", program)
	}
	fake("debian", "bin", "busybox")
	fake("debian", "usr", "sbin", "haproxy")
	handler := &authenticated{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o644); err != nil {
		t.Fatal(err)
	}
	return Config{BinDir: filepath.Join(dir, "bin"), SelfDir: filepath.Join(dir, "bin"), DebianDir: filepath.Join(dir, "debian"),
		CacheDir: filepath.Join(dir, "cache"), RegistryAddr: strings.TrimPrefix(server.URL, "https://"), CA: ca,
		User: "u", Password: "p", OperatorTag: "v1"}, handler, server
}

func pull(t *testing.T, c Config, server *httptest.Server, spec string) v1.Image {
	t.Helper()
	ref, err := name.ParseReference(c.RegistryAddr + strings.TrimPrefix(spec, host))
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(ref, remote.WithTransport(server.Client().Transport), remote.WithAuth(&authn.Basic{Username: "u", Password: "p"}))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func contents(t *testing.T, img v1.Image) map[string]string {
	t.Helper()
	files := map[string]string{}
	flat := mutate.Extract(img)
	defer flat.Close()
	for tr := tar.NewReader(flat); ; {
		header, err := tr.Next()
		if err == io.EOF {
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
	if len(hostTools("nft")) == 0 {
		t.Skip("nft is not installed: apt-get install nftables")
	}
	c, handler, server := testConfig(t)
	result, err := Publish(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if want := "quay.io/openshift-release-dev/ocp-release:" + ReleaseVersion + "-x86_64"; result.ReleaseImage != want {
		t.Errorf("release %s, want %s", result.ReleaseImage, want)
	}
	files := contents(t, pull(t, c, server, result.ReleaseImage))
	var stream struct {
		Metadata struct{ Name string }
		Spec     struct {
			Tags []struct {
				Name string
				From struct{ Name string }
			}
		}
	}
	if err := json.Unmarshal([]byte(files["release-manifests/image-references"]), &stream); err != nil {
		t.Fatal(err)
	}
	if stream.Metadata.Name != ReleaseVersion {
		t.Errorf("version %q", stream.Metadata.Name)
	}
	found := map[string]map[string]string{}
	for _, tag := range stream.Spec.Tags {
		if !strings.Contains(tag.From.Name, "@sha256:") {
			t.Errorf("%s is not named by digest: %s", tag.Name, tag.From.Name)
		}
		found[tag.Name] = contents(t, pull(t, c, server, tag.From.Name))
	}
	for key, file := range map[string]string{
		"hyperkube": "bin/kube-apiserver", "etcd": "bin/etcdctl", "pod": "bin/pause", "haproxy-router": "usr/sbin/haproxy",
		"hypershift": "usr/bin/control-plane-operator", "kube-proxy": "usr/sbin/nft", "tools": "bin/sh", "flannel": "cni/flannel",
		"apiserver-network-proxy": "bin/proxy-agent", "container-networking-plugins": "cni/bridge",
	} {
		if _, ok := found[key][file]; !ok {
			t.Errorf("image %s has no %s", key, file)
		}
	}
	if !strings.Contains(found["kube-proxy"]["etc/protocols"], "tcp") {
		t.Error("nft of image kube-proxy cannot name protocols")
	}
	for _, tag := range stream.Spec.Tags {
		config, err := pull(t, c, server, tag.From.Name).ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if tag.Name == "haproxy-router" && config.Config.User != "1001" {
			t.Errorf("the router's image runs as %q, want a user without rights", config.Config.User)
		}
		checkRestricted(t, tag.Name, config, tag.Name == "hypershift")
	}
	operator := pull(t, c, server, result.OperatorImage)
	config, err := operator.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	checkRestricted(t, "hypershift-operator", config, true)
	if _, ok := contents(t, operator)["usr/bin/control-plane-operator"]; !ok {
		t.Error("the operator's image cannot stand in for the control plane's")
	}
	before := handler.writes.Load()
	again, err := Publish(context.Background(), c)
	if writes := handler.writes.Load() - before; err != nil || writes != 0 || again.ReleaseImage != result.ReleaseImage {
		t.Errorf("publishing again made %d writes, error %v", writes, err)
	}
}

// checkRestricted: without the label the namespace of a control plane would allow privileged pods.
func checkRestricted(t *testing.T, key string, config *v1.ConfigFile, want bool) {
	t.Helper()
	if got := config.Config.Labels["io.openshift.hypershift.restricted-psa"] == "true"; got != want {
		t.Errorf("image %s says %t to the restricted standard, want %t", key, got, want)
	}
}

func TestPublishNeedsThePassword(t *testing.T) {
	if len(hostTools("nft")) == 0 {
		t.Skip("nft is not installed: apt-get install nftables")
	}
	c, _, _ := testConfig(t)
	c.Password = "wrong"
	if _, err := Publish(context.Background(), c); err == nil {
		t.Fatal("a push without the password succeeded")
	}
}

func TestAMissingPartIsNamed(t *testing.T) {
	c, _, _ := testConfig(t)
	if err := os.Remove(c.bin("coredns")); err != nil {
		t.Fatal(err)
	}
	if _, err := Publish(context.Background(), c); err == nil || !strings.Contains(err.Error(), "coredns") {
		t.Fatalf("the error does not name the part: %v", err)
	}
}
