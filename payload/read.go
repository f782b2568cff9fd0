package payload

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/images/registry"
)

// layoutHost is how the release image of a layout names its components: by digest alone, at a host that nobody can have (RFC 2606).
const layoutHost = "layout.invalid"

// WriteLayout makes an OCI layout of the payload in a directory that is empty or does not exist.
func (p *Payload) WriteLayout(store *images.Store, dir string) error {
	_, release, err := p.plan(store, At(layoutHost, p.Version))
	if err != nil {
		return err
	}
	list := []images.Artifact{release}
	for _, key := range slices.Sorted(maps.Keys(p.Components)) {
		list = append(list, p.Components[key])
	}
	return images.WriteLayout(dir, list)
}

// ReadLayout reads a payload from an OCI layout that WriteLayout made.
func ReadLayout(dir string) (*Payload, error) {
	facts, _, err := FactsIn(dir)
	if err != nil {
		return nil, err
	}
	list, err := images.ReadLayout(dir)
	if err != nil {
		return nil, err
	}
	p := facts.payload()
	for _, a := range list[1:] {
		p.Components[a.Name] = a
	}
	return p, facts.complete(dir, p)
}

// Read reads a payload from a registry; what its components hold is read when it is copied. accept refuses a payload by what its
// release image says: of one that has more than components and machine images only these would be read.
func Read(ctx context.Context, client *registry.Client, ref name.Reference, accept func(*Facts) error) (*Payload, error) {
	facts, _, err := FactsOf(ctx, client, ref)
	if err != nil {
		return nil, err
	}
	if err := accept(facts); err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	p := facts.payload()
	for _, key := range slices.Sorted(maps.Keys(facts.Images)) {
		at, err := name.ParseReference(facts.Images[key])
		if err != nil {
			return nil, fmt.Errorf("%s names for %s %q: %w", ref, key, facts.Images[key], err)
		}
		found, err := client.Artifact(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("image for %s: %w", key, err)
		}
		found.Name = key
		p.Components[key] = found
	}
	return p, nil
}

// Facts is what a release image says.
type Facts struct {
	Version    string
	Kubernetes string            // without a leading v; "" when it does not say
	Archs      []string          // the release image's, sorted
	Images     map[string]string // key -> pull spec
	BootImages string            // the ConfigMap with stream metadata, "" when there is none
}

func (f *Facts) payload() *Payload {
	return &Payload{Version: f.Version, Kubernetes: f.Kubernetes, Archs: f.Archs, BootImages: f.BootImages, Components: map[string]images.Artifact{}}
}

// complete refuses a layout whose images are not those that its release image names.
func (f *Facts) complete(dir string, p *Payload) error {
	for key, spec := range f.Images {
		_, digest, _ := strings.Cut(spec, "@")
		component, ok := p.Components[key]
		if !ok {
			return fmt.Errorf("%s lacks the image for %s", dir, key)
		}
		desc, err := component.Describe()
		if err != nil {
			return err
		}
		if desc.Digest.String() != digest {
			return fmt.Errorf("%s has for %s the image %s, and its release image names %s", dir, key, desc.Digest, digest)
		}
	}
	return nil
}

// ReadFacts reads a release image: of an index the first image, since all of them say the same.
func ReadFacts(release images.Artifact) (*Facts, error) {
	img, archs, err := firstImage(release)
	if err != nil {
		return nil, err
	}
	files, err := filesOf(img, referencesFile, bootImagesFile)
	if err != nil {
		return nil, fmt.Errorf("its files cannot be read: %w", err)
	}
	if files[referencesFile] == "" {
		return nil, fmt.Errorf("it is no release payload: it has no %s", referencesFile)
	}
	facts, err := parseReferences(files[referencesFile])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", referencesFile, err)
	}
	facts.Archs, facts.BootImages = archs, files[bootImagesFile]
	return facts, nil
}

