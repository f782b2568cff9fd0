package compare

import (
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/config"
)

// unset are what the API reads where nothing is said, and its definitions do not.
var unset = map[string]map[string]string{
	"HostedCluster": {"platform.azure.topology": "Public", "secretEncryption.kms.azure.keyVaultType": "KeyVault"},
	"NodePool":      {"platform.azure.osDisk.persistence": "Persistent"},
}

// setDefaults completes a spec as the API server does that stores it, and as its readers do.
func setDefaults(kind string, spec map[string]any) error {
	schema, err := schemas[kind]()
	if err != nil {
		return err
	}
	complete(spec, schema)
	for path, value := range unset[kind] {
		setUnset(spec, strings.Split(path, "."), value)
	}
	return nil
}

// setUnset sets a member of an object that is there.
func setUnset(in map[string]any, path []string, value string) {
	for ; len(path) > 1; path = path[1:] {
		if in, _ = in[path[0]].(map[string]any); in == nil {
			return
		}
	}
	if was := in[path[0]]; was == nil || was == "" {
		in[path[0]] = value
	}
}

var schemas = map[string]func() (map[string]any, error){
	"HostedCluster": sync.OnceValues(func() (map[string]any, error) { return schemaOf("hostedclusters") }),
	"NodePool":      sync.OnceValues(func() (map[string]any, error) { return schemaOf("nodepools") }),
}

// schemaOf is the schema of a kind's spec.
func schemaOf(plural string) (map[string]any, error) {
	raw, err := config.CRDs.ReadFile("crd/hypershift/hypershift.openshift.io_" + plural + ".yaml")
	if err != nil {
		return nil, err
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct {
					OpenAPIV3Schema struct {
						Properties map[string]map[string]any
					} `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(raw, &definition); err != nil {
		return nil, err
	}
	for _, version := range definition.Spec.Versions {
		if spec := version.Schema.OpenAPIV3Schema.Properties["spec"]; version.Name == "v1beta1" && spec != nil {
			return spec, nil
		}
	}
	return nil, fmt.Errorf("the embedded definition of %s has no spec of v1beta1", plural)
}

// complete sets what a schema has as default, from the outside to the inside.
func complete(value any, schema map[string]any) {
	switch v := value.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for name, each := range properties {
			property, _ := each.(map[string]any)
			if byDefault, ok := property["default"]; ok && v[name] == nil {
				v[name] = runtime.DeepCopyJSONValue(byDefault)
			}
			complete(v[name], property)
		}
		if others, ok := schema["additionalProperties"].(map[string]any); ok {
			for _, member := range v {
				complete(member, others)
			}
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for _, item := range v {
			complete(item, items)
		}
	}
}
