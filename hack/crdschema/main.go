// Command crdschema completes the generated CustomResourceDefinitions with what Go types cannot declare without losing fields:
// the Spec schemas of the OpenShift configuration types, copied from their Go module, and the overlay beside this file. It also
// makes the variants of technology previews in config/techpreview: the same definitions with a second overlay, and the kinds that
// exist only there. Run it by hack/generate.sh.
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	folder    = "config/crd/hypershift"
	previews  = "config/techpreview"
	openshift = "github.com/openshift/api@v0.0.0-20251015095338-264e80a2b6e7"
)

//go:embed overlay.yaml
var overlay []byte

//go:embed techpreview.yaml
var techPreview []byte

// addition is an entry of an overlay.
type addition struct {
	Definitions []string `json:"definitions"`
	Path        string   `json:"path"`
	Add         schema   `json:"add"`
}

// schema is an OpenAPI schema, or any object inside of one.
type schema = map[string]any

// borrowed lists the members whose schema is a part of a definition of OpenShift's.
var borrowed = []struct {
	member, file, from string
	preserveUnknown    bool
}{
	{member: "configuration.apiServer", file: "config/v1/zz_generated.crd-manifests/0000_10_config-operator_01_apiservers-Default.crd.yaml"},
	{member: "configuration.authentication", file: "config/v1/zz_generated.crd-manifests/0000_10_config-operator_01_authentications.crd.yaml"},
	{member: "configuration.featureGate", file: "config/v1/zz_generated.crd-manifests/0000_10_config-operator_01_featuregates.crd.yaml"},
	{member: "configuration.image", file: "config/v1/zz_generated.crd-manifests/0000_10_config-operator_01_images-Default.crd.yaml"},
	{member: "configuration.ingress", file: "config/v1/zz_generated.crd-manifests/0000_10_config-operator_01_ingresses.crd.yaml"},
	{member: "configuration.network", file: "config/v1/zz_generated.crd-manifests/0000_10_config-operator_01_networks.crd.yaml"},
	{member: "configuration.oauth", file: "config/v1/zz_generated.crd-manifests/0000_10_config-operator_01_oauths.crd.yaml"},
	{member: "configuration.operatorhub", file: "config/v1/zz_generated.crd-manifests/0000_03_marketplace_01_operatorhubs.crd.yaml"},
	{member: "configuration.scheduler", file: "config/v1/zz_generated.crd-manifests/0000_10_config-operator_01_schedulers-Default.crd.yaml"},
	{member: "configuration.proxy", file: "config/v1/zz_generated.crd-manifests/0000_03_config-operator_01_proxies.crd.yaml"},
	{
		member: "operatorConfiguration.ingressOperator.endpointPublishingStrategy", preserveUnknown: true, from: "endpointPublishingStrategy",
		file: "operator/v1/zz_generated.crd-manifests/0000_50_ingress_00_ingresscontrollers.crd.yaml",
	},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	definitions := map[string]schema{}
	for _, name := range []string{"hostedclusters", "hostedcontrolplanes", "nodepools"} {
		definition, err := read(file(folder, name))
		if err != nil {
			return err
		}
		definitions[name] = definition
	}
	for _, name := range []string{"hostedclusters", "hostedcontrolplanes"} {
		if err := borrow(definitions[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := extend(definitions, overlay); err != nil {
		return fmt.Errorf("overlay.yaml: %w", err)
	}
	if err := write(folder, definitions); err != nil {
		return err
	}
	for _, definition := range definitions {
		definition["metadata"].(schema)["annotations"].(schema)["release.openshift.io/feature-set"] = "TechPreviewNoUpgrade"
	}
	if err := extend(definitions, techPreview); err != nil {
		return fmt.Errorf("techpreview.yaml: %w", err)
	}
	if err := os.MkdirAll(previews, 0o755); err != nil {
		return err
	}
	const onlyThere = "hcpetcdbackups"
	if err := os.Rename(file(folder, onlyThere), file(previews, onlyThere)); err != nil {
		return err
	}
	return write(previews, definitions)
}

func extend(definitions map[string]schema, text []byte) error {
	var additions []addition
	if err := yaml.UnmarshalStrict(text, &additions); err != nil {
		return err
	}
	for _, addition := range additions {
		for _, name := range addition.Definitions {
			member, err := member(definitions[name], addition.Path)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			merge(member, addition.Add)
		}
	}
	return nil
}

// merge adds members to objects and rules to lists of rules; anything else is replaced.
func merge(into, from schema) {
	for key, value := range from {
		object, isObject := value.(schema)
		present, both := into[key].(schema)
		rules, isRules := value.([]any)
		switch {
		case isObject && both:
			merge(present, object)
		case isRules && key == "x-kubernetes-validations":
			former, _ := into[key].([]any)
			into[key] = append(slices.Clone(former), rules...)
		default:
			into[key] = value
		}
	}
}

func write(folder string, definitions map[string]schema) error {
	for name, definition := range definitions {
		raw, err := yaml.Marshal(definition)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file(folder, name), append([]byte("---\n"), raw...), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func file(folder, plural string) string {
	return filepath.Join(folder, "hypershift.openshift.io_"+plural+".yaml")
}

// borrow replaces the members' schemas but for their own descriptions.
func borrow(definition schema) error {
	module, err := moduleDir(openshift)
	if err != nil {
		return err
	}
	for _, b := range borrowed {
		source, err := read(filepath.Join(module, b.file))
		if err != nil {
			return err
		}
		from, err := member(source, strings.TrimSuffix("spec."+b.from, "."))
		if err != nil {
			return fmt.Errorf("%s: %w", b.file, err)
		}
		to, err := member(definition, "spec."+b.member)
		if err != nil {
			return err
		}
		description := to["description"]
		clear(to)
		for key, value := range from {
			to[key] = value
		}
		shorten(to)
		if description != nil {
			to["description"] = description
		}
		if b.preserveUnknown {
			to["x-kubernetes-preserve-unknown-fields"] = true
		}
	}
	return nil
}

// shorten keeps the first sentence of each description: the rest costs the API server memory in every definition.
func shorten(node schema) {
	for key, value := range node {
		switch value := value.(type) {
		case string:
			if key == "description" {
				value, _, _ = strings.Cut(value, "\n\n")
				value = strings.Join(strings.Fields(value), " ")
				if sentence, _, found := strings.Cut(value, ". "); found {
					value = sentence + "."
				}
				node[key] = value
			}
		case schema:
			shorten(value)
		case []any:
			for _, item := range value {
				if item, ok := item.(schema); ok {
					shorten(item)
				}
			}
		}
	}
}

// member finds the schema of a member of a definition's only version.
func member(definition schema, path string) (schema, error) {
	keys := []any{"spec", "versions", 0, "schema", "openAPIV3Schema"}
	for _, name := range strings.Split(path, ".") {
		keys = append(keys, "properties", name)
	}
	var node any = definition
	for _, key := range keys {
		switch key := key.(type) {
		case int:
			list, ok := node.([]any)
			if !ok || key >= len(list) {
				return nil, fmt.Errorf("no schema for %s", path)
			}
			node = list[key]
		case string:
			object, ok := node.(schema)
			if !ok || object[key] == nil {
				return nil, fmt.Errorf("no schema for %s: %s is missing", path, key)
			}
			node = object[key]
		}
	}
	found, ok := node.(schema)
	if !ok {
		return nil, fmt.Errorf("the schema of %s is not an object", path)
	}
	return found, nil
}

func read(name string) (schema, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	definition := schema{}
	if err := yaml.Unmarshal(raw, &definition); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return definition, nil
}

func moduleDir(moduleVersion string) (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", moduleVersion).Output()
	if err != nil {
		return "", fmt.Errorf("downloading %s: %w", moduleVersion, err)
	}
	var info struct{ Dir string }
	if err := json.Unmarshal(out, &info); err != nil {
		return "", fmt.Errorf("downloading %s: %w", moduleVersion, err)
	}
	return info.Dir, nil
}
