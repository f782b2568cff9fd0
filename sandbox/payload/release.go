package payload

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/sandbox/payload/build"
)

// ReleaseVersion is the OpenShift version whose Kubernetes the parts are.
const ReleaseVersion = "4.21.0"

// release is the payload image: the ImageStream of component images and the CoreOS stream metadata.
func (c Config) release(components map[string]string) (v1.Image, error) {
	references, err := imageReferences(components)
	if err != nil {
		return nil, err
	}
	stream, err := bootImages()
	if err != nil {
		return nil, err
	}
	layer, err := cachedLayer(c.CacheDir, []file{
		{Path: "release-manifests/image-references", Text: references, Mode: 0o644},
		{Path: "release-manifests/0000_50_installer_coreos-bootimages.yaml", Text: stream, Mode: 0o644},
	})
	if err != nil {
		return nil, fmt.Errorf("release payload: %w", err)
	}
	img, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	if err != nil {
		return nil, err
	}
	return configured(img, func(config *v1.ConfigFile) {
		config.Config.Labels = map[string]string{"io.openshift.release": ReleaseVersion}
	})
}

func imageReferences(components map[string]string) (string, error) {
	type object = map[string]any
	var tags []any
	for _, key := range slices.Sorted(maps.Keys(components)) {
		tag := object{"name": key, "from": object{"kind": "DockerImage", "name": components[key]}}
		if key == "hyperkube" {
			tag["annotations"] = object{
				"io.openshift.build.versions":              "kubernetes=" + build.KubernetesVersion[1:],
				"io.openshift.build.version-display-names": "kubernetes=Kubernetes",
			}
		}
		tags = append(tags, tag)
	}
	raw, err := json.MarshalIndent(object{
		"apiVersion": "image.openshift.io/v1", "kind": "ImageStream",
		"metadata": object{"name": ReleaseVersion, "annotations": object{"release.openshift.io/from-release": host + "/" + releaseRepo + ":" + ReleaseVersion + "-x86_64"}},
		"spec":     object{"lookupPolicy": object{"local": false}, "tags": tags},
	}, "", "  ")
	return string(raw), err
}

// bootImages says which marketplace image the embedded Azure's virtual machines boot.
func bootImages() (string, error) {
	type object = map[string]any
	generation := func(sku string) object {
		return object{"publisher": "azureopenshift", "offer": "aro4", "sku": sku, "version": "421.0.20260115"}
	}
	stream, err := json.MarshalIndent(object{
		"stream": "rhel-coreos-" + ReleaseVersion,
		"architectures": object{"x86_64": object{"rhel-coreos-extensions": object{"marketplace": object{"azure": object{
			"no-purchase-plan": object{"hyperVGen1": generation("aro_421"), "hyperVGen2": generation("421-v2")}}}}}},
	}, "", "  ")
	if err != nil {
		return "", err
	}
	raw, err := yaml.Marshal(object{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": object{"name": "coreos-bootimages", "namespace": "openshift-machine-config-operator"},
		"data":     object{"releaseVersion": ReleaseVersion, "stream": string(stream)},
	})
	return string(raw), err
}
