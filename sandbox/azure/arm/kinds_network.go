package arm

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const (
	typeVNet         = "Microsoft.Network/virtualNetworks"
	typeSubnet       = typeVNet + "/subnets"
	typeNSG          = "Microsoft.Network/networkSecurityGroups"
	typeSecurityRule = typeNSG + "/securityRules"
	typeNIC          = "Microsoft.Network/networkInterfaces"
	typePublicIP     = "Microsoft.Network/publicIPAddresses"
	typeNAT          = "Microsoft.Network/natGateways"
)

var networkKinds = []*Kind{
	{Type: typeVNet, async: true, put: putVNet, guard: guardVNet, embed: []child{
		{"subnets", typeSubnet}, {"virtualNetworkPeerings", typeVNet + "/virtualNetworkPeerings"}}},
	{Type: typeSubnet, async: true, put: putSubnet, guard: guardSubnet},
	{Type: typeVNet + "/virtualNetworkPeerings", async: true},
	{Type: typeNSG, async: true, put: putNSG, guard: guardNSG, embed: []child{{"securityRules", typeSecurityRule}}},
	{Type: typeSecurityRule, async: true, put: putSecurityRule},
	{Type: "Microsoft.Network/routeTables", async: true, embed: []child{{"routes", "Microsoft.Network/routeTables/routes"}}},
	{Type: "Microsoft.Network/routeTables/routes", async: true},
	{Type: typeNAT, async: true, put: putNAT},
	{Type: "Microsoft.Network/privateLinkServices", async: true},
	{Type: "Microsoft.Network/privateEndpoints", async: true},
	{Type: typePublicIP, async: true, put: putPublicIP, guard: guardPublicIP, view: viewPublicIP, keep: []string{"ipAddress", "resourceGuid"}},
	{Type: typeNIC, async: true, put: putNIC, guard: guardNIC, inline: []string{"ipConfigurations"},
		keep: []string{"virtualMachine", "macAddress", "resourceGuid"}},
}

func putVNet(c *call, r *Resource, _ Doc) error {
	p := wire.EnsureProps(r.Body)
	if len(wire.Texts(wire.Sub(p, "addressSpace"), "addressPrefixes")) == 0 {
		return badRequest("InvalidRequestFormat", "Virtual network '%s' has no address space.", r.Name)
	}
	wire.Default(p, "enableDdosProtection", false)
	for _, s := range c.within(r.ID, typeSubnet) {
		if err := subnetFits(c, r, s); err != nil {
			return err
		}
	}
	return nil
}

func putSubnet(c *call, r *Resource, _ Doc) error {
	p := wire.EnsureProps(r.Body)
	wire.Default(p, "privateEndpointNetworkPolicies", "Disabled")
	wire.Default(p, "privateLinkServiceNetworkPolicies", "Enabled")
	if list := wire.Texts(p, "addressPrefixes"); len(list) == 1 {
		wire.Default(p, "addressPrefix", list[0])
	}
	if _, err := netip.ParsePrefix(wire.Text(p, "addressPrefix")); err != nil {
		return badRequest("InvalidCIDRNotation", "The address prefix '%s' of subnet '%s' is no CIDR block.", wire.Text(p, "addressPrefix"), r.Name)
	}
	if id := wire.Ref(p, "networkSecurityGroup"); id != "" && c.get(id) == nil {
		return missingReference(id, r)
	}
	vnet := c.get(r.ID[:strings.LastIndex(r.ID, "/subnets/")])
	if vnet == nil {
		return nil
	}
	return subnetFits(c, vnet, r)
}

func subnetFits(c *call, vnet, s *Resource) error {
	own, err := netip.ParsePrefix(wire.Text(wire.Props(s.Body), "addressPrefix"))
	if err != nil {
		return badRequest("InvalidCIDRNotation", "The address prefix of subnet '%s' is no CIDR block.", s.Name)
	}
	inside := false
	for _, text := range wire.Texts(wire.Sub(wire.Props(vnet.Body), "addressSpace"), "addressPrefixes") {
		space, err := netip.ParsePrefix(text)
		inside = inside || err == nil && space.Bits() <= own.Bits() && space.Contains(own.Addr())
	}
	if !inside {
		return badRequest("NetcfgInvalidSubnet", "Subnet '%s' is not valid because its IP address range is outside the IP address range of virtual network '%s'.", s.Name, vnet.Name)
	}
	for _, o := range c.within(vnet.ID, typeSubnet) {
		other, err := netip.ParsePrefix(wire.Text(wire.Props(o.Body), "addressPrefix"))
		if err == nil && key(o.ID) != key(s.ID) && other.Overlaps(own) {
			return badRequest("NetcfgSubnetRangesOverlap", "Subnet '%s' is not valid because its IP address range overlaps with that of an existing subnet in virtual network '%s'.", s.Name, vnet.Name)
		}
	}
	return nil
}

