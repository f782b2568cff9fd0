package payload

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/images"
)

// Files of a release image.
const (
	referencesFile = "release-manifests/image-references"
	bootImagesFile = "release-manifests/0000_50_installer_coreos-bootimages.yaml"
)

const (
	versionsAnnotation = "io.openshift.build.versions"
	releaseLabel       = "io.openshift.release"
	kubernetesKey      = "hyperkube" // the key whose image says which Kubernetes it is
)

// release is the payload image: the ImageStream of component images and the stream metadata. components are pull specs by key, image
// the reference that the payload will have.
func (p *Payload) release(store *images.Store, components map[string]string, image string) (images.Artifact, error) {
	references, err := p.references(components, image)
	if err != nil {
		return images.Artifact{}, err
	}
	spec := images.Spec{Name: "release", Version: p.Version, Labels: map[string]string{releaseLabel: p.Version}, Layers: [][]images.File{{
		{Path: referencesFile, Text: references, Mode: 0o644}, {Path: bootImagesFile, Text: p.BootImages, Mode: 0o644}}}}
	if len(p.Files) > 0 {
		spec.Layers = slices.Insert(spec.Layers, 0, p.Files)
	}
	made, err := store.Artifact(p.Version, p.Archs, func(string) (images.Spec, error) { return spec, nil })
	made.Attached = nil // it has no programs
	return made, err
}

func (p *Payload) references(components map[string]string, image string) (string, error) {
	type object = map[string]any
	var tags []any
	for _, key := range slices.Sorted(maps.Keys(components)) {
		tag := object{"name": key, "from": object{"kind": "DockerImage", "name": components[key]}}
		if key == kubernetesKey {
			tag["annotations"] = object{
				versionsAnnotation:                         "kubernetes=" + p.Kubernetes,
				"io.openshift.build.version-display-names": "kubernetes=Kubernetes",
			}
		}
		tags = append(tags, tag)
	}
	raw, err := json.MarshalIndent(object{
		"apiVersion": "image.openshift.io/v1", "kind": "ImageStream",
		"metadata": object{"name": p.Version, "annotations": object{"release.openshift.io/from-release": image}},
		"spec":     object{"lookupPolicy": object{"local": false}, "tags": tags},
	}, "", "  ")
	return string(raw), err
}

// bootImages is the ConfigMap that names the machine images.
func (v *Versions) bootImages() (string, error) {
	stream, err := v.NodeImages.stream()
	if err != nil {
		return "", fmt.Errorf("machine images of release %s: %w", v.Release, err)
	}
	raw, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "coreos-bootimages", "namespace": "openshift-machine-config-operator"},
		"data":     map[string]any{"releaseVersion": v.Release, "stream": stream},
	})
	return string(raw), err
}