func parseReferences(text string) (*Facts, error) {
	var stream struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct {
			Tags []struct {
				Name        string
				Annotations map[string]string
				From        struct{ Name string }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &stream); err != nil {
		return nil, err
	}
	if stream.Kind != "ImageStream" || stream.Metadata.Name == "" {
		return nil, fmt.Errorf("it is no ImageStream with the name of a version")
	}
	facts := &Facts{Version: stream.Metadata.Name, Images: map[string]string{}}
	for _, tag := range stream.Spec.Tags {
		if tag.Name == "" || tag.From.Name == "" {
			return nil, fmt.Errorf("tag %q names no image", tag.Name)
		}
		facts.Images[tag.Name] = tag.From.Name
		for _, entry := range strings.Split(tag.Annotations[versionsAnnotation], ",") {
			if version, ok := strings.CutPrefix(strings.TrimSpace(entry), "kubernetes="); ok && (facts.Kubernetes == "" || tag.Name == kubernetesKey) {
				facts.Kubernetes = version
			}
		}
	}
	return facts, nil
}

// machineImages are the Marketplace images by architecture that the ConfigMap names.
func (f *Facts) machineImages() (map[string]int, error) {
	var configMap struct{ Data struct{ Stream string } }
	if err := yaml.Unmarshal([]byte(f.BootImages), &configMap); err != nil {
		return nil, fmt.Errorf("%s: %w", bootImagesFile, err)
	}
	var stream struct {
		Architectures map[string]struct {
			Extensions struct {
				Marketplace struct {
					Azure struct {
						Plans map[string]NodeImage `json:"no-purchase-plan"`
					}
				}
			} `json:"rhel-coreos-extensions"`
		}
	}
	if err := json.Unmarshal([]byte(configMap.Data.Stream), &stream); err != nil {
		return nil, fmt.Errorf("%s: data.stream: %w", bootImagesFile, err)
	}
	found := map[string]int{}
	for arch, machine := range machineNames {
		found[arch] = len(stream.Architectures[machine].Extensions.Marketplace.Azure.Plans)
	}
	return found, nil
}

// firstImage is an image, or the first of an index, with the architectures that there are, sorted.
func firstImage(a images.Artifact) (v1.Image, []string, error) {
	switch image := a.Image.(type) {
	case v1.Image:
		config, err := image.ConfigFile()
		if err != nil {
			return nil, nil, err
		}
		return image, []string{config.Architecture}, nil
	case v1.ImageIndex:
		manifest, err := image.IndexManifest()
		if err != nil {
			return nil, nil, err
		}
		var first v1.Image
		var archs []string
		for _, child := range manifest.Manifests {
			if child.Platform == nil || child.Platform.OS != images.OS {
				continue
			}
			if first == nil {
				if first, err = image.Image(child.Digest); err != nil {
					return nil, nil, err
				}
			}
			archs = append(archs, child.Platform.Architecture)
		}
		if first == nil {
			return nil, nil, errors.New("its index has no image for Linux")
		}
		slices.Sort(archs)
		return first, slices.Compact(archs), nil
	}
	return nil, nil, fmt.Errorf("%s is neither an image nor an index", a.Name)
}

// checkArchs refuses an image that is not there for all architectures.
func checkArchs(a images.Artifact, archs []string) error {
	_, found, err := firstImage(a)
	if err != nil {
		return fmt.Errorf("image for %s: %w", a.Name, err)
	}
	for _, arch := range archs {
		if !slices.Contains(found, arch) {
			return fmt.Errorf("image for %s is for %s, and the payload is for %s too: name an image for all of them, or fewer architectures", a.Name, strings.Join(found, ", "), arch)
		}
	}
	return nil
}

// maxFileBytes is what a file of a release image may have; real ones are below 1 MiB.
const maxFileBytes = 4 << 20

// filesOf are the named files of an image.
func filesOf(img v1.Image, names ...string) (map[string]string, error) {
	flat := mutate.Extract(img)
	defer flat.Close()
	files := map[string]string{}
	for reader := tar.NewReader(flat); len(files) < len(names); {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		file := strings.TrimPrefix(header.Name, "./")
		if !slices.Contains(names, file) || header.Typeflag != tar.TypeReg {
			continue
		}
		if header.Size > maxFileBytes {
			return nil, fmt.Errorf("%s has %d bytes, more than %d", file, header.Size, maxFileBytes)
		}
		text, err := io.ReadAll(reader)
		if err != nil {
			return nil, err
		}
		files[file] = string(text)
	}
	return files, nil
}
