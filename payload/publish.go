package payload

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/images/registry"
)

// Place is where a payload goes.
type Place struct {
	// Write is the registry with its path, as it is written to.
	Write string
	// Read is how clients name the same; empty means as it is written to.
	Read string
	// Components and Release are the repositories below that path.
	Components, Release string
	// Tag of the release image.
	Tag string
}

// Repositories of a payload below the path of a registry, unless told otherwise.
const (
	ComponentRepository = "release-images"
	ReleaseRepository   = "release"
)

// At is the place below a registry's path where payloads go.
func At(path, version string) Place {
	return Place{Write: path, Components: ComponentRepository, Release: ReleaseRepository, Tag: version}
}

func (p Place) read() string {
	if p.Read != "" {
		return p.Read
	}
	return p.Write
}

// ReleaseImage is the reference of the payload, as clients name it.
func (p Place) ReleaseImage() string { return p.read() + "/" + p.Release + ":" + p.Tag }

// Published names what was published, as clients do.
type Published struct {
	ReleaseImage string            `json:"releaseImage"`
	Digest       string            `json:"digest"`     // of the release image
	Components   map[string]string `json:"components"` // key -> pull spec by digest
	// Signatures is where the release image's signatures lie, "" when this publication signed nothing.
	Signatures string `json:"signatures,omitempty"`
}

// Plan says what Publish would write, without writing it.
func (p *Payload) Plan(store *images.Store, place Place) (*Published, error) {
	planned, _, err := p.plan(store, place)
	return planned, err
}

// plan also gives the release image that names the components there.
func (p *Payload) plan(store *images.Store, place Place) (*Published, images.Artifact, error) {
	planned := &Published{ReleaseImage: place.ReleaseImage(), Components: map[string]string{}}
	for key, component := range p.Components {
		desc, err := component.Describe()
		if err != nil {
			return nil, images.Artifact{}, fmt.Errorf("image for %s: %w", key, err)
		}
		planned.Components[key] = place.read() + "/" + place.Components + "@" + desc.Digest.String()
	}
	release, err := p.release(store, planned.Components, planned.ReleaseImage)
	if err != nil {
		return nil, images.Artifact{}, err
	}
	desc, err := release.Describe()
	planned.Digest = desc.Digest.String()
	return planned, release, err
}

// Publish pushes what the registry lacks: components first, so that a release image never names what is not there.
func (p *Payload) Publish(ctx context.Context, client *registry.Client, store *images.Store, place Place, pushed func(key string)) (*Published, error) {
	planned, release, err := p.plan(store, place)
	if err != nil {
		return nil, err
	}
	components, err := name.NewRepository(place.Write + "/" + place.Components)
	if err != nil {
		return nil, fmt.Errorf("%s is no registry with a path: %w", place.Write, err)
	}
	tag, err := name.NewTag(place.Write + "/" + place.Release + ":" + place.Tag)
	if err != nil {
		return nil, fmt.Errorf("%s is no registry with a path: %w", place.Write, err)
	}
	var refs []name.Reference
	var list []images.Artifact
	keys := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(p.Components)) {
		desc, err := p.Components[key].Describe()
		if err != nil {
			return nil, err
		}
		ref := components.Digest(desc.Digest.String())
		refs, list, keys[ref.String()] = append(refs, ref), append(list, p.Components[key]), key
	}
	done := func(ref name.Reference) {
		if pushed != nil {
			pushed(keys[ref.String()])
		}
	}
	if err := client.PushAll(ctx, refs, list, done); err != nil {
		return nil, err
	}
	return planned, client.Push(ctx, tag, release)
}
