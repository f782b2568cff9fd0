// Package releasetest serves release payloads to tests.
package releasetest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// ReferencesFile is where a payload names its version and its images.
const ReferencesFile = "release-manifests/image-references"

// OpenShiftKeys are component keys of an OpenShift payload that no Kubernetes payload has.
var OpenShiftKeys = []string{"cluster-ingress-operator", "cluster-network-operator", "cluster-version-operator", "machine-config-operator", "openshift-apiserver"}

// Registry runs in this process, on a loopback address, where plain HTTP is allowed.
type Registry struct {
	host   string
	status atomic.Int32
}

// New runs an empty registry until the test ends.
func New(t testing.TB) *Registry {
	t.Helper()
	r := &Registry{}
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if status := r.status.Load(); status != 0 {
			w.WriteHeader(int(status))
			return
		}
		store.ServeHTTP(w, request)
	}))
	t.Cleanup(server.Close)
	r.host = strings.TrimPrefix(server.URL, "http://")
	return r
}

// Answer makes the registry answer every request with the status; zero makes it work again.
func (r *Registry) Answer(status int) { r.status.Store(int32(status)) }

// Reference is the name of a payload in the registry, whether it is there or not.
func (r *Registry) Reference(tag string) string { return r.host + "/ocp/release:" + tag }

// Host is where the registry is, HOST:PORT.
func (r *Registry) Host() string { return r.host }

// Push stores an image and returns its reference.
func (r *Registry) Push(t testing.TB, tag string, image v1.Image) string {
	t.Helper()
	return r.PushAs(t, r.Reference(tag), image)
}

// PushAs stores an image under a reference, which lies in this registry, and returns the reference.
func (r *Registry) PushAs(t testing.TB, as string, image v1.Image) string {
	t.Helper()
	reference, err := name.ParseReference(as)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(reference, image); err != nil {
		t.Fatal(err)
	}
	return reference.String()
}

// PushPayload stores a release image, whose operator has an image in the same registry, and returns its reference.
func (r *Registry) PushPayload(t testing.TB, tag string, payload Payload) string {
	t.Helper()
	if payload.Operator == "" {
		payload.Operator = r.PushOperator(t, map[string]string{release.LabelRestricted: "true"})
	}
	return r.Push(t, tag, payload.Build(t))
}

// PushOperator stores an image with these labels and nothing in it, and returns its reference by digest.
func (r *Registry) PushOperator(t testing.TB, labels map[string]string) string {
	t.Helper()
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "amd64", Config: v1.Config{Labels: labels}})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	reference, err := name.NewDigest(r.host + "/ocp/operator@" + digest.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(reference, image); err != nil {
		t.Fatal(err)
	}
	return reference.String()
}

// Payload is a release image.
type Payload struct {
	Version string
	// Operator is the image of the control-plane operator; one that cannot be pulled when empty.
	Operator string
	// Without names component images it lacks, of all that are required on Azure and the operator.
	Without []string
	// With names component images it has beside those, such as OpenShiftKeys.
	With []string
	// Architecture is amd64 when empty.
	Architecture string
	// References replaces the content of ReferencesFile.
	References string
}

// Build makes the image.
func (p Payload) Build(t testing.TB) v1.Image {
	t.Helper()
	content := p.References
	if content == "" {
		content = p.references(t)
	}
	raw := Archive(t, ReferencesFile, content)
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil })
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	if p.Architecture != "" {
		config.Architecture = p.Architecture
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}
	return image
}

// Serve runs a registry with a payload of the version until the test ends and returns the payload's reference. The payload has every
// required image, each named Image(key) but the operator's, which is there.
func Serve(t testing.TB, version string) string {
	t.Helper()
	return New(t).PushPayload(t, version, Payload{Version: version})
}

// Trust is what --registry-overrides takes so that the operator reads images from the registry of one, although it is on the loopback.
func Trust(image string) string {
	host, _, _ := strings.Cut(image, "/")
	return host + "=" + host
}

// Image is the pull spec of a component in a served payload.
func Image(key string) string {
	return fmt.Sprintf("quay.io/payload@sha256:%x", sha256.Sum256([]byte(key)))
}

func (p Payload) references(t testing.TB) string {
	t.Helper()
	tags := []map[string]any{}
	for _, key := range slices.Concat(release.Required(hyperv1.AzurePlatform), []string{release.KeyHypershift}, p.With) {
		if slices.Contains(p.Without, key) {
			continue
		}
		image := Image(key)
		if key == release.KeyHypershift && p.Operator != "" {
			image = p.Operator
		}
		tags = append(tags, map[string]any{
			"name":        key,
			"annotations": map[string]string{"io.openshift.build.versions": "kubernetes=1.34.2"},
			"from":        map[string]string{"kind": "DockerImage", "name": image},
		})
	}
	content, err := json.Marshal(map[string]any{
		"kind": "ImageStream", "metadata": map[string]string{"name": p.Version}, "spec": map[string]any{"tags": tags},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Archive is a layer with one file, not compressed.
func Archive(t testing.TB, file, content string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	header := &tar.Header{Name: file, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}
	if err := writer.WriteHeader(header); err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}
