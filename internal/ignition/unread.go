package ignition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// noEffect lists, by kind, the members of spec that no node acts on, and what to do instead. "" stands for the whole document.
var noEffect = map[string][]struct{ member, instead string }{
	KindContainerRuntimeConfig: {{"", "nothing configures the container runtime by it; write the runtime's own files with a MachineConfig"}},
	kindImagePolicy:            {{"", "no node verifies signatures of images by it, and unsigned ones would run; leave it out"}},
	KindMachineConfig: {
		{"kernelArguments", "nobody adds arguments to the kernel's; use spec.config.kernelArguments of Ignition 3.3 or newer"},
		{"extensions", "nobody installs extensions of the operating system; use an image that has them"},
		{"fips", "no node runs in FIPS mode; leave it out"},
		{"osImageURL", "nobody changes the operating system of a machine; choose it by spec.platform.azure.image of the NodePool"},
		{"baseOSExtensionsContainerImage", "nobody installs extensions of the operating system; use an image that has them"},
		{"kernelType", "nobody changes the kernel; use an image that has it"},
	},
	KindKubeletConfig: {
		{"logLevel", "the kubelet logs at its own level; leave it out"},
		{"tlsSecurityProfile", "kubelets are configured by spec.kubeletConfig; set tlsMinVersion and tlsCipherSuites there"},
	},
}

// neverContactSource is a policy of mirrors that the container runtime here does not know: it asks the source in the end.
const neverContactSource = "NeverContactSource"

// Unread names what of a node pool's documents no node of such a payload would act on, or could not. A payload whose own programs configure its
// nodes has nothing of the kind: they act on all that is taken, and say themselves what they refuse.
func Unread(kind release.Kind, documents []string) ([]string, error) {
	if kind == release.KindOpenShift {
		return nil, nil
	}
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
		unwritable, err := readOnlyProblems(manifest)
		if err != nil {
			return nil, err
		}
		problems = append(problems, unwritable...)
		if driver := object(spec, "kubeletConfig")["cgroupDriver"]; manifest.kind() == KindKubeletConfig && driver != nil && driver != "systemd" {
			problems = append(problems, fmt.Sprintf("spec.kubeletConfig.cgroupDriver %v of %s %q: the container runtime leaves cgroups to systemd, and no pod would start; leave it out", driver, manifest.kind(), name))
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

// readOnlyProblems names what a MachineConfig writes where machine images are read-only.
func readOnlyProblems(manifest Manifest) ([]string, error) {
	if manifest.kind() != KindMachineConfig {
		return nil, nil
	}
	config, err := ignitionOf(manifest)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, path := range readOnlyPaths(config) {
		problems = append(problems, fmt.Sprintf("%s of MachineConfig %q: machine images are read-only there, and a machine that cannot write it does not start; "+
			"put programs into /opt, configuration into /etc and data into /var", path, object(manifest, "metadata")["name"]))
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
