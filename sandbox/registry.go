package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/images/operators"
	"github.com/hypershift-on-azure/hypershift/images/registry"
	"github.com/hypershift-on-azure/hypershift/parts/build"
	"github.com/hypershift-on-azure/hypershift/payload"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

// Names under which clients ask for the images; the edge leads quay.io to the registry.
const (
	registryHost = "quay.io"
	payloadPath  = "openshift-release-dev"
	operatorPath = "hypershift"
	imageArch    = "amd64"
)

// ownRelease is the release that every sandbox has.
const ownRelease = "4.21.0"

// newestCatalogs is the version of the catalogs of all later releases.
const newestCatalogs = "4.22"

// ReleaseImage is the reference of the release that every sandbox has.
const ReleaseImage = registryHost + "/" + payloadPath + "/ocp-release:" + ownRelease + "-x86_64"

// published is what the registry was filled with.
type published struct {
	Payload     *payload.Published
	ExternalDNS string
}

// place is where the payload of a release goes.
func place(release string) payload.Place {
	return payload.Place{Write: names.RegistryAddr + "/" + payloadPath, Read: registryHost + "/" + payloadPath,
		Components: "ocp-v4.0-art-dev", Release: "ocp-release", Tag: release + "-x86_64"}
}

// buildRelease builds what the images are made of.
func buildRelease(ctx context.Context, cache string, p *progress) error {
	const step = "parts of the release"
	return p.run(step, func() error {
		if _, err := build.Host().Build(ctx, cache, nil, p.building(step)); err != nil {
			return err
		}
		_, err := build.Host().ImagePackages(ctx, cache, p.building(step))
		return err
	})
}

// fillRegistry publishes the release payload and the operators.
func fillRegistry(ctx context.Context, c cluster.Config, o Options, p *progress) (published, error) {
	var out published
	if err := buildRelease(ctx, o.Cache, p); err != nil {
		return out, err
	}
	if err := supervise.WaitReady(ctx, c.Dir, []string{cluster.Registry}, nil); err != nil {
		return out, err
	}
	f, err := newFilling(c, o)
	if err != nil {
		return out, err
	}
	err = p.run("images", func() (err error) {
		if out.Payload, err = f.payload(ctx, ownRelease); err != nil {
			return err
		}
		out.ExternalDNS, err = f.operators(ctx)
		return err
	})
	return out, err
}

// filling is what images are made of, and the registry that they go to.
type filling struct {
	programs       string // directory of this project's programs
	parts          string // directory of built parts
	cache, version string
	client         *registry.Client
	store          *images.Store
	event          func(build.Event)
}

// newFilling writes to the registry directly, at its address.
func newFilling(c cluster.Config, o Options) (*filling, error) {
	user, password, err := c.RegistryCredentials()
	if err != nil {
		return nil, err
	}
	client, err := registry.New(registry.Options{CAFile: c.CA(), User: user, Password: password, Direct: true})
	if err != nil {
		return nil, err
	}
	return &filling{programs: filepath.Dir(c.Self), parts: build.Host().Dir(o.Cache), cache: o.Cache, version: o.Version,
		client: client, store: &images.Store{Dir: filepath.Join(o.Cache, "images")}}, nil
}

// payload builds and publishes a release.
func (f *filling) payload(ctx context.Context, release string) (*payload.Published, error) {
	versions, err := payload.Of(release)
	if err != nil {
		return nil, err
	}
	return f.publish(ctx, versions, false, place(release))
}

func (f *filling) publish(ctx context.Context, versions *payload.Versions, twin bool, at payload.Place) (*payload.Published, error) {
	made, err := payload.Build(ctx, payload.Config{Versions: versions, Twin: twin, Archs: []string{imageArch}, OwnVersion: f.version,
		OwnPrograms: f.programs, Cache: f.cache, Store: f.store, Event: f.event})
	if err != nil {
		return nil, err
	}
	return made.Publish(ctx, f.client, f.store, at, nil)
}

