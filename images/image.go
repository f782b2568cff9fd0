package images

import (
	"fmt"
	"maps"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// OS of every image.
const OS = "linux"

// Spec is what one image holds.
type Spec struct {
	Name       string // of the image, which labels and errors say
	Version    string // which the bill of materials says
	Layers     [][]File
	Entrypoint []string
	Cmd        []string // arguments of the entrypoint, where a container gives none
	User       string
	Labels     map[string]string
}

// Image makes the image for an architecture, amd64 or arm64, without storing it anywhere but in the store's layers.
func (s *Store) Image(spec Spec, arch string) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, files := range spec.Layers {
		layer, err := s.layer(files)
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", spec.Name, err)
		}
		if img, err = mutate.AppendLayers(img, layer); err != nil {
			return nil, fmt.Errorf("image %s: %w", spec.Name, err)
		}
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = OS, arch
	config.Config.Env = []string{"PATH=/bin:/usr/bin:/sbin:/usr/sbin"}
	config.Config.Entrypoint = spec.Entrypoint
	config.Config.Cmd = spec.Cmd
	config.Config.User = spec.User
	config.Config.Labels = map[string]string{}
	maps.Copy(config.Config.Labels, spec.Labels)
	return mutate.ConfigFile(img, config)
}

// Artifact is an image, or an index of images, with what is attached to it: bills of materials, whose subject is one of the images.
type Artifact struct {
	Name     string          // under which a layout keeps it, such as hypershift-operator:v1
	Image    remote.Taggable // a v1.Image or a v1.ImageIndex
	Attached []v1.Image
}

// Described is what has a digest, a size and a media type.
type Described interface {
	remote.Taggable
	partial.Describable
}

// Describe gives the descriptor of an image or index.
func (a Artifact) Describe() (v1.Descriptor, error) {
	described, ok := a.Image.(Described)
	if !ok {
		return v1.Descriptor{}, fmt.Errorf("%s is neither an image nor an index", a.Name)
	}
	desc, err := partial.Descriptor(described)
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("%s: %w", a.Name, err)
	}
	return *desc, nil
}

// Artifact makes the image for one architecture, or an index of it for several, with its bills of materials. spec is asked once for
// each, as the files differ.
func (s *Store) Artifact(name string, archs []string, spec func(arch string) (Spec, error)) (Artifact, error) {
	made := Artifact{Name: name}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var alone v1.Image
	for _, arch := range archs {
		of, err := spec(arch)
		if err != nil {
			return made, err
		}
		img, err := s.Image(of, arch)
		if err != nil {
			return made, err
		}
		if s.Bills {
			bill, err := attachedBill(of, arch, img)
			if err != nil {
				return made, err
			}
			made.Attached = append(made.Attached, bill)
		}
		alone = img
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: OS, Architecture: arch}}})
	}
	made.Image = index
	if len(archs) == 1 {
		made.Image = alone
	}
	return made, nil
}
