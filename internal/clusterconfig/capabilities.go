package clusterconfig

import (
	"slices"

	configv1 "github.com/openshift/api/config/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// unfit are capabilities that no hosted control plane has.
var unfit = []string{"baremetal", "ClusterAPI", "CompatibilityRequirements"}

// Capabilities are those that the version operator enables, sorted: all that are known, as the user wants them.
func Capabilities(wanted *hyperv1.Capabilities) []string {
	if wanted == nil {
		wanted = &hyperv1.Capabilities{}
	}
	var names []string
	for _, known := range configv1.ClusterVersionCapabilitySets[configv1.ClusterVersionCapabilitySetCurrent] {
		name := string(known)
		if !slices.Contains(unfit, name) && !slices.Contains(wanted.Disabled, hyperv1.OptionalCapability(name)) {
			names = append(names, name)
		}
	}
	for _, name := range wanted.Enabled {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return slices.Compact(names)
}
