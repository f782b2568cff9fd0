package arm

import (
	"net/netip"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// address is a private address in use.
type address struct {
	ip, subnet, owner string
}

// addresses lists the private addresses of all NICs and load balancers.
func (c *call) addresses() []address {
	var out []address
	for _, u := range []struct{ typ, field string }{{typeNIC, "ipConfigurations"}, {typeLoadBalancer, "frontendIPConfigurations"}} {
		for _, r := range c.within("", u.typ) {
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

// reservedInSubnet is how many addresses at the start of a subnet Azure keeps: network, gateway and two for DNS.
const reservedInSubnet = 4

// placeIn gives an IP configuration an address of the subnet, or checks the one it asks for.
func (c *call) placeIn(subnet *Resource, ip Doc, owner string) error {
	prefix, err := netip.ParsePrefix(wire.Text(wire.Props(subnet.Body), "addressPrefix"))
	if err != nil {
		return badRequest("InvalidCIDRNotation", "Subnet %s has no address prefix.", subnet.ID)
	}
	used := map[string]string{}
	for _, a := range c.addresses() {
		if key(a.subnet) == key(subnet.ID) && key(a.owner) != key(owner) && a.ip != "" {
			used[a.ip] = a.owner
		}
	}
	if want := wire.Text(ip, "privateIPAddress"); want != "" {
		addr, err := netip.ParseAddr(want)
		if err != nil || !prefix.Contains(addr) {
			return badRequest("PrivateIPAddressNotInSubnet", "Private static IP address %s does not belong to the range of subnet prefix %s.", want, prefix)
		}
		if by := used[want]; by != "" {
			return badRequest("PrivateIPAddressIsAllocated", "IP configuration %s is using the private IP address %s which is already allocated to resource %s.", owner, want, by)
		}
		return nil
	}
	addr := prefix.Masked().Addr()
	for range reservedInSubnet {
		addr = addr.Next()
	}
	for ; prefix.Contains(addr) && prefix.Contains(addr.Next()); addr = addr.Next() {
		if used[addr.String()] == "" {
			ip["privateIPAddress"] = addr.String()
			return nil
		}
	}
	return badRequest("SubnetIsFull", "Subnet %s with address prefix %s does not have enough capacity for 1 IP addresses.", subnet.Name, prefix)
}

// freePublicIP takes the lowest address that no public IP resource has.
func (c *call) freePublicIP(r *Resource) (string, error) {
	used := map[string]bool{}
	for _, o := range c.within("", typePublicIP) {
		used[wire.Text(wire.Props(o.Body), "ipAddress")] = true
	}
	first := c.PublicIPs.Masked().Addr().Next()
	for a := first; c.PublicIPs.Contains(a); a = a.Next() {
		if !used[a.String()] {
			return a.String(), nil
		}
	}
	return "", badRequest("PublicIPCountLimitReached", "Cannot create more than %d public IP addresses for this subscription in this region.", len(used))
}
