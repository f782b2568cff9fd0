package ignition

import (
	"slices"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// ClusterProxy is the proxy of a hosted cluster with everything that must not go through it.
func ClusterProxy(configuration *hyperv1.ClusterConfiguration, networking hyperv1.ClusterNetworking, platform hyperv1.PlatformType) Proxy {
	if configuration == nil || configuration.Proxy == nil {
		return Proxy{}
	}
	spec := configuration.Proxy
	if spec.HTTPProxy == "" && spec.HTTPSProxy == "" {
		return Proxy{}
	}
	direct := []string{"127.0.0.1", "localhost", ".svc", ".cluster.local", ".local"}
	for _, network := range networking.ClusterNetwork {
		direct = append(direct, string(network.CIDR))
	}
	for _, network := range slices.Concat(networking.ServiceNetwork, networking.MachineNetwork) {
		direct = append(direct, string(network.CIDR))
	}
	if platform == hyperv1.AzurePlatform {
		direct = append(direct, "169.254.169.254")
	}
	for _, item := range strings.Split(spec.NoProxy, ",") {
		if item = strings.TrimSpace(item); item != "" {
			direct = append(direct, item)
		}
	}
	slices.Sort(direct)
	return Proxy{HTTPProxy: spec.HTTPProxy, HTTPSProxy: spec.HTTPSProxy, NoProxy: strings.Join(slices.Compact(direct), ",")}
}
