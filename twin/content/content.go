// Package content is what is in the images of a twin payload beside programs: definitions and feature gates of OpenShift's API, which
// hack/twincontent takes from its module, and a few objects without which programs of this project wait.
package content

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

//go:embed bootstrap operator release featuregates own omitted.txt
var files embed.FS

// Folder gives the files of one, by their names: bootstrap has the definitions that exist before the version operator runs, featuregates
// the gates by set of features.
func Folder(name string) map[string]string {
	entries, err := fs.ReadDir(files, name)
	if err != nil { // the folders are embedded
		panic(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		raw, err := fs.ReadFile(files, path.Join(name, e.Name()))
		if err != nil {
			panic(err)
		}
		out[e.Name()] = string(raw)
	}
	return out
}

// Omitted are the manifests of a release that a hosted cluster's version operator is not given, as is documented.
func Omitted() []string {
	raw, err := fs.ReadFile(files, "omitted.txt")
	if err != nil {
		panic(err)
	}
	return strings.Fields(string(raw))
}

// stub is a manifest that nobody may apply.
const stub = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  namespace: default\n  name: twin-%s\n  annotations:\n    include.release.openshift.io/ibm-cloud-managed: \"true\"\n"

// OfOperator are the manifests that the version operator's own image has, some of which a hosted cluster's is not given.
func OfOperator() map[string]string {
	out := Folder("operator")
	for _, name := range []string{"0000_00_cluster-version-operator_03_deployment.yaml", "0000_90_cluster-version-operator_02_servicemonitor.yaml",
		"0000_50_cluster-update-console-plugin_01_namespace.yaml"} {
		out[name] = fmt.Sprintf(stub, strings.ReplaceAll(strings.TrimSuffix(name, ".yaml"), "_", "-"))
	}
	// Of another set of features than the default one.
	out["0000_00_cluster-version-operator_01_previews.yaml"] = fmt.Sprintf(stub, "previews") + "    release.openshift.io/feature-set: TechPreviewNoUpgrade\n"
	return out
}

// OfRelease are the manifests of a release image.
func OfRelease() map[string]string {
	out := Folder("release")
	maps.Copy(out, Folder("own"))
	for i, name := range Omitted() {
		if _, there := out[name]; !there {
			out[name] = fmt.Sprintf(stub, fmt.Sprintf("omitted-%d", i))
		}
	}
	return out
}

// Names of files, sorted.
func Names(files map[string]string) []string { return slices.Sorted(maps.Keys(files)) }
