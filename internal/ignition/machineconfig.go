package ignition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_4/types"
	"github.com/coreos/ignition/v2/config/v3_5"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Kinds of configuration that a node pool accepts.
const (
	KindMachineConfig          = "MachineConfig"
	KindKubeletConfig          = "KubeletConfig"
	KindContainerRuntimeConfig = "ContainerRuntimeConfig"
	machineConfigGroup         = "machineconfiguration.openshift.io"
	roleLabel                  = machineConfigGroup + "/role"
	builtinPoolLabel           = machineConfigGroup + "/mco-built-in"
)

// mirrorKinds are accepted; policies of signatures are left to payloads that configure their nodes themselves.
var mirrorKinds = map[string]string{
	kindSourcePolicy:  "operator.openshift.io",
	kindDigestMirrors: "config.openshift.io",
	kindImagePolicy:   "config.openshift.io",
}

// Manifest is one configuration document.
type Manifest map[string]any

func (m Manifest) kind() string { kind, _ := m["kind"].(string); return kind }

func (m Manifest) group() string {
	version, _ := m["apiVersion"].(string)
	group, _, _ := strings.Cut(version, "/")
	return group
}

// ParseManifests reads YAML or JSON documents.
func ParseManifests(text string) ([]Manifest, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	var manifests []Manifest
	for {
		var manifest Manifest
		err := decoder.Decode(&manifest)
		if errors.Is(err, io.EOF) {
			return manifests, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read configuration document %d: %w", len(manifests)+1, err)
		}
		if len(manifest) > 0 {
			manifests = append(manifests, manifest)
		}
	}
}

// Normalize checks a user's configuration documents and returns each as text in the one form that is hashed: machine configs
// belong to the role worker, kubelet and runtime configs to the built-in pools.
func Normalize(text string) ([]string, error) {
	manifests, err := ParseManifests(text)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, manifest := range manifests {
		if err := force(manifest); err != nil {
			return nil, err
		}
		encoded, err := json.Marshal(manifest)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", manifest.kind(), err)
		}
		out = append(out, string(encoded))
	}
	return out, nil
}

func force(manifest Manifest) error {
	kind, group := manifest.kind(), manifest.group()
	switch {
	case kind == KindMachineConfig && group == machineConfigGroup:
		object(object(manifest, "metadata"), "labels")[roleLabel] = "worker"
		return checkIgnition(manifest)
	case (kind == KindKubeletConfig || kind == KindContainerRuntimeConfig) && group == machineConfigGroup:
		object(manifest, "spec")["machineConfigPoolSelector"] = map[string]any{"matchLabels": map[string]any{builtinPoolLabel: ""}}
		return nil
	case mirrorKinds[kind] != "" && mirrorKinds[kind] == group:
		if kind == kindImagePolicy { // the version of before has the same members
			manifest["apiVersion"] = group + "/v1"
		}
		return nil
	}
	return fmt.Errorf("unsupported config type %s %s: a node pool takes MachineConfig, KubeletConfig, ContainerRuntimeConfig, ImageContentSourcePolicy, ImageDigestMirrorSet and ClusterImagePolicy",
		manifest["apiVersion"], kind)
}

// object returns the map under key and makes it when it is missing.
func object(parent map[string]any, key string) map[string]any {
	child, ok := parent[key].(map[string]any)
	if !ok {
		child = map[string]any{}
		parent[key] = child
	}
	return child
}

// checkIgnition refuses what is no Ignition configuration of any version that a payload's own programs read.
func checkIgnition(manifest Manifest) error {
	name, encoded, err := rawIgnition(manifest)
	if err != nil || encoded == nil {
		return err
	}
	if _, report, err := v3_5.ParseCompatibleVersion(encoded); err != nil {
		return fmt.Errorf("spec.config of MachineConfig %q is no valid Ignition configuration up to version 3.5: %w: %s", name, err, report.String())
	}
	return nil
}

