package ignition

import (
	"fmt"
	"slices"
	"strings"
)

// noEffect lists, by kind, the members of spec that no node acts on, and what to do instead. "" stands for the whole document.
var noEffect = map[string][]struct{ member, instead string }{
	KindContainerRuntimeConfig: {{"", "nothing configures the container runtime by it; write the runtime's own files with a MachineConfig"}},
	"ClusterImagePolicy":       {{"", "no node verifies signatures of images by it, and unsigned ones would run; leave it out"}},
	KindMachineConfig: {
		{"kernelArguments", "nobody adds arguments to the kernel's; use spec.config.kernelArguments of Ignition 3.3 or newer"},
		{"extensions", "nobody installs extensions of the operating system; use an image that has them"},
		{"fips", "no node runs in FIPS mode; leave it out"},
		{"osImageURL", "nobody changes the operating system of a machine; choose it by spec.platform.azure.image of the NodePool"},
		{"baseOSExtensionsContainerImage", "nobody installs extensions of the operating system; use an image that has them"},
		{"kernelType", "nobody changes the kernel; use an image that has it"},
	},
	KindKubeletConfig: {
		{"autoSizingReserved", "nobody computes reservations; set systemReserved in spec.kubeletConfig"},
		{"logLevel", "the kubelet logs at its own level; leave it out"},
		{"tlsSecurityProfile", "kubelets are configured by spec.kubeletConfig; set tlsMinVersion and tlsCipherSuites there"},
	},
}

// neverContactSource is a policy of mirrors that the container runtime here does not know: it asks the source in the end.
const neverContactSource = "NeverContactSource"

// Unread names what of a node pool's documents no node would act on.
func Unread(documents []string) ([]string, error) {
	manifests, err := ParseManifests(strings.Join(documents, "\n---\n"))
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, manifest := range manifests {
		name, _ := object(manifest, "metadata")["name"].(string)
		spec := object(manifest, "spec")
		for _, row := range noEffect[manifest.kind()] {
			switch {
			case row.member == "":
				problems = append(problems, fmt.Sprintf("%s %q: %s", manifest.kind(), name, row.instead))
			case asks(spec[row.member]):
				problems = append(problems, fmt.Sprintf("spec.%s of %s %q: %s", row.member, manifest.kind(), name, row.instead))
			}
		}
		if manifest.kind() == kindDigestMirrors && slices.ContainsFunc(items(spec["imageDigestMirrors"]), func(item any) bool {
			mirror, _ := item.(map[string]any)
			return mirror["mirrorSourcePolicy"] == neverContactSource
		}) {
			problems = append(problems, fmt.Sprintf("mirrorSourcePolicy %s of %s %q: nodes ask the source when no mirror has an image; use AllowContactingSource",
				neverContactSource, manifest.kind(), name))
		}
	}
	return problems, nil
}

func items(value any) []any {
	list, _ := value.([]any)
	return list
}

// asks: what is absent, false or empty asks for nothing; "default" is what everybody has.
func asks(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != "" && v != "default"
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}