func guardVNet(c *call, r *Resource) error {
	for _, s := range c.within(r.ID, typeSubnet) {
		if err := guardSubnet(c, s); err != nil {
			return err
		}
	}
	return nil
}

func guardSubnet(c *call, r *Resource) error {
	for _, a := range c.addresses() {
		if key(a.subnet) == key(r.ID) {
			return badRequest("InUseSubnetCannotBeDeleted", "Subnet %s is in use by %s and cannot be deleted. In order to delete the subnet, delete all the resources within the subnet. See aka.ms/deletesubnet.", r.Name, a.owner)
		}
	}
	return nil
}

func putNSG(c *call, r *Resource, _ Doc) error {
	var rules []any
	for _, d := range []struct {
		name, access, direction, from, to string
		priority                          int
	}{
		{"AllowVnetInBound", "Allow", "Inbound", "VirtualNetwork", "VirtualNetwork", 65000},
		{"AllowAzureLoadBalancerInBound", "Allow", "Inbound", "AzureLoadBalancer", "*", 65001},
		{"DenyAllInBound", "Deny", "Inbound", "*", "*", 65500},
		{"AllowVnetOutBound", "Allow", "Outbound", "VirtualNetwork", "VirtualNetwork", 65000},
		{"AllowInternetOutBound", "Allow", "Outbound", "*", "Internet", 65001},
		{"DenyAllOutBound", "Deny", "Outbound", "*", "*", 65500},
	} {
		rules = append(rules, Doc{"id": r.ID + "/defaultSecurityRules/" + d.name, "name": d.name, "type": typeNSG + "/defaultSecurityRules", "properties": Doc{
			"access": d.access, "direction": d.direction, "priority": d.priority, "protocol": "*", "provisioningState": "Succeeded",
			"sourcePortRange": "*", "destinationPortRange": "*", "sourceAddressPrefix": d.from, "destinationAddressPrefix": d.to}})
	}
	wire.EnsureProps(r.Body)["defaultSecurityRules"] = rules
	return nil
}

func guardNSG(c *call, r *Resource) error {
	for _, typ := range []string{typeSubnet, typeNIC} {
		for _, s := range c.within("", typ) {
			if strings.EqualFold(wire.Ref(wire.Props(s.Body), "networkSecurityGroup"), r.ID) {
				return badRequest("InUseNetworkSecurityGroupCannotBeDeleted", "Network security group %s cannot be deleted because it is in use by the following resources: %s. In order to delete the Network security group, remove the association with the resource(s).", r.ID, s.ID)
			}
		}
	}
	return nil
}

func putSecurityRule(c *call, r *Resource, _ Doc) error {
	p := wire.EnsureProps(r.Body)
	priority := wire.Number(p, "priority")
	if priority < 100 || priority > 4096 {
		return badRequest("SecurityRuleInvalidPriority", "Security rule '%s' has an invalid priority %d: it must be between 100 and 4096.", r.Name, priority)
	}
	nsg := r.ID[:strings.LastIndex(r.ID, "/securityRules/")]
	for _, o := range c.within(nsg, typeSecurityRule) {
		q := wire.Props(o.Body)
		if o.ID != r.ID && wire.Number(q, "priority") == priority && strings.EqualFold(wire.Text(q, "direction"), wire.Text(p, "direction")) {
			return badRequest("SecurityRuleConflict", "Security rule %s conflicts with rule %s. Rules cannot have the same Priority and Direction.", r.Name, o.Name)
		}
	}
	return nil
}

func putPublicIP(c *call, r *Resource, _ Doc) error {
	p := wire.EnsureProps(r.Body)
	delete(p, "ipConfiguration")
	wire.Default(p, "publicIPAllocationMethod", "Dynamic")
	wire.Default(p, "publicIPAddressVersion", "IPv4")
	wire.Default(p, "idleTimeoutInMinutes", 4)
	if r.Body["sku"] == nil {
		r.Body["sku"] = Doc{"name": "Standard", "tier": "Regional"}
	}
	if wire.Text(p, "ipAddress") == "" {
		ip, err := c.freePublicIP(r)
		if err != nil {
			return err
		}
		p["ipAddress"] = ip
	}
	dns := wire.Sub(p, "dnsSettings")
	if label := wire.Text(dns, "domainNameLabel"); label != "" {
		dns["fqdn"] = fmt.Sprintf("%s.%s.cloudapp.azure.com", label, wire.Text(r.Body, "location"))
	}
	return nil
}

// publicIPUsers finds the frontends, NIC configurations and NAT gateways that use an address.
func (c *call) publicIPUsers(id string) []string {
	var out []string
	for _, u := range []struct{ typ, field string }{{typeLoadBalancer, "frontendIPConfigurations"}, {typeNIC, "ipConfigurations"}} {
		for _, r := range c.within("", u.typ) {
			for _, d := range wire.Docs(wire.Props(r.Body), u.field) {
				if strings.EqualFold(wire.Ref(wire.Props(d), "publicIPAddress"), id) {
					out = append(out, wire.Text(d, "id"))
				}
			}
		}
	}
	for _, r := range c.within("", typeNAT) {
		for _, d := range wire.Docs(wire.Props(r.Body), "publicIpAddresses") {
			if strings.EqualFold(wire.Text(d, "id"), id) {
				out = append(out, r.ID)
			}
		}
	}
	return out
}

