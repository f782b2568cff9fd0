// Package network is Microsoft.Network of the embedded Azure without DNS: networks, security groups, interfaces, addresses and balancers.
package network

import (
	"net/netip"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Resource types of networks.
const (
	TypeVNet         = "Microsoft.Network/virtualNetworks"
	TypeSubnet       = TypeVNet + "/subnets"
	typeNSG          = "Microsoft.Network/networkSecurityGroups"
	TypeSecurityRule = typeNSG + "/securityRules"
	TypeNIC          = "Microsoft.Network/networkInterfaces"
	typePublicIP     = "Microsoft.Network/publicIPAddresses"
	typeNAT          = "Microsoft.Network/natGateways"
	typePrivateLink  = "Microsoft.Network/privateLinkServices"
	typeRouteTable   = "Microsoft.Network/routeTables"
	TypeRoute        = typeRouteTable + "/routes"
)

var networkKinds = []*provider.Kind{
	{Type: TypeVNet, Async: true, Name: networkName("2", "64"), Put: putVNet, Guard: guardVNet, Embed: []provider.Child{
		{Prop: "subnets", Type: TypeSubnet, Stay: true}}, Links: subnetLinks("properties.subnets.*.")},
	{Type: TypeSubnet, Async: true, Name: commonName, Put: putSubnet, Guard: guardSubnet, Links: subnetLinks("")},
	{Type: typeNSG, Async: true, Name: commonName, Put: putNSG, Guard: guardNSG, Embed: []provider.Child{{Prop: "securityRules", Type: TypeSecurityRule}}},
	{Type: TypeSecurityRule, Async: true, Name: commonName, Put: putSecurityRule},
	{Type: typeRouteTable, Async: true, Name: commonName, Guard: guardAttached("routeTable", "InUseRouteTableCannotBeDeleted"), Embed: []provider.Child{{Prop: "routes", Type: TypeRoute}}},
	{Type: TypeRoute, Async: true, Put: putRoute},
	{Type: typeNAT, Async: true, Name: commonName, Put: putNAT, Guard: guardAttached("natGateway", "InUseNatGatewayCannotBeDeleted"), Links: []provider.Link{{Field: "properties.publicIpAddresses.*.id", Action: joinPublicIP}}},
	{Type: typePrivateLink, Async: true, Put: notServed(typePrivateLink)}, // the cloud controller manager lists them
	{Type: typePublicIP, Async: true, Name: commonName, Put: putPublicIP, Guard: guardPublicIP, View: viewPublicIP, Keep: []string{"ipAddress", "resourceGuid"}},
	{Type: TypeNIC, Async: true, Name: commonName, Put: putNIC, Guard: guardNIC, Inline: []string{"ipConfigurations"},
		Keep: []string{"virtualMachine", "macAddress", "resourceGuid"}, Links: []provider.Link{
			{Field: "properties.networkSecurityGroup.id", Action: joinNSG},
			{Field: "properties.ipConfigurations.*.properties.subnet.id", Action: provider.JoinSubnet},
			{Field: "properties.ipConfigurations.*.properties.publicIPAddress.id", Action: joinPublicIP},
			{Field: "properties.ipConfigurations.*.properties.loadBalancerBackendAddressPools.*.id", Action: TypeLoadBalancer + "/backendAddressPools/join/action"},
			{Field: "properties.ipConfigurations.*.properties.loadBalancerInboundNatRules.*.id", Action: TypeLoadBalancer + "/inboundNatRules/join/action"}}},
}

// Rights at what is linked.
const (
	joinNSG      = typeNSG + "/join/action"
	joinPublicIP = typePublicIP + "/join/action"
)

// subnetLinks are those of a subnet, and with a prefix those of the subnets in a network's document.
func subnetLinks(prefix string) []provider.Link {
	return []provider.Link{{Field: prefix + "properties.networkSecurityGroup.id", Action: joinNSG}, {Field: prefix + "properties.routeTable.id", Action: typeRouteTable + "/join/action"},
		{Field: prefix + "properties.natGateway.id", Action: typeNAT + "/join/action"}}
}

// notServed refuses to make what would only look made: nothing would go through it.
func notServed(typ string) func(*provider.Call, *provider.Resource, wire.Doc) error {
	return func(*provider.Call, *provider.Resource, wire.Doc) error {
		return provider.Failf(wire.NotServedStatus, wire.NotServedCode, "%s", wire.NotServed("'"+typ+"'"))
	}
}

func putVNet(c *provider.Call, r *provider.Resource, _ wire.Doc) error {
	p := wire.EnsureProps(r.Body)
	spaces := wire.Texts(wire.Sub(p, "addressSpace"), "addressPrefixes")
	if len(spaces) == 0 {
		return provider.BadRequest("InvalidRequestFormat", "Virtual network '%s' has no address space.", r.Name)
	}
	for _, space := range spaces {
		if err := checkPrefix(space, r); err != nil {
			return err
		}
	}
	if len(wire.List(p, "virtualNetworkPeerings")) > 0 {
		return notServed(TypeVNet+"/virtualNetworkPeerings")(c, r, nil)
	}
	p["virtualNetworkPeerings"] = []any{}
	wire.Default(p, "enableDdosProtection", false)
	for _, s := range c.Within(r.ID, TypeSubnet) {
		if err := subnetFits(c, r, s); err != nil {
			return err
		}
	}
	return nil
}

// checkPrefix wants a block in CIDR notation that begins where its length says.
func checkPrefix(text string, r *provider.Resource) error {
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return provider.BadRequest("InvalidAddressPrefixFormat",
			"Address prefix %s of resource %s is not formatted correctly. It should follow CIDR notation, for example 10.0.0.0/24.", text, r.ID)
	case prefix != prefix.Masked():
		return provider.BadRequest("InvalidCIDRNotation",
			"The address prefix %s in resource %s has an invalid CIDR notation. For the given prefix length, the address prefix should be %s.", text, r.ID,
			prefix.Masked())
	}
	return nil
}