// ignitionOf parses spec.config of a MachineConfig, as machines of plain payloads understand it; an absent one is an empty configuration.
func ignitionOf(manifest Manifest) (types.Config, error) {
	name, encoded, err := rawIgnition(manifest)
	if err != nil || encoded == nil {
		return types.Config{}, err
	}
	config, report, err := v3_4.ParseCompatibleVersion(encoded)
	if err != nil {
		return types.Config{}, fmt.Errorf("spec.config of MachineConfig %q is no valid Ignition configuration up to version 3.4: %w: %s", name, err, report.String())
	}
	return config, nil
}

// rawIgnition is spec.config of a MachineConfig as JSON; nil where there is none.
func rawIgnition(manifest Manifest) (name string, encoded []byte, err error) {
	name, _ = object(manifest, "metadata")["name"].(string)
	raw, present := object(manifest, "spec")["config"]
	if !present {
		return name, nil, nil
	}
	if encoded, err = json.Marshal(raw); err != nil {
		return name, nil, fmt.Errorf("encode spec.config of MachineConfig %q: %w", name, err)
	}
	return name, encoded, nil
}

// userConfig is what the documents of a node pool ask for, merged in order of their names.
type userConfig struct {
	ignition types.Config
	// version of the Ignition specification that the newest of them needs.
	version string
	kubelet map[string]any
	mirrors []release.Mirror
}

func mergeUserConfig(raw string) (userConfig, error) {
	manifests, err := ParseManifests(raw)
	if err != nil {
		return userConfig{}, err
	}
	slices.SortStableFunc(manifests, func(a, b Manifest) int {
		left, _ := object(a, "metadata")["name"].(string)
		right, _ := object(b, "metadata")["name"].(string)
		return strings.Compare(left, right)
	})
	merged := userConfig{kubelet: map[string]any{}, version: specVersion}
	for _, manifest := range manifests {
		switch manifest.kind() {
		case KindMachineConfig:
			config, err := ignitionOf(manifest)
			if err != nil {
				return userConfig{}, err
			}
			merged.ignition = v3_4.Merge(merged.ignition, config)
			merged.version = max(merged.version, versionOf(manifest))
		case KindKubeletConfig:
			mergeMaps(merged.kubelet, kubeletOverrides(object(manifest, "spec")))
		}
		mirrors, err := mirrorsOf(manifest)
		if err != nil {
			return userConfig{}, err
		}
		merged.mirrors = append(merged.mirrors, mirrors...)
	}
	return merged, nil
}

// versionOf is the version of the Ignition specification that a MachineConfig is written in.
func versionOf(manifest Manifest) string {
	version, _ := object(object(object(manifest, "spec"), "config"), "ignition")["version"].(string)
	return version
}

// mergeMaps writes overlay into base, object by object; lists are replaced.
func mergeMaps(base, overlay map[string]any) {
	for key, value := range overlay {
		nested, isMap := value.(map[string]any)
		if current, ok := base[key].(map[string]any); ok && isMap {
			merged := maps.Clone(current)
			mergeMaps(merged, nested)
			base[key] = merged
			continue
		}
		base[key] = value
	}
}

// encode writes an Ignition configuration in a version of the specification, and checks it as the node will. Members that say nothing are
// left out: the version may not have them.
func encode(config types.Config, version string) ([]byte, error) {
	config.Ignition.Version = version
	encoded, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encode the node configuration: %w", err)
	}
	var document map[string]any
	if err := json.Unmarshal(encoded, &document); err != nil {
		return nil, fmt.Errorf("encode the node configuration: %w", err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(pruned(document)); err != nil {
		return nil, fmt.Errorf("encode the node configuration: %w", err)
	}
	if err := Check(out.Bytes()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// pruned is the value without members that are empty objects; nil when nothing is left.
func pruned(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			if v[key] = pruned(member); v[key] == nil {
				delete(v, key)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			if member := pruned(v[i]); member != nil {
				v[i] = member
			}
		}
	}
	return value
}

// Check tells whether a node would accept the configuration.
func Check(config []byte) error {
	_, report, err := v3_4.ParseCompatibleVersion(config)
	if err != nil {
		return fmt.Errorf("the node configuration is not valid Ignition: %w: %s", err, report.String())
	}
	return nil
}
