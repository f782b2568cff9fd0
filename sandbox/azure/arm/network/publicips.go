package network

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

func putPublicIP(c *provider.Call, r *provider.Resource, old wire.Doc) error {
	if err := zonesStay(r, old); err != nil {
		return err
	}
	p := wire.EnsureProps(r.Body)
	delete(p, "ipConfiguration")
	standard := isStandard(r)
	if r.Body["sku"] == nil {
		wire.Default(p, "publicIPAllocationMethod", "Static")
	}
	wire.Default(p, "publicIPAllocationMethod", "Dynamic")
	if standard && !strings.EqualFold(wire.Text(p, "publicIPAllocationMethod"), "Static") {
		return provider.BadRequest("StandardSkuPublicIPAddressesMustBeStatic", "Standard sku publicIp %s must have AllocationMethod set to Static.", r.ID)
	}
	wire.Default(p, "publicIPAddressVersion", "IPv4")
	wire.Default(p, "idleTimeoutInMinutes", 4)
	if r.Body["sku"] == nil {
		r.Body["sku"] = wire.Doc{"name": "Standard", "tier": "Regional"}
	}
	if wire.Text(p, "ipAddress") == "" {
		ip, err := freePublicIP(c)
		if err != nil {
			return err
		}
		p["ipAddress"] = ip
	}
	return nameAddress(c, r)
}

// nameAddress gives an address the name that its label stands for, unless another one has that.
func nameAddress(c *provider.Call, r *provider.Resource) error {
	dns := wire.Sub(wire.Props(r.Body), "dnsSettings")
	label := wire.Text(dns, "domainNameLabel")
	if label == "" {
		return nil
	}
	name := fmt.Sprintf("%s.%s.cloudapp.azure.com", label, wire.Text(r.Body, "location"))
	for _, o := range c.Within("", typePublicIP) {
		if o.ID != r.ID && strings.EqualFold(wire.Text(wire.Sub(wire.Props(o.Body), "dnsSettings"), "fqdn"), name) {
			return provider.BadRequest("DnsRecordInUse", "DNS record %s is already used by another public IP.", name)
		}
	}
	dns["fqdn"] = name
	return nil
}

// zonesStay refuses other zones than something was made in.
func zonesStay(r *provider.Resource, old wire.Doc) error {
	if old == nil {
		return nil
	}
	constraint := func(d wire.Doc) string {
		zones := wire.Texts(d, "zones")
		slices.Sort(zones)
		return cmp.Or(strings.Join(zones, ", "), "NoZone")
	}
	if had, wants := constraint(old), constraint(r.Body); had != wants {
		return provider.BadRequest("ResourceAvailabilityZonesCannotBeModified",
			"Resource %s has an existing availability zone constraint %s and the request has availability zone constraint %s, which do not match. "+
				"Zones cannot be added/updated/removed once the resource is created. The resource cannot be updated from regional to zonal or vice-versa.",
			r.ID, had, wants)
	}
	return nil
}

// isStandard tells the SKU of an address or a balancer; one that says nothing is Standard here.
func isStandard(r *provider.Resource) bool {
	name := wire.Text(wire.Sub(r.Body, "sku"), "name")
	return name == "" || strings.EqualFold(name, "Standard")
}

// publicIPUsers finds the frontends, NIC configurations and NAT gateways that use an address.
func publicIPUsers(c *provider.Call, id string) []string {
	var out []string
	for _, u := range []struct{ typ, field string }{{TypeLoadBalancer, "frontendIPConfigurations"}, {TypeNIC, "ipConfigurations"}} {
		for _, r := range c.Within("", u.typ) {
			for _, d := range wire.Docs(wire.Props(r.Body), u.field) {
				if strings.EqualFold(wire.Ref(wire.Props(d), "publicIPAddress"), id) {
					out = append(out, wire.Text(d, "id"))
				}
			}
		}
	}
	for _, r := range c.Within("", typeNAT) {
		for _, d := range wire.Docs(wire.Props(r.Body), "publicIpAddresses") {
			if strings.EqualFold(wire.Text(d, "id"), id) {
				out = append(out, r.ID)
			}
		}
	}
	return out
}

func publicIPUser(c *provider.Call, id string) string {
	if users := publicIPUsers(c, id); len(users) > 0 {
		return users[0]
	}
	return ""
}

// takePublicIP has each address serve one user.
func takePublicIP(c *provider.Call, by *provider.Resource, user, id string) error {
	if c.Get(id) == nil {
		return provider.MissingReference(id, by)
	}
	for _, other := range publicIPUsers(c, id) {
		if provider.Key(other) != provider.Key(user) {
			return provider.BadRequest("PublicIPAddressInUse", "Resource %s is referencing public IP address %s that is already allocated to resource %s.", user, id, other)
		}
	}
	return nil
}

func putNAT(c *provider.Call, r *provider.Resource, old wire.Doc) error {
	if err := zonesStay(r, old); err != nil {
		return err
	}
	if len(wire.List(wire.Props(r.Body), "publicIpPrefixes")) > 0 {
		return notServed("Microsoft.Network/publicIPPrefixes")(c, r, nil)
	}
	for _, d := range wire.Docs(wire.Props(r.Body), "publicIpAddresses") {
		if err := takePublicIP(c, r, r.ID, wire.Text(d, "id")); err != nil {
			return err
		}
	}
	return nil
}

func viewPublicIP(c *provider.Call, r *provider.Resource, d wire.Doc) {
	if user := publicIPUser(c, r.ID); user != "" {
		wire.EnsureProps(d)["ipConfiguration"] = wire.Doc{"id": user}
	}
}

func guardPublicIP(c *provider.Call, r *provider.Resource) error {
	if user := publicIPUser(c, r.ID); user != "" {
		return provider.BadRequest("PublicIPAddressCannotBeDeleted", "Public IP address %s can not be deleted since it is still allocated to resource %s. In order to delete the public IP, disassociate/detach the Public IP address from the resource.", r.ID, user)
	}
	return nil
}

// freePublicIP takes the lowest address that no public IP resource has.
func freePublicIP(c *provider.Call) (string, error) {
	used := map[string]bool{}
	for _, o := range c.Within("", typePublicIP) {
		used[wire.Text(wire.Props(o.Body), "ipAddress")] = true
	}
	first := c.PublicIPs.Masked().Addr().Next()
	for a := first; c.PublicIPs.Contains(a); a = a.Next() {
		if !used[a.String()] {
			return a.String(), nil
		}
	}
	return "", provider.BadRequest("PublicIPCountLimitReached", "Cannot create more than %d public IP addresses for this subscription in this region.", len(used))
}