// twin builds and publishes a twin of an OpenShift payload, with the catalogs of operators that go with its version.
func (f *filling) twin(ctx context.Context, release string) (*payload.Published, error) {
	versions, err := payload.TwinOf(release)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(f.programs, "twin")); err != nil {
		return nil, fmt.Errorf("the checkers of a twin are not beside this program: build them with: make build: %w", err)
	}
	at := place(release)
	at.Tag = release + "-twin-x86_64"
	out, err := f.publish(ctx, versions, true, at)
	if err != nil {
		return nil, err
	}
	debian, err := build.Host().ImagePackages(ctx, f.cache, f.event)
	if err != nil {
		return nil, err
	}
	catalogs, err := payload.Catalogs(f.programs, debian, release)
	if err != nil {
		return nil, err
	}
	minor := release[:strings.LastIndex(release, ".")]
	if strings.HasPrefix(minor, "5.") {
		minor = newestCatalogs
	}
	return out, f.push(ctx, catalogs, payloadPath, func(images.Spec) string { return "v" + minor })
}

// push makes images and pushes them, below a path, each under a tag.
func (f *filling) push(ctx context.Context, specs []images.Spec, path string, tag func(images.Spec) string) error {
	var refs []name.Reference
	var list []images.Artifact
	for _, spec := range specs {
		ref, err := name.NewTag(names.RegistryAddr + "/" + path + "/" + spec.Name + ":" + tag(spec))
		if err != nil {
			return err
		}
		made, err := f.store.Artifact(spec.Name, []string{imageArch}, func(string) (images.Spec, error) { return spec, nil })
		if err != nil {
			return err
		}
		refs, list = append(refs, ref), append(list, made)
	}
	return f.client.PushAll(ctx, refs, list, nil)
}

// operators pushes the images that `install` names, and returns the reference of ExternalDNS.
func (f *filling) operators(ctx context.Context) (string, error) {
	specs := []images.Spec{operators.OperatorSpec(f.version, f.programs), operators.ExternalDNSSpec(f.parts)}
	if err := f.push(ctx, specs, operatorPath, func(s images.Spec) string { return s.Version }); err != nil {
		return "", err
	}
	return registryHost + "/" + operatorPath + "/" + operators.ExternalDNS + ":" + build.ExternalDNSVersion, nil
}

// Payloads are the releases that PublishPayload can publish.
func Payloads() []string { return payload.BuiltIn() }

// PublishPayload builds a release that comes with this program, publishes it in the registry of a sandbox that is up, and returns its
// reference. Building another Kubernetes takes minutes, once.
func PublishPayload(ctx context.Context, o Options, release string) (string, error) {
	if !slices.Contains(Payloads(), release) {
		return "", fmt.Errorf("there is no release %s: choose one of %s", release, strings.Join(Payloads(), ", "))
	}
	return publishRelease(ctx, o, "release "+release, func(f *filling) (*payload.Published, error) { return f.payload(ctx, release) })
}

// TwinMinors are the minor versions of OpenShift that PublishTwin can publish a twin of.
func TwinMinors() []string { return payload.TwinMinors() }

// PublishTwin is PublishPayload of a twin of an OpenShift payload.
func PublishTwin(ctx context.Context, o Options, release string) (string, error) {
	if _, err := payload.TwinOf(release); err != nil {
		return "", err
	}
	return publishRelease(ctx, o, "twin of "+release, func(f *filling) (*payload.Published, error) { return f.twin(ctx, release) })
}

func publishRelease(ctx context.Context, o Options, step string, publish func(*filling) (*payload.Published, error)) (string, error) {
	c, err := config(o.Dir)
	if err != nil {
		return "", err
	}
	state, err := supervise.Query(ctx, c.Dir)
	if err != nil && !errors.Is(err, supervise.ErrDown) {
		return "", err
	}
	if err != nil || state.Mode != modeFull {
		return "", fmt.Errorf("no sandbox with a registry is up in %s: start one with: hypershift sandbox up", c.Dir)
	}
	if o.Cache == "" {
		o.Cache = build.DefaultCache()
	}
	f, err := newFilling(c, o)
	if err != nil {
		return "", err
	}
	p := newProgress(o.Step)
	f.event = p.building(step)
	var out *payload.Published
	err = p.run(step, func() (err error) {
		out, err = publish(f)
		return err
	})
	if err != nil {
		return "", err
	}
	return out.ReleaseImage, nil
}
