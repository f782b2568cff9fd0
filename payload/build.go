// Package payload makes, copies and judges release payloads of plain Kubernetes: component images made of built parts, and a release
// image laid out as OpenShift's is, which names them by digest.
package payload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	"golang.org/x/sync/errgroup"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/images/registry"
	"github.com/hypershift-on-azure/hypershift/parts/build"
)

// Payload is a release payload that is at hand: built, or read from a layout or a registry.
type Payload struct {
	Version    string   // of the release, such as 4.21.0
	Kubernetes string   // without a leading v
	Archs      []string // amd64, arm64
	BootImages string   // the ConfigMap with stream metadata
	// Files are those of the release image beside what every payload has, by their paths; only a twin has any.
	Files []images.File
	// Components are the images by key, each under its key.
	Components map[string]images.Artifact
}

// Config says what a payload is built of and for.
type Config struct {
	Versions *Versions
	// Twin makes a twin of an OpenShift payload, of Versions that TwinOf gave. OwnPrograms has its checker.
	Twin  bool
	Archs []string
	// OwnVersion and Source are the version and the root of this project's module, whose control-plane-operator the payload has by the
	// key hypershift. Without Source, OwnPrograms is a directory of its programs for this machine. With neither the payload lacks the
	// key, and the operator's image stands in.
	OwnVersion, Source, OwnPrograms string
	Cache                           string
	Store                           *images.Store
	// Registry reads the published images that Versions names; nil where it names none.
	Registry *registry.Client
	Event    func(build.Event) // may be nil; calls do not overlap
}

// inputs has everything built that images of an architecture are made of.
func (c Config) inputs(ctx context.Context, arch string) (in Inputs, err error) {
	target := build.Target{Kubernetes: c.Versions.Kubernetes, Arch: arch}
	if in.Parts, err = target.Build(ctx, c.Cache, programs, c.Event); err != nil {
		return in, err
	}
	if in.Debian, err = target.ImagePackages(ctx, c.Cache, c.Event); err != nil {
		return in, err
	}
	in.Own = c.OwnPrograms
	if c.Source != "" {
		in.Own, err = build.Own(ctx, c.Cache, c.Source, c.OwnVersion, arch, c.Event)
	}
	return in, err
}

// Build makes the payload; nothing is sent anywhere, and layers are in the store alone.
func Build(ctx context.Context, c Config) (*Payload, error) {
	inputs := map[string]Inputs{}
	for _, arch := range c.Archs {
		in, err := c.inputs(ctx, arch)
		if err != nil {
			return nil, fmt.Errorf("release %s for %s: %w", c.Versions.Release, arch, err)
		}
		inputs[arch] = in
	}
	return c.assemble(ctx, inputs)
}

// assemble makes the images of what is built.
func (c Config) assemble(ctx context.Context, inputs map[string]Inputs) (*Payload, error) {
	v := c.Versions
	p := &Payload{Version: v.Release, Kubernetes: v.Kubernetes[1:], Archs: c.Archs, Components: map[string]images.Artifact{}}
	var err error
	if p.BootImages, err = v.bootImages(); err != nil {
		return nil, err
	}
	specs := map[string][]images.Spec{} // by architecture, in one order
	for _, arch := range c.Archs {
		specsOf := inputs[arch].specs
		if c.Twin {
			specsOf = inputs[arch].twinSpecs
			if p.Files, err = inputs[arch].twinFiles(v.Release); err != nil {
				return nil, err
			}
		}
		if specs[arch], err = specsOf(v.Release, c.OwnVersion); err != nil {
			return nil, fmt.Errorf("release %s for %s: %w", v.Release, arch, err)
		}
	}
	made := make([]images.Artifact, len(specs[c.Archs[0]]))
	var g errgroup.Group
	g.SetLimit(4)
	for i, spec := range specs[c.Archs[0]] {
		if v.Images[spec.Name] != "" {
			continue
		}
		g.Go(func() (err error) {
			made[i], err = c.Store.Artifact(spec.Name, c.Archs, func(arch string) (images.Spec, error) { return specs[arch][i], ctx.Err() })
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, a := range made {
		if a.Name != "" {
			p.Components[a.Name] = a
		}
	}
	return p, c.given(ctx, p)
}

// given adds the published images.
func (c Config) given(ctx context.Context, p *Payload) error {
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(c.Versions.Images)) {
		ref, err := name.ParseReference(c.Versions.Images[key])
		if err != nil {
			return fmt.Errorf("image for %s: %w", key, err)
		}
		found, err := c.Registry.Artifact(ctx, ref)
		if err != nil {
			problems = append(problems, fmt.Errorf("image for %s: %w", key, err))
			continue
		}
		found.Name = key
		problems = append(problems, checkArchs(found, p.Archs))
		p.Components[key] = found
	}
	return errors.Join(problems...)
}
