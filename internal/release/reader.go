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

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/hypershift-on-azure/hypershift/internal/egress"
	"github.com/hypershift-on-azure/hypershift/internal/release/signature"
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
	// Guard is where a tenant's images may lead; nil lets them lead anywhere, for programs with the rights of who names the image.
	Guard *egress.Policy
	// Trusted are registries, or prefixes of repositories, that the installation chose: Guard does not hold for them.
	Trusted []string
	// Signers are keys of which one must have signed a payload; nil takes unsigned ones. A payload must then be named by digest, and
	// name its images so: what else a name leads to later nobody has signed.
	Signers *signature.Keys
	// Keychain has credentials of the person who runs the program, used where the pull secret has none for a registry; nil has none.
	Keychain authn.Keychain
}

var _ Provider = Reader{}

// Lookup implements Provider. Mirrors are tried in their order and the source last, whatever is wrong with those before.
func (r Reader) Lookup(ctx context.Context, image string, access Access) (*Release, error) {
	found, err := fromMirrors(ctx, r, mirrorTimeout, image, access, r.read)
	if err != nil {
		return nil, err
	}
	found.Image = image
	if r.Signers == nil {
		return found, nil
	}
	if err := found.fixed(); err != nil {
		return nil, err
	}
	return found, nil
}

// fromMirrors reads an image from its first mirror that has it, and from its source last. patience is how long it waits for one mirror.
func fromMirrors[V any](ctx context.Context, r Reader, patience time.Duration, image string, access Access, read func(context.Context, string, []remote.Option) (V, *Error)) (V, error) {
	var none V
	client, err := r.client(access)
	if err != nil {
		return none, &Error{Image: image, Reason: ReasonInvalidPullSecret, Cause: err}
	}
	defer client.close()
	var failures []error
	for _, mirror := range mirrored(image, access.Mirrors) {
		limited, cancel := context.WithTimeout(ctx, patience)
		found, err := read(limited, mirror.image, client.options(mirror.managed || r.trusts(mirror.image)))
		cancel()
		if err == nil {
			return found, nil
		}
		failures = append(failures, err)
	}
	found, failure := read(ctx, image, client.options(r.trusts(image)))
	if failure == nil {
		return found, nil
	}
	return none, withMirrors(failure, failures)
}

// trusts tells whether the installation chose where an image lies.
func (r Reader) trusts(image string) bool {
	return slices.ContainsFunc(r.Trusted, func(prefix string) bool {
		rest, below := strings.CutPrefix(image, strings.TrimSuffix(prefix, "/"))
		return below && (rest == "" || strings.ContainsAny(rest[:1], "/:@"))
	})
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
func (r Reader) read(ctx context.Context, image string, options []remote.Option) (*Release, *Error) {
	pulled, failure := find(ctx, image, options)
	if failure != nil {
		return nil, failure
	}
	if r.Signers != nil {
		if failure := signed(ctx, image, pulled.digest, r.Signers, options); failure != nil {
			return nil, failure
		}
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

// registryClient is what one lookup asks registries with.
type registryClient struct {
	trusted, guarded http.RoundTripper
	keychain         authn.Keychain
	close            func()
}

// options of the registry library for an image, whose place is trusted or not.
func (c *registryClient) options(trusted bool) []remote.Option {
	transport := c.guarded
	if trusted {
		transport = c.trusted
	}
	return []remote.Option{remote.WithAuthFromKeychain(c.keychain), remote.WithTransport(frugal{transport})}
}

func (r Reader) client(access Access) (*registryClient, error) {
	chain, err := parsePullSecret(access.PullSecret)
	if err != nil {
		return nil, err
	}
	standard, ok := remote.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("the default transport of the registry client is not an http.Transport")
	}
	base := standard.Clone()
	if r.Proxy != nil {
		base.Proxy = r.Proxy
	}
	if base.TLSClientConfig, err = trust(access.TrustBundle); err != nil {
		return nil, err
	}
	client := &registryClient{trusted: base, guarded: base, keychain: chain, close: base.CloseIdleConnections}
	if r.Keychain != nil {
		client.keychain = authn.NewMultiKeychain(chain, r.Keychain)
	}
	if r.Guard != nil {
		guarded := r.Guard.Transport(base)
		client.guarded, client.close = guarded, guarded.CloseIdleConnections
	}
	return client, nil
}

// trust adds a bundle of authorities to the system's; none leaves the choice to the system.
func trust(bundle []byte) (*tls.Config, error) {
	if len(bundle) == 0 {
		return nil, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's certificates: %w", err)
	}
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, errors.New("the trust bundle holds no PEM certificate")
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}

// frugal bounds every answer that the registry library reads into memory; layers are streamed and bounded where they are read.
type frugal struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (f frugal) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := f.RoundTripper.RoundTrip(request)
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
