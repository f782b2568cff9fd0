// Package registry reads and writes container registries: with the credentials that `docker login` or `az acr login` left, through the
// system's proxy, and with an authority of one's own. Azure's registries exchange those credentials for tokens, which the client does.
package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"

	"github.com/docker/cli/cli/config"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"golang.org/x/sync/errgroup"

	"github.com/hypershift-on-azure/hypershift/images"
)

// Options say how registries are reached. The zero value asks as Docker's client would.
type Options struct {
	// AuthFile is a Docker configuration file with credentials or credential helpers. Where it is empty, those of $DOCKER_CONFIG or
	// ~/.docker/config.json count, then Podman's.
	AuthFile string
	// CAFile has PEM certificates that are trusted in addition to the system's.
	CAFile string
	// User and Password are for a registry that one has at hand; no file is read then.
	User, Password string
	// Direct leaves the system's proxy out.
	Direct bool
	// UserAgent is what registries log.
	UserAgent string
}

// Client reads and writes registries. It may be used by several goroutines.
type Client struct {
	keys    authn.Keychain
	sender  http.RoundTripper
	options []remote.Option
	pusher  *remote.Pusher
	puller  *remote.Puller
}

// New makes a client; it asks no registry yet. Errors name the file that cannot be used.
func New(o Options) (*Client, error) {
	sender, err := o.transport()
	if err != nil {
		return nil, err
	}
	keys, err := o.keychain()
	if err != nil {
		return nil, err
	}
	c := &Client{keys: keys, sender: sender, options: []remote.Option{remote.WithTransport(sender), remote.WithAuthFromKeychain(keys)}}
	if o.UserAgent != "" {
		c.options = append(c.options, remote.WithUserAgent(o.UserAgent))
	}
	if c.pusher, err = remote.NewPusher(c.options...); err != nil {
		return nil, fmt.Errorf("cannot prepare writing to registries: %w", err)
	}
	if c.puller, err = remote.NewPuller(c.options...); err != nil {
		return nil, fmt.Errorf("cannot prepare reading registries: %w", err)
	}
	return c, nil
}

func (o Options) transport() (http.RoundTripper, error) {
	sender := remote.DefaultTransport.(*http.Transport).Clone() // has the proxy of the environment
	if o.Direct {
		sender.Proxy = nil
	}
	if o.CAFile == "" {
		return sender, nil
	}
	pem, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the registry's authority: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", o.CAFile)
	}
	sender.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return sender, nil
}

func (o Options) keychain() (authn.Keychain, error) {
	switch {
	case o.User != "":
		return fixed{authn.AuthConfig{Username: o.User, Password: o.Password}}, nil
	case o.AuthFile != "":
		return readAuthFile(o.AuthFile)
	}
	return authn.DefaultKeychain, nil
}

// fixed is one login, whatever the registry.
type fixed struct{ authn.AuthConfig }

// Resolve implements authn.Keychain.
func (f fixed) Resolve(authn.Resource) (authn.Authenticator, error) {
	return authn.FromConfig(f.AuthConfig), nil
}

// authFile answers from a Docker configuration file, by its credential helpers too.
type authFile struct {
	path string
	mu   sync.Mutex
	find func(host string) (authn.AuthConfig, error)
}

func readAuthFile(path string) (authn.Keychain, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the credentials: %w", err)
	}
	defer in.Close()
	file, err := config.LoadFromReader(in)
	if err != nil {
		// The parser's own message may quote the content.
		return nil, fmt.Errorf("%s is not a Docker configuration file, such as `az acr login` and `docker login` write it", path)
	}
	return &authFile{path: path, find: func(host string) (authn.AuthConfig, error) {
		found, err := file.GetAuthConfig(host)
		return authn.AuthConfig{Username: found.Username, Password: found.Password, Auth: found.Auth,
			IdentityToken: found.IdentityToken, RegistryToken: found.RegistryToken}, err
	}}, nil
}

// Resolve implements authn.Keychain: an entry for the repository wins over one for its registry.
func (a *authFile) Resolve(target authn.Resource) (authn.Authenticator, error) {
	a.mu.Lock() // helpers are programs that may ask a person
	defer a.mu.Unlock()
	for _, key := range []string{target.String(), target.RegistryStr()} {
		if key == name.DefaultRegistry {
			key = authn.DefaultAuthKey
		}
		found, err := a.find(key)
		if err != nil {
			return nil, fmt.Errorf("credentials for %s in %s: %w", key, a.path, err)
		}
		if found != (authn.AuthConfig{}) {
			return authn.FromConfig(found), nil
		}
	}
	return authn.Anonymous, nil
}

// CheckWrite refuses a repository that may not be written, before work is done for it. Nothing is left there.
func (c *Client) CheckWrite(repository name.Repository) error {
	ref := repository.Tag("latest")
	return explain("cannot write", ref, remote.CheckPushPermission(ref, c.keys, c.sender))
}

