package cluster

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/wholefile"
)

// PauseImage is what containerd makes pod sandboxes from. It is imported, not
// pulled: the runtime has no pull secret.
const PauseImage = "quay.io/hypershift-sandbox/pause:1"

const systemImages = "hypershift-sandbox/"

// PushSystemImages pushes the images that the management cluster itself needs
// and returns their references. What was pushed from the same programs is
// remembered, because compressing them takes longer than all the rest.
func PushSystemImages(ctx context.Context, c Config) (map[string]string, error) {
	programs := []string{"coredns", "local-path-provisioner"}
	record := c.path("registry", "system-images.json")
	made := systemRecord{From: c.fingerprint(programs)}
	var last systemRecord
	if text, err := os.ReadFile(record); err == nil && json.Unmarshal(text, &last) == nil && last.From == made.From {
		return last.Images, nil
	}
	user, password, err := c.RegistryCredentials()
	if err != nil {
		return nil, err
	}
	transport, err := c.registryTransport()
	if err != nil {
		return nil, err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithTransport(transport), remote.WithAuth(&authn.Basic{Username: user, Password: password})}
	made.Images = map[string]string{}
	for _, program := range programs {
		if made.Images[program], err = c.pushProgram(program, options); err != nil {
			return nil, fmt.Errorf("image %s: %w", program, err)
		}
	}
	text, err := json.Marshal(made)
	if err != nil {
		return nil, err
	}
	return made.Images, wholefile.WriteIfChanged(record, text, 0o644)
}

// systemRecord says which images were made from what.
type systemRecord struct {
	From   string            `json:"from"`
	Images map[string]string `json:"images"`
}

// fingerprint changes when one of the programs does.
func (c Config) fingerprint(programs []string) string {
	var text strings.Builder
	for _, program := range programs {
		if info, err := os.Stat(c.bin(program)); err == nil {
			fmt.Fprintf(&text, "%s %d %d;", program, info.Size(), info.ModTime().UnixNano())
		}
	}
	return text.String()
}

func (c Config) pushProgram(program string, options []remote.Option) (string, error) {
	image, err := programImage(c.bin(program), "/"+program)
	if err != nil {
		return "", err
	}
	digest, err := image.Digest()
	if err != nil {
		return "", err
	}
	path := systemImages + program + "@" + digest.String()
	reference, err := name.NewDigest(names.RegistryAddr + "/" + path)
	if err != nil {
		return "", err
	}
	if _, err := remote.Head(reference, options...); err != nil {
		if err := remote.Write(reference, image, options...); err != nil {
			return "", err
		}
	}
	return "quay.io/" + path, nil
}

func (c Config) registryTransport() (http.RoundTripper, error) {
	pem, err := os.ReadFile(c.CA())
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: 8}, nil
}

// ImportPause gives containerd the image of pod sandboxes.
func ImportPause(ctx context.Context, c Config) error {
	if _, err := os.Stat(c.pauseMarker()); err == nil {
		return nil
	}
	archive, err := c.pauseArchive()
	if err != nil {
		return err
	}
	defer os.Remove(archive)
	argv := c.importCommand(archive)
	if output, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("import the pause image: %w: %s", err, output)
	}
	return os.WriteFile(c.pauseMarker(), nil, 0o644)
}

// pauseMarker exists once a node's containerd has the image of pod sandboxes.
func (c Config) pauseMarker() string { return c.cluster("containerd", "pause-imported") }

func (c Config) importCommand(archive string) []string {
	return []string{c.debian("ctr"), "--address", c.containerdSocket(), "--namespace", "k8s.io", "images", "import", archive}
}

// pauseArchive writes the image of pod sandboxes to a file, which the caller removes.
func (c Config) pauseArchive() (string, error) {
	image, err := programImage(c.bin("pause"), "/pause")
	if err != nil {
		return "", fmt.Errorf("image pause: %w", err)
	}
	reference, err := name.ParseReference(PauseImage)
	if err != nil {
		return "", err
	}
	archive := c.cluster("containerd", "pause.tar")
	return archive, tarball.WriteToFile(archive, reference, image)
}

// programImage is an image with one static program.
func programImage(path, inside string) (v1.Image, error) {
	layer, err := programLayer(path, inside)
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Architecture, config.OS = "amd64", "linux"
	config.Config.Entrypoint = []string{inside}
	return mutate.ConfigFile(image, config)
}

func programLayer(path, inside string) (v1.Layer, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, dir := range []string{"tmp/", "etc/"} {
		if err := w.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
			return nil, err
		}
	}
	header := &tar.Header{Name: filepath.Clean(inside)[1:], Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil },
		tarball.WithCompressionLevel(1))
}
