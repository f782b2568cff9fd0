package release

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const (
	referencesFile = "release-manifests/image-references"
	bootImagesFile = "release-manifests/0000_50_installer_coreos-bootimages.yaml"

	// A mirror that hangs must leave time for the next one and for the source.
	mirrorTimeout = 20 * time.Second
	// Manifests, tokens and image configurations are kilobytes.
	maxAnswerBytes = 4 << 20
)

// Reader reads payloads straight from their registry, or from a mirror of it.
type Reader struct {
	// Proxy chooses the proxy of a request; nil takes it from the environment.
	Proxy func(*http.Request) (*url.URL, error)
}

var _ Provider = Reader{}

// Lookup implements Provider. Mirrors are tried in their order and the source last, whatever is wrong with those before.
func (r Reader) Lookup(ctx context.Context, image string, access Access) (*Release, error) {
	found, err := fromMirrors(ctx, r, image, access, read)
	if err != nil {
		return nil, err
	}
	found.Image = image
	return found, nil
}

// fromMirrors reads an image from its first mirror that has it, and from its source last.
func fromMirrors[V any](ctx context.Context, r Reader, image string, access Access, read func(context.Context, string, []remote.Option) (V, *Error)) (V, error) {
	var none V
	client, err := r.client(access)
	if err != nil {
		return none, &Error{Image: image, Reason: ReasonInvalidPullSecret, Cause: err}
	}
	defer client.CloseIdleConnections()
	options := []remote.Option{
		remote.WithAuthFromKeychain(client.keychain),
		remote.WithTransport(client),
	}
	var failures []error
	for _, mirror := range mirrored(image, access.Mirrors) {
		limited, cancel := context.WithTimeout(ctx, mirrorTimeout)
		found, err := read(limited, mirror, options)
		cancel()
		if err == nil {
			return found, nil
		}
		failures = append(failures, err)
	}
	found, failure := read(ctx, image, options)
	if failure == nil {
		return found, nil
	}
	return none, withMirrors(failure, failures)
}

// withMirrors adds what the mirrors said. As long as one of them may come back, so may the image.
func withMirrors(source *Error, mirrors []error) *Error {
	if len(mirrors) == 0 {
		return source
	}
	for _, err := range mirrors {
		var failure *Error
		if errors.As(err, &failure) && failure.Transient() {
			source.Reason = ReasonUnreachable
		}
	}
	source.Cause = errors.Join(append([]error{source.Cause}, mirrors...)...)
	return source
}

// found is an image as a reference leads to it. digest is the reference's, of a list where it names one.
type found struct {
	v1.Image
	digest, architecture string
}

// find looks for the image of exactly this reference.
func find(ctx context.Context, image string, options []remote.Option) (*found, *Error) {
	reference, err := name.ParseReference(image)
	if err != nil {
		return nil, &Error{Image: image, Reason: ReasonInvalidReference, Cause: err}
	}
	descriptor, err := remote.Get(reference, append(slices.Clone(options), remote.WithContext(ctx))...)
	if err != nil {
		return nil, remoteError(image, err)
	}
	chosen, architecture, err := choose(descriptor)
	if err != nil {
		return nil, remoteError(image, err)
	}
	return &found{chosen, descriptor.Digest.String(), architecture}, nil
}

// read takes a payload from exactly this reference.
func read(ctx context.Context, image string, options []remote.Option) (*Release, *Error) {
	pulled, failure := find(ctx, image, options)
	if failure != nil {
		return nil, failure
	}
	files, err := extract(pulled.Image, referencesFile, bootImagesFile)
	if err != nil {
		return nil, remoteError(image, err)
	}
	release, err := assemble(files)
	if err != nil {
		return nil, &Error{Image: image, Reason: ReasonNotAPayload, Cause: err}
	}
	release.Image, release.Digest, release.Architecture = image, pulled.digest, pulled.architecture
	return release, nil
}

// choose returns the image whose files are read. Those of a list differ in their programs, not in their manifests.
func choose(descriptor *remote.Descriptor) (v1.Image, string, error) {
	if !descriptor.MediaType.IsIndex() {
		image, err := descriptor.Image()
		if err != nil {
			return nil, "", err
		}
		architecture, err := architectureOf(image)
		return image, architecture, err
	}
	index, err := descriptor.ImageIndex()
	if err != nil {
		return nil, "", err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, "", err
	}
	for _, wanted := range []string{runtime.GOARCH, "amd64", "arm64", "ppc64le", "s390x"} {
		for _, child := range manifest.Manifests {
			if child.Platform != nil && child.Platform.OS == "linux" && child.Platform.Architecture == wanted && child.MediaType.IsImage() {
				image, err := index.Image(child.Digest)
				return image, ArchMulti, err
			}
		}
	}
	return nil, "", &Error{Reason: ReasonArchNotFound, Cause: errors.New("the list names no image for Linux on a known architecture")}
}

func boundedConfig(image v1.Image) (*v1.ConfigFile, error) {
	manifest, err := image.Manifest()
	if err != nil {
		return nil, err
	}
	if manifest.Config.Size > maxAnswerBytes || len(manifest.Config.URLs) > 0 {
		return nil, fmt.Errorf("%w: its configuration of %d bytes is not one", errUnusable, manifest.Config.Size)
	}
	return image.ConfigFile()
}

func architectureOf(image v1.Image) (string, error) {
	config, err := boundedConfig(image)
	if err != nil {
		return "", err
	}
	architecture := strings.ToUpper(config.Architecture)
	if !slices.Contains([]string{ArchAMD64, ArchARM64, ArchPPC64LE, ArchS390X}, architecture) {
		return "", &Error{Reason: ReasonArchNotFound, Cause: fmt.Errorf("the image's architecture is %q", config.Architecture)}
	}
	return architecture, nil
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
		if err := parseBootImages(bootImages, release); err != nil {
			return nil, err
		}
	}
	return release, nil
}

// registryClient is the transport of one lookup.
type registryClient struct {
	*http.Transport
	keychain keychain
}

func (r Reader) client(access Access) (*registryClient, error) {
	chain, err := parsePullSecret(access.PullSecret)
	if err != nil {
		return nil, err
	}
	base, ok := remote.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("the default transport of the registry client is not an http.Transport")
	}
	client := &registryClient{Transport: base.Clone(), keychain: chain}
	if r.Proxy != nil {
		client.Proxy = r.Proxy
	}
	if len(access.TrustBundle) == 0 {
		return client, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's certificates: %w", err)
	}
	if !roots.AppendCertsFromPEM(access.TrustBundle) {
		return nil, errors.New("the trust bundle holds no PEM certificate")
	}
	client.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return client, nil
}

// RoundTrip bounds every answer that the registry library reads into memory; layers are streamed and bounded where they are read.
func (c *registryClient) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.Transport.RoundTrip(request)
	if err == nil && !strings.Contains(asked(request).URL.Path, "/blobs/") {
		response.Body = bounded{Reader: &budget{source: response.Body, left: maxAnswerBytes, what: "an answer of the registry"}, Closer: response.Body}
	}
	return response, err
}

// asked is the request that redirects led away from: registries send their clients elsewhere for layers.
func asked(request *http.Request) *http.Request {
	for request.Response != nil && request.Response.Request != nil {
		request = request.Response.Request
	}
	return request
}

type bounded struct {
	io.Reader
	io.Closer
}
