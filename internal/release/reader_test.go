package release

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const references = `{"kind":"ImageStream","apiVersion":"image.openshift.io/v1","metadata":{"name":"4.21.0"},"spec":{"tags":[
{"name":"hyperkube","annotations":{"io.openshift.build.versions":"kubernetes=1.34.2"},"from":{"kind":"DockerImage","name":"quay.io/x@sha256:1"}},
{"name":"cli","annotations":{"io.openshift.build.versions":"kubernetes=1.30.0,kubectl=v1.34.1,broken"},"from":{"kind":"DockerImage","name":"quay.io/x@sha256:2"}}]}}`

const bootImages = `apiVersion: v1
kind: ConfigMap
data:
  stream: '{"stream":"4.21","architectures":{"x86_64":{"rhel-coreos-extensions":{"marketplace":{"azure":{"no-purchase-plan":{"hyperVGen2":{"publisher":"azureopenshift","offer":"aro4","sku":"aro_421","version":"421.1.1"}}}}}}}}'
`

func layerOf(t testing.TB, files map[string]string) v1.Layer {
	t.Helper()
	var buffer bytes.Buffer
	archive := tar.NewWriter(&buffer)
	for file, content := range files {
		if err := archive.WriteHeader(&tar.Header{Name: file, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buffer.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	return layer
}

func imageOf(t testing.TB, layers ...map[string]string) v1.Image {
	t.Helper()
	image := empty.Image
	for _, files := range layers {
		var err error
		if image, err = mutate.AppendLayers(image, layerOf(t, files)); err != nil {
			t.Fatal(err)
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.Architecture, config.OS = "amd64", "linux"
	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}
	return image
}

// push stores the image in a TLS registry that wants user:secret, and returns reference, pull secret and CA.
func push(t *testing.T, image v1.Image) (string, Access) {
	t.Helper()
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "user" || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		store.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "https://")
	access := Access{
		PullSecret:  fmt.Appendf(nil, `{"auths":{"%s/ocp":{"auth":"%s"}}}`, host, base64.StdEncoding.EncodeToString([]byte("user:secret"))),
		TrustBundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	reference := host + "/ocp/release:4.21.0"
	if err := remote.Write(parse(t, reference), image, authenticated(t, access)...); err != nil {
		t.Fatal(err)
	}
	return reference, access
}

// store keeps the image on disk, so that what serving it costs is not counted.
func store(t testing.TB, image v1.Image) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithBlobHandler(registry.NewDiskBlobHandler(t.TempDir()))))
	t.Cleanup(server.Close)
	reference := strings.TrimPrefix(server.URL, "http://") + "/ocp/release:4.21.0"
	if err := remote.Write(parse(t, reference), image); err != nil {
		t.Fatal(err)
	}
	return reference
}

func parse(t testing.TB, reference string) name.Reference {
	t.Helper()
	parsed, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func authenticated(t *testing.T, access Access) []remote.Option {
	t.Helper()
	client, err := Reader{}.client(access)
	if err != nil {
		t.Fatal(err)
	}
	return client.options(false)
}

func TestLookup(t *testing.T) {
	reference, access := push(t, imageOf(t,
		map[string]string{"release-manifests/image-references": "an older layer, hidden by the one above"},
		map[string]string{"release-manifests/image-references": references, "./" + bootImagesFile: bootImages},
		map[string]string{"etc/other": "x"},
	))
	got, err := Reader{}.Lookup(t.Context(), reference, access)
	if err != nil {
		t.Fatal(err)
	}
	if got.Version != "4.21.0" || got.KubernetesVersion != "1.34.2" || got.Architecture != ArchAMD64 || !strings.HasPrefix(got.Digest, "sha256:") {
		t.Errorf("got %+v", got)
	}
	if got.Images["hyperkube"] != "quay.io/x@sha256:1" || got.ComponentVersions["kubectl"] != "1.34.1" {
		t.Errorf("images %v, versions %v", got.Images, got.ComponentVersions)
	}
	if missing := got.Missing("cli", "hyperkube", "pod", "etcd"); strings.Join(missing, ",") != "etcd,pod" {
		t.Errorf("missing %v", missing)
	}
	if image := got.StreamMetadata.AzureMarketplace("amd64", false); image == nil || image.SKU != "aro_421" {
		t.Errorf("marketplace image %+v", image)
	}
	if image := got.StreamMetadata.AzureMarketplace("arm64", false); image != nil {
		t.Errorf("unexpected arm64 image %+v", image)
	}
}

// TestLookupByProxy reads a payload that only a proxy reaches.
func TestLookupByProxy(t *testing.T) {
	reference := store(t, imageOf(t, map[string]string{referencesFile: references}))
	host, _, _ := strings.Cut(reference, "/")
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", host }}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	reader := Reader{Proxy: func(*http.Request) (*url.URL, error) { return address, nil }}
	// Nothing listens there; of loopback addresses plain HTTP is tried, too.
	got, err := reader.Lookup(t.Context(), "127.0.0.1:1/ocp/release:4.21.0", Access{})
	if err != nil || got.Version != "4.21.0" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestLookupErrors(t *testing.T) {
	good, access := push(t, imageOf(t, map[string]string{referencesFile: references}))
	noFile, noFileAccess := push(t, imageOf(t, map[string]string{"etc/other": "x"}))
	hidden, hiddenAccess := push(t, imageOf(t, map[string]string{referencesFile: references}, map[string]string{"release-manifests/.wh.image-references": ""}))
	opaque, opaqueAccess := push(t, imageOf(t, map[string]string{referencesFile: references}, map[string]string{"release-manifests/.wh..wh..opq": ""}))
	trustOnly := Access{TrustBundle: access.TrustBundle}
	cases := map[string]struct {
		image  string
		access Access
		want   Reason
	}{
		"bad name":        {"Not A Name", access, ReasonInvalidReference},
		"bad pull secret": {good, Access{PullSecret: []byte("{")}, ReasonInvalidPullSecret},
		"bad trust":       {good, Access{TrustBundle: []byte("nonsense")}, ReasonInvalidPullSecret},
		"no credentials":  {good, trustOnly, ReasonUnauthorized},
		"unknown CA":      {good, Access{PullSecret: access.PullSecret}, ReasonUnreachable},
		"no such tag":     {strings.Replace(good, ":4.21.0", ":9.9.9", 1), access, ReasonNotFound},
		"no references":   {noFile, noFileAccess, ReasonNotAPayload},
		"whiteout":        {hidden, hiddenAccess, ReasonNotAPayload},
		"opaque":          {opaque, opaqueAccess, ReasonNotAPayload},
	}
	for title, c := range cases {
		t.Run(title, func(t *testing.T) {
			_, err := Reader{}.Lookup(t.Context(), c.image, c.access)
			var typed *Error
			if !errors.As(err, &typed) || typed.Reason != c.want {
				t.Fatalf("got %v, want reason %s", err, c.want)
			}
			if strings.Contains(err.Error(), "secret\"") || strings.Contains(err.Error(), base64.StdEncoding.EncodeToString([]byte("user:secret"))) {
				t.Errorf("error shows credentials: %v", err)
			}
		})
	}
}

func TestLookupIndex(t *testing.T) {
	image := imageOf(t, map[string]string{referencesFile: references})
	reference, access := push(t, image)
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}},
	})
	multi := parse(t, strings.Replace(reference, ":4.21.0", ":multi", 1))
	if err := remote.WriteIndex(multi, index, authenticated(t, access)...); err != nil {
		t.Fatal(err)
	}
	got, err := Reader{}.Lookup(t.Context(), multi.String(), access)
	if err != nil {
		t.Fatal(err)
	}
	want, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if got.Architecture != ArchMulti || got.Digest != want.String() {
		t.Errorf("architecture %s digest %s, want Multi %s", got.Architecture, got.Digest, want)
	}
}
