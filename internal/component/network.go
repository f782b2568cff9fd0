package component

import (
	"net/netip"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// What kube-controller-manager gives a node where nothing else is said.
const (
	defaultPrefixIPv4 = 24
	defaultPrefixIPv6 = 64
)

// HostPrefix is the length of the prefix of a node's share of a pod network.
func HostPrefix(network hyperv1.ClusterNetworkEntry) int32 {
	if network.HostPrefix > 0 {
		return network.HostPrefix
	}
	if prefix, err := netip.ParsePrefix(string(network.CIDR)); err == nil && prefix.Addr().Is6() {
		return defaultPrefixIPv6
	}
	return defaultPrefixIPv4
}

// OwnNetwork tells whether the user of a hosted cluster installs its network plugin.
func OwnNetwork(hcp *hyperv1.HostedControlPlane) bool {
	kind := hcp.Spec.Networking.NetworkType
	return kind == hyperv1.OtherNetwork || kind == "Calico"
}
