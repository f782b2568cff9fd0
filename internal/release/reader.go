package release

import (
	"archive/tar"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const (
	referencesFile = "release-manifests/image-references"
	bootImagesFile = "release-manifests/0000_50_installer_coreos-bootimages.yaml"

	// Real files are below 1 MiB; the limit protects the operator from a hostile image.
	maxFileBytes = 16 << 20

	whiteoutPrefix = ".wh."
	opaqueWhiteout = ".wh..wh..opq"
)

// Reader reads payloads straight from their registry.
type Reader struct {
	// Proxy chooses the proxy of a request; nil takes it from the environment.
	Proxy func(*http.Request) (*url.URL, error)
}

var _ Provider = Reader{}

// Lookup implements Provider.
func (r Reader) Lookup(ctx context.Context, image string, access Access) (*Release, error) {
	reference, err := name.ParseReference(image)
	if err != nil {
		return nil, &Error{Image: image, Reason: ReasonInvalidReference, Cause: err}
	}
	options, err := r.options(ctx, access)
	if err != nil {
		return nil, &Error{Image: image, Reason: ReasonInvalidPullSecret, Cause: err}
	}
	descriptor, err := remote.Get(reference, options...)
	if err != nil {
		return nil, remoteError(image, err)
	}
	pulled, err := descriptor.Image()
	if err != nil {
		return nil, remoteError(image, err)
	}
	files, err := extract(pulled, referencesFile, bootImagesFile)
	if err != nil {
		return nil, remoteError(image, err)
	}
	release, err := assemble(files)
	if err != nil {
		return nil, &Error{Image: image, Reason: ReasonNotAPayload, Cause: err}
	}
	release.Image, release.Digest = image, descriptor.Digest.String()
	release.Architecture, err = architecture(descriptor, pulled)
	if err != nil {
		return nil, remoteError(image, err)
	}
	return release, nil
}

func assemble(files map[string][]byte) (*Release, error) {
	references, ok := files[referencesFile]
	if !ok {
		return nil, fmt.Errorf("it has no %s", referencesFile)
	}
	release, err := parseReferences(references)
	if err != nil {
		return nil, err
	}
	if bootImages, ok := files[bootImagesFile]; ok {
		if release.StreamMetadata, err = parseBootImages(bootImages); err != nil {
			return nil, err
		}
	}
	return release, nil
}

func (r Reader) options(ctx context.Context, access Access) ([]remote.Option, error) {
	chain, err := parsePullSecret(access.PullSecret)
	if err != nil {
		return nil, err
	}
	options := []remote.Option{
		remote.WithContext(ctx),
		remote.WithAuthFromKeychain(chain),
		remote.WithPlatform(v1.Platform{OS: "linux", Architecture: "amd64"}),
	}
	if r.Proxy == nil && len(access.TrustBundle) == 0 {
		return options, nil
	}
	base, ok := remote.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("the default transport of the registry client is not an http.Transport")
	}
	transport := base.Clone()
	if r.Proxy != nil {
		transport.Proxy = r.Proxy
	}
	if len(access.TrustBundle) > 0 {
		roots, err := x509.SystemCertPool()
		if err != nil {
			return nil, fmt.Errorf("read the system's certificates: %w", err)
		}
		if !roots.AppendCertsFromPEM(access.TrustBundle) {
			return nil, errors.New("the trust bundle holds no PEM certificate")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return append(options, remote.WithTransport(transport)), nil
}

func architecture(descriptor *remote.Descriptor, image v1.Image) (string, error) {
	if descriptor.MediaType.IsIndex() {
		return ArchMulti, nil
	}
	config, err := image.ConfigFile()
	if err != nil {
		return "", err
	}
	return strings.ToUpper(config.Architecture), nil
}

// extract returns the wanted files of an image. Layers are walked from the top because a payload's files are in its last ones,
// and the walk ends as soon as every wanted file is found or known to be deleted.
func extract(image v1.Image, wanted ...string) (map[string][]byte, error) {
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	open := map[string]bool{}
	for _, file := range wanted {
		open[file] = true
	}
	found := map[string][]byte{}
	for i := len(layers) - 1; i >= 0 && len(open) > 0; i-- {
		if err := extractLayer(layers[i], open, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func extractLayer(layer v1.Layer, open map[string]bool, found map[string][]byte) error {
	stream, err := layer.Uncompressed()
	if err != nil {
		return err
	}
	defer stream.Close()
	deleted := []string{}
	for archive := tar.NewReader(stream); len(open) > 0; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("layer is not a tar archive: %w", err)
		}
		file := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
		deleted = append(deleted, hiddenBy(file, open)...)
		if !open[file] || header.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(io.LimitReader(archive, maxFileBytes+1))
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		if len(content) > maxFileBytes {
			return fmt.Errorf("%w: %s is larger than %d bytes", errUnusable, file, maxFileBytes)
		}
		found[file] = content
		delete(open, file)
	}
	// A whiteout hides what lies in lower layers, never a file of its own layer.
	for _, file := range deleted {
		delete(open, file)
	}
	return nil
}

// hiddenBy returns the wanted files that a whiteout entry hides in lower layers.
func hiddenBy(file string, open map[string]bool) []string {
	directory, base := path.Split(file)
	if !strings.HasPrefix(base, whiteoutPrefix) {
		return nil
	}
	target := directory + strings.TrimPrefix(base, whiteoutPrefix)
	var hidden []string
	for candidate := range open {
		opaque := base == opaqueWhiteout && strings.HasPrefix(candidate, directory)
		if opaque || candidate == target || strings.HasPrefix(candidate, target+"/") {
			hidden = append(hidden, candidate)
		}
	}
	return hidden
}
