// Package payload fills the sandbox's registry: component images made from the built parts, the operators' images, and a
// release payload laid out as OpenShift's is.
package payload

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/errgroup"

	"github.com/hypershift-on-azure/hypershift/sandbox/payload/build"
)

// Names under which clients ask for the images; the edge leads quay.io to the registry.
const (
	host         = "quay.io"
	artRepo      = "openshift-release-dev/ocp-v4.0-art-dev"
	releaseRepo  = "openshift-release-dev/ocp-release"
	operatorRepo = "hypershift/hypershift-operator"
	dnsRepo      = "hypershift/external-dns"
)

// Config says where the parts are and which registry to fill.
type Config struct {
	BinDir       string // built parts
	DebianDir    string // unpacked Debian packages; programs also in bin/
	SelfDir      string // where hypershift-operator, control-plane-operator and etcd-helper are
	CacheDir     string // layers are kept here
	RegistryAddr string // 127.0.0.1:5000
	CA           string // PEM file that the registry's certificate is signed by
	User         string
	Password     string
	OperatorTag  string // version of the hypershift binary
}

// Result names what was published.
type Result struct {
	ReleaseImage  string
	OperatorImage string
	// ExternalDNSImage has a program that publishes the hosted clusters' names.
	ExternalDNSImage string
	Components       map[string]string // component key -> pull spec by digest
}

func (c Config) bin(program string) string    { return filepath.Join(c.BinDir, program) }
func (c Config) debian(program string) string { return filepath.Join(c.DebianDir, "bin", program) }

// Publish pushes what the registry lacks. Layers that are there already are not sent again.
func Publish(ctx context.Context, c Config) (Result, error) {
	push, err := c.pusher()
	if err != nil {
		return Result{}, err
	}
	components, err := c.components()
	if err != nil {
		return Result{}, err
	}
	specs := make([]string, len(components))
	var operator, externalDNS string
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for i, component := range components {
		g.Go(func() error {
			built, err := c.build(component)
			if err != nil {
				return err
			}
			specs[i], err = push.byDigest(ctx, artRepo, built)
			return err
		})
	}
	g.Go(func() error {
		built, err := c.build(c.operator())
		if err != nil {
			return err
		}
		operator, err = push.byTag(ctx, operatorRepo, c.OperatorTag, built)
		return err
	})
	g.Go(func() error {
		built, err := c.build(c.externalDNS())
		if err != nil {
			return err
		}
		externalDNS, err = push.byTag(ctx, dnsRepo, build.ExternalDNSVersion, built)
		return err
	})
	if err := g.Wait(); err != nil {
		return Result{}, err
	}
	result := Result{OperatorImage: operator, ExternalDNSImage: externalDNS, Components: map[string]string{}}
	for i, component := range components {
		result.Components[component.key] = specs[i]
	}
	release, err := c.release(result.Components)
	if err != nil {
		return Result{}, err
	}
	result.ReleaseImage, err = push.byTag(context.WithoutCancel(ctx), releaseRepo, ReleaseVersion+"-x86_64", release)
	return result, err
}

// build makes the image without storing it anywhere but in the layer cache.
func (c Config) build(i image) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, files := range append([][]file{base}, i.layers...) {
		layer, err := cachedLayer(c.CacheDir, append([]file(nil), files...))
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", i.key, err)
		}
		if img, err = mutate.AppendLayers(img, layer); err != nil {
			return nil, fmt.Errorf("image %s: %w", i.key, err)
		}
	}
	return configured(img, func(config *v1.ConfigFile) {
		config.Config.Entrypoint = i.entrypoint
		config.Config.User = i.user
		config.Config.Labels = map[string]string{"io.openshift.build.name": i.key}
		maps.Copy(config.Config.Labels, i.labels)
	})
}

func configured(img v1.Image, change func(*v1.ConfigFile)) (v1.Image, error) {
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	config.Config.Env = []string{"PATH=/bin:/usr/bin:/sbin:/usr/sbin"}
	change(config)
	return mutate.ConfigFile(img, config)
}

// pusher sends each layer once, however many images have it: two uploads of one blob at the same time confuse the registry.
type pusher struct {
	address string
	options []remote.Option
	remote  *remote.Pusher
}

func (c Config) pusher() (*pusher, error) {
	pem, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, fmt.Errorf("cannot read the registry's authority: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", c.CA)
	}
	// No proxy: the registry is asked directly, and its name there is an address.
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	options := []remote.Option{
		remote.WithTransport(transport),
		remote.WithAuth(&authn.Basic{Username: c.User, Password: c.Password}),
	}
	sender, err := remote.NewPusher(options...)
	if err != nil {
		return nil, fmt.Errorf("cannot prepare the push: %w", err)
	}
	return &pusher{address: c.RegistryAddr, options: options, remote: sender}, nil
}

func (p *pusher) byDigest(ctx context.Context, repo string, img v1.Image) (string, error) {
	digest, err := img.Digest()
	if err != nil {
		return "", err
	}
	ref, err := name.NewDigest(p.address + "/" + repo + "@" + digest.String())
	if err != nil {
		return "", err
	}
	return host + "/" + repo + "@" + digest.String(), p.write(ctx, ref, img)
}

func (p *pusher) byTag(ctx context.Context, repo, tag string, img v1.Image) (string, error) {
	ref, err := name.NewTag(p.address + "/" + repo + ":" + tag)
	if err != nil {
		return "", err
	}
	return host + "/" + repo + ":" + tag, p.write(ctx, ref, img)
}

func (p *pusher) write(ctx context.Context, ref name.Reference, img v1.Image) error {
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	options := append([]remote.Option{remote.WithContext(ctx)}, p.options...)
	if there, err := remote.Head(ref, options...); err == nil && there.Digest == digest {
		return nil
	}
	if err := p.remote.Push(ctx, ref, img); err != nil {
		return fmt.Errorf("cannot push %s: %w", ref, err)
	}
	return nil
}
