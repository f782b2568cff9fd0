package ignition

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// Hash is the 32-bit FNV-1a of the text as eight hex digits.
func Hash(text string) string {
	digest := fnv.New32a()
	digest.Write([]byte(text))
	return fmt.Sprintf("%08x", digest.Sum32())
}

// HashBytes hashes the printed list of the bytes, "[123 34 97]": the format published objects carry.
func HashBytes(content []byte) string { return Hash(fmt.Sprintf("%v", content)) }

// CloudConfigHash is that of the data of ConfigMap azure-cloud-config; empty where there is none.
func CloudConfigHash(data map[string]string) string {
	if len(data) == 0 {
		return ""
	}
	var text string
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text += key + "\x00" + data[key] + "\x00"
	}
	return Hash(text)
}

// ConfigurationHash is that of spec.configuration. An import mode that says nothing counts as none: older writers leave it out.
func ConfigurationHash(configuration *hyperv1.ClusterConfiguration) (string, error) {
	if configuration != nil && configuration.Image != nil {
		image := map[string]any{}
		if err := json.Unmarshal(configuration.Image.Raw, &image); err != nil {
			return "", fmt.Errorf("read spec.configuration.image: %w", err)
		}
		if mode, given := image["imageStreamImportMode"]; given && mode == "" {
			delete(image, "imageStreamImportMode")
			raw, err := json.Marshal(image)
			if err != nil {
				return "", fmt.Errorf("encode spec.configuration.image: %w", err)
			}
			configuration = configuration.DeepCopy()
			configuration.Image = &runtime.RawExtension{Raw: raw}
		}
	}
	encoded, err := json.Marshal(configuration)
	if err != nil {
		return "", fmt.Errorf("encode spec.configuration: %w", err)
	}
	return Hash(string(encoded)), nil
}
