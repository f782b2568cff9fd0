package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

const versionsAnnotation = "io.openshift.build.versions"

// imageStream is the part of an ImageStream this package reads.
type imageStream struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Tags []struct {
			Name        string            `json:"name"`
			Annotations map[string]string `json:"annotations"`
			From        *struct {
				Name string `json:"name"`
			} `json:"from"`
		} `json:"tags"`
	} `json:"spec"`
}

// parseReferences reads `release-manifests/image-references`.
func parseReferences(data []byte) (*Release, error) {
	var stream imageStream
	if err := json.Unmarshal(data, &stream); err != nil {
		return nil, fmt.Errorf("image-references is not JSON: %w", err)
	}
	if stream.Kind != "ImageStream" {
		return nil, fmt.Errorf("image-references has kind %q, want ImageStream", stream.Kind)
	}
	if stream.Metadata.Name == "" {
		return nil, errors.New("image-references has no metadata.name, so the version is unknown")
	}
	release := &Release{Version: stream.Metadata.Name, Images: map[string]string{}, ComponentVersions: map[string]string{}}
	for _, tag := range stream.Spec.Tags {
		if tag.Name == "" || tag.From == nil || tag.From.Name == "" {
			continue
		}
		release.Images[tag.Name] = tag.From.Name
		for component, version := range parseVersions(tag.Annotations[versionsAnnotation]) {
			// The tag that builds Kubernetes is the authority on its version; others may vendor another one.
			if _, seen := release.ComponentVersions[component]; !seen || (component == "kubernetes" && tag.Name == "hyperkube") {
				release.ComponentVersions[component] = version
			}
		}
	}
	if len(release.Images) == 0 {
		return nil, errors.New("image-references names no images")
	}
	release.KubernetesVersion = release.ComponentVersions["kubernetes"]
	return release, nil
}

// parseVersions reads "name=1.2.3,other=4.5.6"; malformed entries are skipped because they are informative only.
func parseVersions(annotation string) map[string]string {
	versions := map[string]string{}
	for _, entry := range strings.Split(annotation, ",") {
		name, version, ok := strings.Cut(strings.TrimSpace(entry), "=")
		if ok && name != "" && version != "" {
			versions[name] = strings.TrimPrefix(version, "v")
		}
	}
	return versions
}

// parseBootImages reads the ConfigMap with CoreOS stream metadata into the release. Payloads from 5.0 on may carry several streams.
func parseBootImages(data []byte, release *Release) error {
	var configMap struct {
		Data struct {
			Stream  string `json:"stream"`
			Streams string `json:"streams"`
		} `json:"data"`
	}
	if err := yaml.Unmarshal(data, &configMap); err != nil {
		return fmt.Errorf("coreos-bootimages is not a ConfigMap: %w", err)
	}
	if text := configMap.Data.Stream; text != "" {
		release.StreamMetadata = &StreamMetadata{}
		if err := json.Unmarshal([]byte(text), release.StreamMetadata); err != nil {
			return fmt.Errorf("coreos-bootimages: data.stream is not CoreOS stream metadata: %w", err)
		}
	}
	if text := configMap.Data.Streams; text != "" {
		if err := json.Unmarshal([]byte(text), &release.Streams); err != nil {
			return fmt.Errorf("coreos-bootimages: data.streams is not a map of CoreOS stream metadata: %w", err)
		}
	}
	return nil
}
