// Package releasetest serves release payloads to tests.
package releasetest

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Serve runs a registry with a payload of the version until the test ends and returns the payload's reference. The payload has every
// required image, each named Image(key). The registry listens on a loopback address, where plain HTTP is allowed.
func Serve(t testing.TB, version string) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive(t, version))), nil
	})
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
	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}
	reference, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/ocp/release:" + version)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(reference, image); err != nil {
		t.Fatal(err)
	}
	return reference.String()
}

// Image is the pull spec of a component in a served payload.
func Image(key string) string { return "quay.io/payload@sha256:" + key }

func archive(t testing.TB, version string) []byte {
	t.Helper()
	tags := []map[string]any{}
	for _, key := range release.RequiredKeys {
		tags = append(tags, map[string]any{
			"name":        key,
			"annotations": map[string]string{"io.openshift.build.versions": "kubernetes=1.34.2"},
			"from":        map[string]string{"kind": "DockerImage", "name": Image(key)},
		})
	}
	content, err := json.Marshal(map[string]any{
		"kind": "ImageStream", "metadata": map[string]string{"name": version}, "spec": map[string]any{"tags": tags},
	})
	if err != nil {
		t.Fatal(err)
	}
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	header := &tar.Header{Name: "release-manifests/image-references", Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}
	if err := writer.WriteHeader(header); err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}
