package payload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"golang.org/x/sync/errgroup"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/images/registry"
)

// Finding is one thing that is wrong with a payload.
type Finding struct {
	Key     string `json:"key,omitempty"` // of the component; empty for the payload itself
	Problem string `json:"problem"`
}

func (f Finding) String() string {
	if f.Key == "" {
		return f.Problem
	}
	return f.Key + ": " + f.Problem
}

// Verify judges a payload in a registry: every image that it names is there, by digest, for each of its architectures, with all that
// it is made of; keys that are required have an image; and machines of every architecture have an image to boot from. Nothing but
// manifests and configurations is read. The error is for a release image that cannot be read at all; findings are sorted by key.
func Verify(ctx context.Context, client *registry.Client, ref name.Reference, required func(*Facts) []string) (*Facts, []Finding, error) {
	facts, _, err := FactsOf(ctx, client, ref)
	if err != nil {
		return nil, nil, err
	}
	findings := facts.findings(required(facts))
	keys := slices.Sorted(maps.Keys(facts.Images))
	perKey := make([][]Finding, len(keys))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i, key := range keys {
		g.Go(func() error {
			for _, problem := range componentProblems(ctx, client, facts.Images[key], facts.Archs) {
				perKey[i] = append(perKey[i], Finding{Key: key, Problem: problem})
			}
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	return facts, append(findings, slices.Concat(perKey...)...), nil
}

// findings are what the release image's own words lack.
func (f *Facts) findings(required []string) []Finding {
	var found []Finding
	for _, key := range required {
		if f.Images[key] == "" {
			found = append(found, Finding{Key: key, Problem: "the payload names no image for it, and a cluster needs one"})
		}
	}
	if f.Kubernetes == "" {
		found = append(found, Finding{Problem: "the payload does not say which Kubernetes it has (annotation " + versionsAnnotation + " of " + kubernetesKey + ")"})
	}
	machines, err := f.machineImages()
	if err != nil {
		return append(found, Finding{Problem: err.Error()})
	}
	for _, arch := range f.Archs {
		if _, known := machineNames[arch]; known && machines[arch] == 0 {
			found = append(found, Finding{Problem: fmt.Sprintf("the payload names no Marketplace image for machines of %s", arch)})
		}
	}
	return found
}

// componentProblems are what is wrong with one image.
func componentProblems(ctx context.Context, client *registry.Client, spec string, archs []string) []string {
	ref, err := name.NewDigest(spec)
	if err != nil {
		return []string{fmt.Sprintf("%q does not name an image by digest, so that it may become another", spec)}
	}
	component, err := componentOf(ctx, client, ref.String())
	if err != nil {
		return []string{err.Error()}
	}
	byArch, err := imagesByArch(component)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", spec, err)}
	}
	var problems []string
	for _, arch := range archs {
		img, ok := byArch[arch]
		if !ok {
			problems = append(problems, fmt.Sprintf("%s has no image for %s, and the payload is for it; it has %s", spec, arch, strings.Join(slices.Sorted(maps.Keys(byArch)), ", ")))
			continue
		}
		if err := checkImage(img, arch); err != nil {
			problems = append(problems, fmt.Sprintf("%s for %s: %v", spec, arch, err))
		}
	}
	return problems
}

// alone opens an image that is there.
func alone(image v1.Image) func() (v1.Image, error) {
	return func() (v1.Image, error) { return image, nil }
}

// imagesByArch are the images of an index, or the one that is alone.
func imagesByArch(a images.Artifact) (map[string]func() (v1.Image, error), error) {
	switch image := a.Image.(type) {
	case v1.Image:
		config, err := image.ConfigFile()
		if err != nil {
			return nil, err
		}
		return map[string]func() (v1.Image, error){config.Architecture: alone(image)}, nil
	case v1.ImageIndex:
		manifest, err := image.IndexManifest()
		if err != nil {
			return nil, err
		}
		found := map[string]func() (v1.Image, error){}
		for _, child := range manifest.Manifests {
			if child.Platform != nil && child.Platform.OS == images.OS {
				found[child.Platform.Architecture] = func() (v1.Image, error) { return image.Image(child.Digest) }
			}
		}
		return found, nil
	}
	return nil, errors.New("it is neither an image nor an index")
}

// checkImage reads the manifest and the configuration, and asks for every layer.
func checkImage(open func() (v1.Image, error), arch string) error {
	img, err := open()
	if err != nil {
		return err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return fmt.Errorf("its configuration cannot be read: %w", err)
	}
	if config.OS != images.OS || config.Architecture != arch {
		return fmt.Errorf("it is an image for %s/%s", config.OS, config.Architecture)
	}
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	for _, layer := range layers {
		there, err := partial.Exists(layer)
		if err == nil && there {
			continue
		}
		digest, digestErr := layer.Digest()
		return fmt.Errorf("its layer %s is not there: %w", digest, errors.Join(err, digestErr))
	}
	return nil
}

// FactsOf reads the release image of a registry.
func FactsOf(ctx context.Context, client *registry.Client, ref name.Reference) (*Facts, images.Artifact, error) {
	release, err := client.Artifact(ctx, ref)
	if err != nil {
		return nil, release, err
	}
	facts, err := ReadFacts(release)
	if err != nil {
		return nil, release, fmt.Errorf("%s: %w", ref, err)
	}
	return facts, release, nil
}

// FactsIn reads the release image of a layout.
func FactsIn(dir string) (*Facts, images.Artifact, error) {
	list, err := images.ReadLayout(dir)
	if err != nil {
		return nil, images.Artifact{}, err
	}
	if len(list) == 0 {
		return nil, images.Artifact{}, fmt.Errorf("%s has no payload: it is empty", dir)
	}
	facts, err := ReadFacts(list[0])
	if err != nil {
		return nil, list[0], fmt.Errorf("%s has no payload: %w", dir, err)
	}
	return facts, list[0], nil
}

// Size is what the component images take in a registry, in bytes, as their manifests say: a layer that several have counts once. The
// payload is that of a layout's directory, or of a registry.
func (f *Facts) Size(ctx context.Context, client *registry.Client, from string) (int64, error) {
	local := map[string]images.Artifact{}
	if images.IsLayout(from) {
		list, err := images.ReadLayout(from)
		if err != nil {
			return 0, err
		}
		for _, a := range list {
			local[a.Name] = a
		}
	}
	sizes := map[v1.Hash]int64{}
	for _, key := range slices.Sorted(maps.Keys(f.Images)) {
		component, ok := local[key]
		if !ok {
			var err error
			if component, err = componentOf(ctx, client, f.Images[key]); err != nil {
				return 0, fmt.Errorf("image for %s: %w", key, err)
			}
		}
		byArch, err := imagesByArch(component)
		if err != nil {
			return 0, fmt.Errorf("image for %s: %w", key, err)
		}
		for _, open := range byArch {
			if err := addLayers(sizes, open); err != nil {
				return 0, fmt.Errorf("image for %s: %w", key, err)
			}
		}
	}
	var total int64
	for _, size := range sizes {
		total += size
	}
	return total, nil
}

// componentOf reads a component's manifest without what is attached to it.
func componentOf(ctx context.Context, client *registry.Client, spec string) (images.Artifact, error) {
	ref, err := name.ParseReference(spec)
	if err != nil {
		return images.Artifact{}, err
	}
	desc, err := client.Get(ctx, ref)
	if err != nil {
		return images.Artifact{}, err
	}
	image, err := registry.Image(desc)
	return images.Artifact{Name: spec, Image: image}, err
}

func addLayers(sizes map[v1.Hash]int64, open func() (v1.Image, error)) error {
	img, err := open()
	if err != nil {
		return err
	}
	manifest, err := img.Manifest()
	if err != nil {
		return err
	}
	for _, layer := range append(manifest.Layers, manifest.Config) {
		sizes[layer.Digest] = layer.Size
	}
	return nil
}
