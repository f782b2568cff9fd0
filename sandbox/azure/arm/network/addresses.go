package network

import (
	"net/netip"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// address is a private address in use.
type address struct {
	ip, subnet, owner string
}

// addresses lists the private addresses of all NICs and load balancers.
func addresses(c *provider.Call) []address {
	var out []address
	for _, u := range []struct{ typ, field string }{{TypeNIC, "ipConfigurations"}, {TypeLoadBalancer, "frontendIPConfigurations"}} {
		for _, r := range c.Within("", u.typ) {
			for _, d := range wire.Docs(wire.Props(r.Body), u.field) {
				p := wire.Props(d)
				if id := wire.Ref(p, "subnet"); id != "" {
					out = append(out, address{wire.Text(p, "privateIPAddress"), id, wire.Text(d, "id")})
				}
			}
		}
	}
	return out
}

// reservedInSubnet is how many addresses at the start of a subnet Azure keeps: network, gateway and two for DNS. It keeps the last one, too.
const reservedInSubnet = 4

// reserved tells whether Azure keeps an address of a subnet for itself.
func reserved(prefix netip.Prefix, a netip.Addr) bool {
	first := prefix.Masked().Addr()
	for range reservedInSubnet {
		if a == first {
			return true
		}
		first = first.Next()
	}
	return prefix.Contains(a) && !prefix.Contains(a.Next())
}

// placeIn gives an IP configuration an address of the subnet, or checks the one it asks for.
func placeIn(c *provider.Call, subnet *provider.Resource, ip wire.Doc, owner string) error {
	prefix, err := netip.ParsePrefix(wire.Text(wire.Props(subnet.Body), "addressPrefix"))
	if err != nil {
		return provider.BadRequest("InvalidCIDRNotation", "Subnet %s has no address prefix.", subnet.ID)
	}
	used := map[string]string{}
	for _, a := range addresses(c) {
		if provider.Key(a.subnet) == provider.Key(subnet.ID) && provider.Key(a.owner) != provider.Key(owner) && a.ip != "" {
			used[a.ip] = a.owner
		}
	}
	if want := wire.Text(ip, "privateIPAddress"); want != "" {
		addr, err := netip.ParseAddr(want)
		if err != nil || !prefix.Contains(addr) {
			return provider.BadRequest("PrivateIPAddressNotInSubnet", "Private static IP address %s does not belong to the range of subnet prefix %s.", want, prefix)
		}
		if reserved(prefix, addr) {
			return provider.BadRequest("PrivateIPAddressInReservedRange", "Private static IP address %s falls within reserved IP range of subnet prefix %s.", want, prefix)
		}
		if by := used[addr.String()]; by != "" {
			return provider.BadRequest("PrivateIPAddressIsAllocated", "IP configuration %s is using the private IP address %s which is already allocated to resource %s.", owner, want, by)
		}
		return nil
	}
	for addr := prefix.Masked().Addr(); prefix.Contains(addr); addr = addr.Next() {
		if used[addr.String()] == "" && !reserved(prefix, addr) {
			ip["privateIPAddress"] = addr.String()
			return nil
		}
	}
	return provider.BadRequest("SubnetIsFull", "Subnet %s with address prefix %s does not have enough capacity for 1 IP addresses.", subnet.Name, prefix)
}