// privateByDefault is the first api-version by which a new subnet has no default outbound access
// (https://learn.microsoft.com/azure/virtual-network/ip-services/default-outbound-access).
const privateByDefault = "2025-07-01"

func putSubnet(c *provider.Call, r *provider.Resource, old wire.Doc) error {
	p := wire.EnsureProps(r.Body)
	if old == nil && c.Req.URL.Query().Get("api-version") >= privateByDefault {
		wire.Default(p, "defaultOutboundAccess", false)
	}
	wire.Default(p, "privateEndpointNetworkPolicies", "Disabled")
	wire.Default(p, "privateLinkServiceNetworkPolicies", "Enabled")
	if list := wire.Texts(p, "addressPrefixes"); len(list) == 1 {
		wire.Default(p, "addressPrefix", list[0])
	}
	if err := checkPrefix(wire.Text(p, "addressPrefix"), r); err != nil {
		return err
	}
	for _, ref := range []string{"networkSecurityGroup", "routeTable", "natGateway"} {
		if id := wire.Ref(p, ref); id != "" && c.Get(id) == nil {
			return provider.MissingReference(id, r)
		}
	}
	vnet := c.Get(r.ID[:strings.LastIndex(r.ID, "/subnets/")])
	if vnet == nil {
		return nil
	}
	return subnetFits(c, vnet, r)
}

func subnetFits(c *provider.Call, vnet, s *provider.Resource) error {
	own, err := netip.ParsePrefix(wire.Text(wire.Props(s.Body), "addressPrefix"))
	if err != nil {
		return provider.BadRequest("InvalidCIDRNotation", "The address prefix of subnet '%s' is no CIDR block.", s.Name)
	}
	inside := false
	for _, text := range wire.Texts(wire.Sub(wire.Props(vnet.Body), "addressSpace"), "addressPrefixes") {
		space, err := netip.ParsePrefix(text)
		inside = inside || err == nil && space.Bits() <= own.Bits() && space.Contains(own.Addr())
	}
	if !inside {
		return provider.BadRequest("NetcfgInvalidSubnet", "Subnet '%s' is not valid because its IP address range is outside the IP address range of virtual network '%s'.", s.Name, vnet.Name)
	}
	for _, o := range c.Within(vnet.ID, TypeSubnet) {
		other, err := netip.ParsePrefix(wire.Text(wire.Props(o.Body), "addressPrefix"))
		if err == nil && provider.Key(o.ID) != provider.Key(s.ID) && other.Overlaps(own) {
			return provider.BadRequest("NetcfgSubnetRangesOverlap", "Subnet '%s' is not valid because its IP address range overlaps with that of an existing subnet in virtual network '%s'.", s.Name, vnet.Name)
		}
	}
	return nil
}

func guardVNet(c *provider.Call, r *provider.Resource) error {
	for _, s := range c.Within(r.ID, TypeSubnet) {
		if err := guardSubnet(c, s); err != nil {
			return err
		}
	}
	return nil
}

func guardSubnet(c *provider.Call, r *provider.Resource) error {
	for _, a := range addresses(c) {
		if provider.Key(a.subnet) == provider.Key(r.ID) {
			return provider.BadRequest("InUseSubnetCannotBeDeleted", "Subnet %s is in use by %s and cannot be deleted. In order to delete the subnet, delete all the resources within the subnet. See aka.ms/deletesubnet.", r.Name, a.owner)
		}
	}
	return nil
}
