// Command capicrds copies the CustomResourceDefinitions of Cluster API, of its Azure provider, of OpenShift's Route and of OpenShift's
// configuration inside hosted clusters from their Go modules into config, in the form this project installs them. Run it by hack/generate.sh.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// provider is one module, what is taken from its folder from, and where below config it goes.
type provider struct {
	module, version, from, dir string
	labels                     map[string]string
	files                      []string
}

// providers lists what other installers of this field install, and no more: a manager whose watched kind is missing never becomes
// ready, and tools look for kinds that the managers do not act on with the flags hypershift-operator gives them (MachinePool,
// ClusterTopology and ASOAPI off). Each definition costs the management API server memory.
var providers = []provider{
	{
		module: "sigs.k8s.io/cluster-api", version: "v1.12.4", from: bases, dir: "crd/cluster-api",
		labels: map[string]string{"cluster.x-k8s.io/provider": "cluster-api"},
		files: []string{
			"cluster.x-k8s.io_clusters", "cluster.x-k8s.io_machines", "cluster.x-k8s.io_machinesets",
			"cluster.x-k8s.io_machinedeployments", "cluster.x-k8s.io_machinehealthchecks", "cluster.x-k8s.io_machinedrainrules",
			"cluster.x-k8s.io_clusterclasses", "cluster.x-k8s.io_machinepools",
			"addons.cluster.x-k8s.io_clusterresourcesets", "addons.cluster.x-k8s.io_clusterresourcesetbindings",
			"ipam.cluster.x-k8s.io_ipaddresses", "ipam.cluster.x-k8s.io_ipaddressclaims",
		},
	},
	{
		module: "sigs.k8s.io/cluster-api-provider-azure", version: "v1.23.0", from: bases, dir: "crd/cluster-api-provider-azure",
		// The second label is the contract: Cluster API finds the version to use by it.
		labels: map[string]string{"cluster.x-k8s.io/provider": "infrastructure-azure", "cluster.x-k8s.io/v1beta1": "v1beta1"},
		files: []string{
			"infrastructure.cluster.x-k8s.io_azureclusters", "infrastructure.cluster.x-k8s.io_azuremachines",
			"infrastructure.cluster.x-k8s.io_azuremachinetemplates", "infrastructure.cluster.x-k8s.io_azureclusteridentities",
			"infrastructure.cluster.x-k8s.io_azureclustertemplates",
			// Their two versions have the same fields, so that the API server converts them by itself.
			"infrastructure.cluster.x-k8s.io_azureasomanagedclusters", "infrastructure.cluster.x-k8s.io_azureasomanagedclustertemplates",
			"infrastructure.cluster.x-k8s.io_azureasomanagedcontrolplanes", "infrastructure.cluster.x-k8s.io_azureasomanagedcontrolplanetemplates",
			"infrastructure.cluster.x-k8s.io_azureasomanagedmachinepools", "infrastructure.cluster.x-k8s.io_azureasomanagedmachinepooltemplates",
		},
	},
	{
		// For management clusters that have no Routes; beside the others, because most have them.
		module: "github.com/openshift/api", version: openShiftAPI, from: "route/v1/zz_generated.crd-manifests", dir: "route",
		files: []string{"routes.crd"},
	},
	{
		// For hosted clusters whose payload has no version operator that would bring them.
		module: "github.com/openshift/api", version: openShiftAPI, from: "config/v1/zz_generated.crd-manifests", dir: "guest",
		files: []string{
			"0000_00_cluster-version-operator_01_clusteroperators.crd", "0000_00_cluster-version-operator_01_clusterversions-Default.crd",
			"0000_03_config-operator_01_proxies.crd", "0000_10_config-operator_01_apiservers-Default.crd",
			"0000_10_config-operator_01_authentications.crd", "0000_10_config-operator_01_dnses.crd",
			"0000_10_config-operator_01_imagedigestmirrorsets.crd", "0000_10_config-operator_01_images-Default.crd",
			"0000_10_config-operator_01_infrastructures-Default.crd", "0000_10_config-operator_01_ingresses.crd",
			"0000_10_config-operator_01_networks.crd",
		},
	},
	{
		// For hosted clusters whose API server counts requests.
		module: "github.com/openshift/api", version: openShiftAPI, from: "apiserver/v1/zz_generated.crd-manifests", dir: "openshift",
		files: []string{"kube-apiserver_apirequestcounts.crd"},
	},
	{
		// For hosted clusters whose payload has a driver that takes snapshots.
		module: "github.com/kubernetes-csi/external-snapshotter/client/v8", version: "v8.2.0", from: "config/crd", dir: "snapshots",
		files: []string{"snapshot.storage.k8s.io_volumesnapshotclasses", "snapshot.storage.k8s.io_volumesnapshotcontents", "snapshot.storage.k8s.io_volumesnapshots"},
	},
}

const (
	bases = "config/crd/bases"
	// approved is an annotation without which API servers refuse definitions of Kubernetes' own groups.
	approved = "api-approved.kubernetes.io"
	// openShiftAPI is also what go.mod requires: objects are written as the types the definitions come from.
	openShiftAPI = "v0.0.0-20251015095338-264e80a2b6e7"
)

func main() {
	if err := run("config"); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	for _, p := range providers {
		src, err := moduleDir(p.module + "@" + p.version)
		if err != nil {
			return err
		}
		dst := filepath.Join(root, p.dir)
		if err := os.RemoveAll(dst); err != nil {
			return err
		}
		if err := os.MkdirAll(dst, 0o755); err != nil {
			return err
		}
		for _, name := range p.files {
			from := path.Join(p.from, name+".yaml")
			if err := convert(filepath.Join(src, from), filepath.Join(dst, name+".yaml"), p, from); err != nil {
				return fmt.Errorf("%s of %s: %w", from, p.module, err)
			}
		}
	}
	return nil
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

func convert(src, dst string, p provider, from string) error {
	raw, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		return err
	}
	metadata := crd["metadata"].(map[string]any)
	labels := map[string]any{}
	for k, v := range p.labels {
		labels[k] = v
	}
	metadata["labels"] = labels
	annotations, _ := metadata["annotations"].(map[string]any)
	delete(metadata, "annotations")
	if text, ok := annotations[approved]; ok {
		metadata["annotations"] = map[string]any{approved: text}
	}
	spec := crd["spec"].(map[string]any)
	spec["conversion"] = map[string]any{"strategy": "None"}
	spec["versions"] = versions(spec["versions"].([]any))
	stripDescriptions(crd)

	body, err := yaml.Marshal(crd)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Generated by hack/generate.sh from %s %s, %s (Apache-2.0).\n# Changed: labels, no former versions, no descriptions. Do not edit.\n",
		p.module, p.version, filepath.ToSlash(from))
	out.Write(body)
	return os.WriteFile(dst, out.Bytes(), 0o644)
}

// versions drops those that nobody can have stored: they were not served any more.
func versions(all []any) []any {
	return slices.DeleteFunc(all, func(v any) bool { return v.(map[string]any)["served"] == false })
}

// stripDescriptions makes the API server hold less: descriptions are most of a schema's text.
func stripDescriptions(v any) {
	switch t := v.(type) {
	case map[string]any:
		if _, isText := t["description"].(string); isText {
			delete(t, "description")
		}
		for _, member := range t {
			stripDescriptions(member)
		}
	case []any:
		for _, item := range t {
			stripDescriptions(item)
		}
	}
}
