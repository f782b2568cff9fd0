// Command twincontent takes the definitions and feature gates of a twin payload from the module of OpenShift's API, without their
// descriptions: twin/content. Run it by hack/generate.sh.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

const folder = "twin/content"

// taken are files of the module, by the folder that they go to: patterns below the module, without what is between name and set of features.
var taken = map[string][]string{
	"bootstrap": crds("payload-manifests/crds", "apiservers-Default", "*_10_config-operator_01_authentications", "consoles", "dnses", "featuregates", "imagecontentpolicies",
		"imagedigestmirrorsets", "images-Default", "imagetagmirrorsets", "infrastructures-Default", "ingresses", "networks", "nodes-Default", "oauths", "projects",
		"proxies", "schedulers-Default", "clusterresourcequotas", "rolebindingrestrictions", "securitycontextconstraints", "rangeallocations",
		"imagecontentsourcepolicies"),
	"operator": crds("config/v1/zz_generated.crd-manifests", "clusteroperators", "clusterversions-Default"),
	"release": append(append(append(crds("config/v1/zz_generated.crd-manifests", "operatorhubs", "builds"),
		crds("operator/v1/zz_generated.crd-manifests", "cloudcredentials", "clustercsidrivers-Default", "ingresscontrollers", "storages", "*_network_01_networks",
			"csisnapshotcontrollers", "dnses", "consoles", "kubestorageversionmigrators")...),
		crds("imageregistry/v1/zz_generated.crd-manifests", "configs", "imagepruners")...),
		crds("networkoperator/v1/zz_generated.crd-manifests", "egressrouters")...),
	"featuregates": {"payload-manifests/featuregates/featureGate-Hypershift-*.yaml"},
}

func crds(folder string, names ...string) []string {
	var out []string
	for _, name := range names {
		if !strings.HasPrefix(name, "*") {
			name = "*_" + name
		}
		out = append(out, folder+"/"+name+".crd.yaml")
	}
	return out
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api").Output()
	if err != nil {
		return fmt.Errorf("find the module of OpenShift's API: %w", err)
	}
	for into, patterns := range taken {
		if err := os.RemoveAll(filepath.Join(folder, into)); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(folder, into), 0o755); err != nil {
			return err
		}
		for _, pattern := range patterns {
			if err := take(filepath.Join(strings.TrimSpace(string(dir)), pattern), filepath.Join(folder, into)); err != nil {
				return err
			}
		}
	}
	return nil
}

func take(pattern, into string) error {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return fmt.Errorf("%s: %d files: %w", pattern, len(files), err)
	}
	if strings.HasSuffix(pattern, ".crd.yaml") && len(files) > 1 {
		return fmt.Errorf("%s is %q, want one file", pattern, files)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var object map[string]any
		if err := yaml.Unmarshal(raw, &object); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		undescribed(object)
		if raw, err = yaml.Marshal(object); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(into, filepath.Base(file)), raw, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// undescribed takes away the descriptions of a schema, which no program reads; a property of that name is no description.
func undescribed(node any) {
	switch node := node.(type) {
	case map[string]any:
		if _, text := node["description"].(string); text {
			delete(node, "description")
		}
		for _, below := range node {
			undescribed(below)
		}
	case []any:
		for _, below := range node {
			undescribed(below)
		}
	}
}
