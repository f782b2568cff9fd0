package network

import (
	"net/netip"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// putRoute takes the routes that the router of a virtual network goes by.
func putRoute(c *provider.Call, r *provider.Resource, _ wire.Doc) error {
	p := wire.EnsureProps(r.Body)
	prefix, hop, address := wire.Text(p, "addressPrefix"), wire.Text(p, "nextHopType"), wire.Text(p, "nextHopIpAddress")
	if strings.EqualFold(hop, "VirtualNetworkGateway") {
		return notServed("Microsoft.Network/virtualNetworkGateways")(c, r, nil)
	}
	if prefix != "" && prefix[0] >= 'A' { // a service tag
		return provider.Failf(wire.NotServedStatus, wire.NotServedCode, "%s", wire.NotServed("A route of the service tag '"+prefix+"'"))
	}
	if _, err := netip.ParsePrefix(prefix); err != nil {
		return provider.BadRequest("InvalidAddressPrefixFormat", "Address prefix %s of route %s is not in valid CIDR notation.", prefix, r.ID)
	}
	appliance := strings.EqualFold(hop, "VirtualAppliance")
	_, err := netip.ParseAddr(address)
	switch {
	case appliance && err != nil:
		return provider.BadRequest("RouteNextHopIpAddressIsInvalid", "Route %s has the next hop type VirtualAppliance and needs a valid nextHopIpAddress; it has '%s'.", r.ID, address)
	case !appliance && address != "":
		return provider.BadRequest("InvalidNextHopIpAddress", "Route %s has a nextHopIpAddress, which only the next hop type VirtualAppliance has.", r.ID)
	}
	return nil
}

// guardAttached keeps what subnets refer to.
func guardAttached(field, code string) func(*provider.Call, *provider.Resource) error {
	return func(c *provider.Call, r *provider.Resource) error {
		for _, s := range c.Within("", TypeSubnet) {
			if strings.EqualFold(wire.Ref(wire.Props(s.Body), field), r.ID) {
				return provider.BadRequest(code, "%s %s cannot be deleted because it is in use by subnet %s. In order to delete it, remove its association with the subnet.", r.Type[strings.LastIndex(r.Type, "/")+1:], r.Name, s.ID)
			}
		}
		return nil
	}
}
