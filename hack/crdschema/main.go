// Command crdschema completes the generated CustomResourceDefinitions with what Go types cannot declare without losing fields:
// the Spec schemas of the OpenShift configuration types, copied from their Go module, and the overlay beside this file. Run it
// by hack/generate.sh.
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	folder    = "config/crd/hypershift"
	openshift = "github.com/openshift/api@v0.0.0-20251015095338-264e80a2b6e7"
)

//go:embed overlay.yaml
var overlay []byte

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
	var additions []struct {
		Definitions []string `json:"definitions"`
		Path        string   `json:"path"`
		Add         schema   `json:"add"`
	}
	if err := yaml.UnmarshalStrict(overlay, &additions); err != nil {
		return fmt.Errorf("overlay.yaml: %w", err)
	}
	definitions := map[string]schema{}
	for _, name := range []string{"hostedclusters", "hostedcontrolplanes", "nodepools"} {
		definition, err := read(file(name))
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
	for _, addition := range additions {
		for _, name := range addition.Definitions {
			member, err := member(definitions[name], addition.Path)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			for key, value := range addition.Add {
				member[key] = value
			}
		}
	}
	for name, definition := range definitions {
		raw, err := yaml.Marshal(definition)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file(name), append([]byte("---\n"), raw...), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func file(plural string) string {
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