func (c *call) publicIPUser(id string) string {
	if users := c.publicIPUsers(id); len(users) > 0 {
		return users[0]
	}
	return ""
}

// takePublicIP has each address serve one user.
func (c *call) takePublicIP(by *Resource, user, id string) error {
	if c.get(id) == nil {
		return missingReference(id, by)
	}
	for _, other := range c.publicIPUsers(id) {
		if key(other) != key(user) {
			return badRequest("PublicIPAddressInUse", "Resource %s is referencing public IP address %s that is already allocated to resource %s.", user, id, other)
		}
	}
	return nil
}

func putNAT(c *call, r *Resource, _ Doc) error {
	for _, d := range wire.Docs(wire.Props(r.Body), "publicIpAddresses") {
		if err := c.takePublicIP(r, r.ID, wire.Text(d, "id")); err != nil {
			return err
		}
	}
	return nil
}

func viewPublicIP(c *call, r *Resource, d Doc) {
	if user := c.publicIPUser(r.ID); user != "" {
		wire.EnsureProps(d)["ipConfiguration"] = Doc{"id": user}
	}
}

func guardPublicIP(c *call, r *Resource) error {
	if user := c.publicIPUser(r.ID); user != "" {
		return badRequest("PublicIPAddressCannotBeDeleted", "Public IP address %s can not be deleted since it is still allocated to resource %s. In order to delete the public IP, disassociate/detach the Public IP address from the resource.", r.ID, user)
	}
	return nil
}

func putNIC(c *call, r *Resource, old Doc) error {
	p := wire.EnsureProps(r.Body)
	configs := wire.Docs(p, "ipConfigurations")
	if len(configs) == 0 {
		return badRequest("InvalidRequestFormat", "Network interface '%s' has no IP configuration.", r.Name)
	}
	for i, d := range configs {
		ip := wire.EnsureProps(d)
		subnet := c.get(wire.Ref(ip, "subnet"))
		if subnet == nil {
			return missingReference(wire.Ref(ip, "subnet"), r)
		}
		if id := wire.Ref(ip, "publicIPAddress"); id != "" {
			if err := c.takePublicIP(r, wire.Text(d, "id"), id); err != nil {
				return err
			}
		}
		for _, pool := range wire.Docs(ip, "loadBalancerBackendAddressPools") {
			if pp, err := ParsePath(wire.Text(pool, "id")); err != nil || c.inlineChild(pp) == nil {
				return missingReference(wire.Text(pool, "id"), r)
			}
		}
		keepAddress(old, d)
		if err := c.placeIn(subnet, ip, wire.Text(d, "id")); err != nil {
			return err
		}
		wire.Default(ip, "primary", i == 0)
		wire.Default(ip, "privateIPAllocationMethod", "Dynamic")
		wire.Default(ip, "privateIPAddressVersion", "IPv4") // the cloud-controller-manager dereferences it
	}
	wire.Default(p, "macAddress", macOf(r.ID))
	wire.Default(p, "enableIPForwarding", false)
	wire.Default(p, "enableAcceleratedNetworking", false)
	return nil
}

// keepAddress leaves a dynamic address as it is when a PUT does not repeat it.
func keepAddress(old, config Doc) {
	ip := wire.EnsureProps(config)
	if wire.Text(ip, "privateIPAddress") != "" {
		return
	}
	for _, o := range wire.Docs(wire.Props(old), "ipConfigurations") {
		op := wire.Props(o)
		if strings.EqualFold(wire.Text(o, "name"), wire.Text(config, "name")) && strings.EqualFold(wire.Ref(op, "subnet"), wire.Ref(ip, "subnet")) {
			ip["privateIPAddress"] = op["privateIPAddress"]
		}
	}
}

// macOf derives a stable address in Microsoft's range.
func macOf(id string) string {
	h := fnv.New32a()
	h.Write([]byte(key(id)))
	n := h.Sum32()
	return fmt.Sprintf("00-0D-3A-%02X-%02X-%02X", byte(n>>16), byte(n>>8), byte(n))
}

func guardNIC(c *call, r *Resource) error {
	if vm := wire.Ref(wire.Props(r.Body), "virtualMachine"); vm != "" && c.get(vm) != nil {
		return badRequest("NicInUse", "Network Interface %s is used by existing resource %s. In order to delete the network interface, it must be dissociated from the resource. To learn more, see aka.ms/deletenic.", r.ID, vm)
	}
	return nil
}

func missingReference(id string, by *Resource) error {
	return badRequest("InvalidResourceReference", "Resource %s referenced by resource %s was not found. Please make sure that the referenced resource exists, and that both resources are in the same region.", id, by.ID)
}