// parallel is how many images are sent at a time.
const parallel = 4

// Push writes an artifact under a reference, then what is attached to it. What the registry has is not sent again.
func (c *Client) Push(ctx context.Context, ref name.Reference, a images.Artifact) error {
	if err := c.put(ctx, ref, a.Image); err != nil {
		return err
	}
	// One after the other: where the registry has no referrers API, all of one subject write one tag.
	for _, attached := range a.Attached {
		digest, err := attached.Digest()
		if err != nil {
			return err
		}
		if err := c.put(ctx, ref.Context().Digest(digest.String()), attached); err != nil {
			return err
		}
	}
	return nil
}

// put writes an image or index, if the reference does not name it already.
func (c *Client) put(ctx context.Context, ref name.Reference, t remote.Taggable) error {
	desc, err := images.Artifact{Name: ref.String(), Image: t}.Describe()
	if err != nil {
		return err
	}
	if there, err := c.Head(ctx, ref); err == nil && there.Digest == desc.Digest {
		return nil
	}
	return explain("cannot push", ref, c.pusher.Push(ctx, ref, t))
}

// Head asks for a reference's descriptor. A reference that is not there is ErrNotFound.
func (c *Client) Head(ctx context.Context, ref name.Reference) (*v1.Descriptor, error) {
	desc, err := c.puller.Head(ctx, ref)
	return desc, explain("cannot find", ref, err)
}

// Get reads a manifest; layers are read when they are asked for. A reference that is not there is ErrNotFound.
func (c *Client) Get(ctx context.Context, ref name.Reference) (*remote.Descriptor, error) {
	desc, err := c.puller.Get(ctx, ref)
	return desc, explain("cannot read", ref, err)
}

// Artifact reads an image or index with what is attached to it and to its images.
func (c *Client) Artifact(ctx context.Context, ref name.Reference) (images.Artifact, error) {
	made := images.Artifact{Name: ref.String()}
	desc, err := c.Get(ctx, ref)
	if err != nil {
		return made, err
	}
	if made.Image, err = Image(desc); err != nil {
		return made, explain("cannot read", ref, err)
	}
	subjects, err := made.Digests()
	if err != nil {
		return made, err
	}
	for _, subject := range subjects {
		attached, err := c.attached(ctx, ref.Context().Digest(subject.String()))
		if err != nil {
			return made, err
		}
		made.Attached = append(made.Attached, attached...)
	}
	return made, nil
}

// Image is the image or index of a descriptor.
func Image(desc *remote.Descriptor) (remote.Taggable, error) {
	if desc.MediaType.IsIndex() {
		return desc.ImageIndex()
	}
	return desc.Image()
}

// attached are the bills of materials of one image.
func (c *Client) attached(ctx context.Context, subject name.Digest) ([]v1.Image, error) {
	options := append([]remote.Option{remote.WithContext(ctx), remote.Reuse(c.puller), remote.WithFilter("artifactType", images.BillType)}, c.options...)
	index, err := remote.Referrers(subject, options...)
	if err != nil {
		return nil, explain("cannot read what is attached to", subject, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, explain("cannot read what is attached to", subject, err)
	}
	var found []v1.Image
	for _, desc := range manifest.Manifests {
		ref := subject.Context().Digest(desc.Digest.String())
		got, err := c.Get(ctx, ref)
		if err != nil {
			return nil, err
		}
		img, err := got.Image()
		if err != nil {
			return nil, explain("cannot read", ref, err)
		}
		found = append(found, img)
	}
	return found, nil
}

// PushAll pushes several artifacts at a time; the reference of each is given by its place. Calls of pushed, which may be nil, do not
// overlap.
func (c *Client) PushAll(ctx context.Context, refs []name.Reference, artifacts []images.Artifact, pushed func(name.Reference)) error {
	var telling sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, a := range artifacts {
		g.Go(func() error {
			if err := c.Push(ctx, refs[i], a); err != nil {
				return err
			}
			if pushed != nil {
				telling.Lock()
				defer telling.Unlock()
				pushed(refs[i])
			}
			return nil
		})
	}
	return g.Wait()
}

// ErrNotFound is a reference that the registry has nothing under.
var ErrNotFound = errors.New("the registry has no such image")

// explain says what failed, why, and what to do.
func explain(what string, ref name.Reference, err error) error {
	var answer *transport.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s %s: %w: check repository and tag or digest", what, ref, ErrNotFound)
	case errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden):
		return fmt.Errorf("%s %s: the registry refuses the credentials for this: log in (az acr login, docker login) or name a file with --auth-file, as somebody who may do this there: %w",
			what, ref, err)
	}
	var authority x509.UnknownAuthorityError
	if errors.As(err, &authority) {
		return fmt.Errorf("%s %s: nobody vouches for the registry's certificate: name its authority with --ca-file: %w", what, ref, err)
	}
	return fmt.Errorf("%s %s: %w", what, ref, err)
}
