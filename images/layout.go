package images

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// nameAnnotation names an image in the index of a layout.
const nameAnnotation = "org.opencontainers.image.ref.name"

// WriteLayout makes an OCI layout of the artifacts in dir, which must be empty or not exist: what is there is not overwritten.
func WriteLayout(dir string, artifacts []Artifact) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty: name a directory that is, or that does not exist", dir)
	}
	var index v1.ImageIndex = empty.Index
	for _, a := range artifacts {
		add, ok := a.Image.(mutate.Appendable)
		if !ok {
			return fmt.Errorf("%s is neither an image nor an index", a.Name)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: add,
			Descriptor: v1.Descriptor{Annotations: map[string]string{nameAnnotation: a.Name}}})
		for _, attached := range a.Attached {
			index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: attached})
		}
	}
	if _, err := layout.Write(dir, index); err != nil {
		return fmt.Errorf("cannot write the OCI layout %s: %w", dir, err)
	}
	return nil
}

// IsLayout tells whether a path is the directory of an OCI layout.
func IsLayout(path string) bool {
	_, err := os.Stat(filepath.Join(path, "oci-layout"))
	return err == nil
}

// ReadLayout reads the artifacts of an OCI layout, in its order; each has what is attached to its images.
func ReadLayout(dir string) ([]Artifact, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("%s is no OCI layout: %w", dir, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("%s is no OCI layout: %w", dir, err)
	}
	var artifacts []Artifact
	attached := map[v1.Hash][]v1.Image{} // by the digest of the subject
	for _, desc := range manifest.Manifests {
		name := desc.Annotations[nameAnnotation]
		if name == "" {
			img, subject, err := attachmentOf(index, desc)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", dir, err)
			}
			attached[subject] = append(attached[subject], img)
			continue
		}
		var image remote.Taggable
		if desc.MediaType.IsIndex() {
			image, err = index.ImageIndex(desc.Digest)
		} else {
			image, err = index.Image(desc.Digest)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", dir, name, err)
		}
		artifacts = append(artifacts, Artifact{Name: name, Image: image})
	}
	for i := range artifacts {
		digests, err := artifacts[i].Digests()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		for _, digest := range digests {
			artifacts[i].Attached = append(artifacts[i].Attached, attached[digest]...)
		}
	}
	return artifacts, nil
}

// attachmentOf is an entry of a layout without a name: it is about one of the images.
func attachmentOf(index v1.ImageIndex, desc v1.Descriptor) (v1.Image, v1.Hash, error) {
	img, err := index.Image(desc.Digest)
	if err != nil {
		return nil, v1.Hash{}, err
	}
	manifest, err := img.Manifest()
	if err != nil {
		return nil, v1.Hash{}, err
	}
	if manifest.Subject == nil {
		return nil, v1.Hash{}, fmt.Errorf("image %s has no name", desc.Digest)
	}
	return img, manifest.Subject.Digest, nil
}

// Digests are the artifact's own and those of its images.
func (a Artifact) Digests() ([]v1.Hash, error) {
	own, err := a.Describe()
	if err != nil {
		return nil, err
	}
	digests := []v1.Hash{own.Digest}
	if own.MediaType.IsIndex() {
		raw, err := a.Image.RawManifest()
		if err != nil {
			return nil, err
		}
		var index v1.IndexManifest
		if err := json.Unmarshal(raw, &index); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Name, err)
		}
		for _, child := range index.Manifests {
			digests = append(digests, child.Digest)
		}
	}
	return digests, nil
}
