package network

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

func putNSG(c *provider.Call, r *provider.Resource, _ wire.Doc) error {
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
		rules = append(rules, wire.Doc{"id": r.ID + "/defaultSecurityRules/" + d.name, "name": d.name, "type": typeNSG + "/defaultSecurityRules", "properties": wire.Doc{
			"access": d.access, "direction": d.direction, "priority": d.priority, "protocol": "*", "provisioningState": "Succeeded",
			"sourcePortRange": "*", "destinationPortRange": "*", "sourceAddressPrefix": d.from, "destinationAddressPrefix": d.to}})
	}
	wire.EnsureProps(r.Body)["defaultSecurityRules"] = rules
	return nil
}

// checkEnds wants a rule to say from where and to where, in addresses and ports that there are. Names of services are taken as they come.
func checkEnds(p wire.Doc, r *provider.Resource) error {
	for _, end := range []string{"source", "destination"} {
		title := strings.ToUpper(end[:1]) + end[1:]
		prefixes := allOf(p, end+"AddressPrefix", end+"AddressPrefixes")
		if len(prefixes)+len(wire.List(p, end+"ApplicationSecurityGroups")) == 0 {
			return lacking(r, title+"AddressPrefixes, "+title+"AddressPrefix, or "+title+"ApplicationSecurityGroups")
		}
		for _, prefix := range prefixes {
			if strings.ContainsAny(prefix[:1], "0123456789:") && !isAddresses(prefix) {
				return provider.BadRequest("SecurityRuleInvalidAddressPrefix", "Security rule %s has invalid Address prefix. Value provided: %s", r.ID, prefix)
			}
		}
		ports := allOf(p, end+"PortRange", end+"PortRanges")
		if len(ports) == 0 {
			return lacking(r, title+"PortRanges or "+title+"PortRange")
		}
		for _, port := range ports {
			if !isPorts(port) {
				return provider.BadRequest("SecurityRuleInvalidPortRange",
					"Security rule has invalid Port range. Value provided: %s. Value should be an integer OR integer range with '-' delimiter. Valid range "+
						"0-65535.", port)
			}
		}
	}
	return nil
}

// allOf are the values of a field and of the list beside it.
func allOf(p wire.Doc, one, many string) []string {
	out := wire.Texts(p, many)
	if s := wire.Text(p, one); s != "" {
		out = append(out, s)
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

func lacking(r *provider.Resource, fields string) error {
	return provider.BadRequest("SecurityRuleParametersMissing",
		"Required security rule parameters are missing for security rule with Id: %s. Security rule must specify %s.", r.ID, fields)
}

// isAddresses tells whether a text is an address or a block of them.
func isAddresses(text string) bool {
	_, address := netip.ParseAddr(text)
	_, block := netip.ParsePrefix(text)
	return address == nil || block == nil
}

// isPorts tells whether a text is a port, a range of them, or all.
func isPorts(text string) bool {
	from, to, isRange := strings.Cut(text, "-")
	first, err := strconv.ParseUint(from, 10, 16)
	if text == "*" || err != nil || !isRange {
		return text == "*" || err == nil
	}
	last, err := strconv.ParseUint(to, 10, 16)
	return err == nil && first <= last
}

func guardNSG(c *provider.Call, r *provider.Resource) error {
	for _, typ := range []string{TypeSubnet, TypeNIC} {
		for _, s := range c.Within("", typ) {
			if strings.EqualFold(wire.Ref(wire.Props(s.Body), "networkSecurityGroup"), r.ID) {
				return provider.BadRequest("InUseNetworkSecurityGroupCannotBeDeleted", "Network security group %s cannot be deleted because it is in use by the following resources: %s. In order to delete the Network security group, remove the association with the resource(s).", r.ID, s.ID)
			}
		}
	}
	return nil
}

func putSecurityRule(c *provider.Call, r *provider.Resource, _ wire.Doc) error {
	p := wire.EnsureProps(r.Body)
	priority := wire.Number(p, "priority")
	if priority < 100 || priority > 4096 {
		return provider.BadRequest("SecurityRuleInvalidPriority", "Security rule '%s' has an invalid priority %d: it must be between 100 and 4096.", r.Name, priority)
	}
	if err := checkEnds(p, r); err != nil {
		return err
	}
	for _, field := range []string{"sourceApplicationSecurityGroups", "destinationApplicationSecurityGroups"} {
		if len(wire.List(p, field)) > 0 { // without the group the rule would be for any address
			return notServed("Microsoft.Network/applicationSecurityGroups")(c, r, nil)
		}
	}
	nsg := r.ID[:strings.LastIndex(r.ID, "/securityRules/")]
	for _, o := range c.Within(nsg, TypeSecurityRule) {
		q := wire.Props(o.Body)
		if o.ID != r.ID && wire.Number(q, "priority") == priority && strings.EqualFold(wire.Text(q, "direction"), wire.Text(p, "direction")) {
			return provider.BadRequest("SecurityRuleConflict", "Security rule %s conflicts with rule %s. Rules cannot have the same Priority and Direction.", r.Name, o.Name)
		}
	}
	return nil
}
