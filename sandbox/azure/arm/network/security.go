package network

import (
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
