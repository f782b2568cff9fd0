package arm

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const (
	vnetID = networkIn + "virtualNetworks/vnet"
	nsgID  = networkIn + "networkSecurityGroups/nsg"
)

// vnetOf is a network of 10.0.0.0/16 with subnets: pairs of a name and a prefix.
func vnetOf(subnets ...string) string {
	var list []string
	for i := 0; i+1 < len(subnets); i += 2 {
		list = append(list, fmt.Sprintf(`{"name":%q,"properties":{"addressPrefix":%q}}`, subnets[i], subnets[i+1]))
	}
	return `{"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},"subnets":[` + strings.Join(list, ",") + `]}}`
}

// nicIn is an interface in a subnet; address may be empty.
func nicIn(subnet, address string) string {
	return fmt.Sprintf(`{"location":"westeurope","properties":{"ipConfigurations":[{"name":"ip","properties":{"subnet":{"id":"%s/subnets/%s"},
		"privateIPAddress":"%s","privateIPAllocationMethod":"%s"}}]}}`,
		vnetID, subnet, address, map[bool]string{true: "Dynamic", false: "Static"}[address == ""])
}

// ruleOf is a security rule with all that Azure demands.
func ruleOf(priority int, direction string, more string) string {
	const ends = `,"sourceAddressPrefix":"*","sourcePortRange":"*","destinationAddressPrefix":"*","destinationPortRange":"*"`
	return fmt.Sprintf(`{"properties":{"priority":%d,"direction":%q,"access":"Allow","protocol":"Tcp"%s%s}}`, priority, direction, ends, more)
}

func TestAddressSpaces(t *testing.T) {
	for name, c := range map[string]struct {
		body, code string
	}{
		"no address space": {`{"location":"westeurope","properties":{}}`, "InvalidRequestFormat"},
		"an address": {`{"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0"]}}}`,
			"InvalidAddressPrefixFormat"},
		"bits beyond the length":       {`{"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.0.0.1/16"]}}}`, "InvalidCIDRNotation"},
		"a subnet that is no block":    {vnetOf("a", "10.0.0.0/33"), "InvalidAddressPrefixFormat"},
		"a subnet that begins inside":  {vnetOf("a", "10.0.0.4/24"), "InvalidCIDRNotation"},
		"a subnet outside":             {vnetOf("a", "10.1.0.0/24"), "NetcfgInvalidSubnet"},
		"a subnet larger than its net": {vnetOf("a", "10.0.0.0/15"), "NetcfgInvalidSubnet"},
		"two subnets that overlap":     {vnetOf("a", "10.0.0.0/24", "b", "10.0.0.128/25"), "NetcfgSubnetRangesOverlap"},
		"two subnets of one name":      {vnetOf("a", "10.0.0.0/24", "A", "10.0.1.0/24"), "InvalidRequestFormat"},
		"a subnet without a name":      {vnetOf("", "10.0.0.0/24"), "InvalidRequestFormat"},
		"a subnet with a slash in it":  {vnetOf("a/b", "10.0.0.0/24"), "InvalidRequestFormat"},
		"a subnet with a missing group": {`{"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},"subnets":[{"name":"a",
			"properties":{"addressPrefix":"10.0.0.0/24","networkSecurityGroup":{"id":"` + nsgID + `"}}}]}}`, "InvalidResourceReference"},
	} {
		s := gateway(t)
		status, code, _ := send(s, owner, put, vnetID, parse(t, c.body))
		if status != http.StatusBadRequest || code != c.code {
			t.Errorf("%s: %d %s, want 400 %s", name, status, code, c.code)
		}
	}
	s := gateway(t)
	play(t, s, step{put, vnetID, vnetOf("a", "10.0.0.0/24", "b", "10.0.1.0/24"), 201, ""},
		step{put, vnetID + "/subnets/whole", `{"properties":{"addressPrefix":"10.0.0.0/16"}}`, 400, "NetcfgSubnetRangesOverlap"},
		step{put, vnetID + "/subnets/c", `{"properties":{"addressPrefixes":["10.0.2.0/24"]}}`, 201, ""}, // the newer spelling, one block
		step{put, vnetID + "/subnets/a", `{"properties":{"addressPrefix":"10.0.0.0/25"}}`, 200, ""})
	if got := at(shown(t, s, vnetID+"/subnets/c"), "properties.addressPrefix"); got != "10.0.2.0/24" {
		t.Errorf("the prefix of a subnet with a list of one is %v", got)
	}
}

// A PUT of a network has the subnets that it lists: one may take the range of another that goes, and two may change places. A PUT that lists none
// leaves them, as Azure has done since 2025 (https://learn.microsoft.com/azure/azure-resource-manager/bicep/scenarios-virtual-networks).
func TestSubnetsOfANetworkAreReplaced(t *testing.T) {
	s := gateway(t)
	have(t, s, vnetID, vnetOf("a", "10.0.0.0/24", "b", "10.0.1.0/24"))
	play(t, s, step{put, vnetID, vnetOf("a", "10.0.1.0/24", "b", "10.0.0.0/24"), 200, ""})
	if got := at(shown(t, s, vnetID+"/subnets/a"), "properties.addressPrefix"); got != "10.0.1.0/24" {
		t.Errorf("a has %v", got)
	}
	play(t, s, step{put, vnetID, vnetOf("a", "10.0.1.0/24", "c", "10.0.0.0/24"), 200, ""}, step{get, vnetID + "/subnets/b", "", 404, "NotFound"})
	play(t, s, step{put, vnetID, `{"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]}}}`, 200, ""})
	if got := names(want(t, s, owner, get, vnetID+"/subnets", nil, 200)); got != "a c" {
		t.Errorf("subnets after a PUT without any: %s", got)
	}
	play(t, s, step{put, vnetID, `{"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.2.0.0/16"]}}}`, 400, "NetcfgInvalidSubnet"})
	have(t, s, networkIn+"networkInterfaces/nic", nicIn("c", ""))
	play(t, s, step{put, vnetID, vnetOf("a", "10.0.1.0/24"), 400, "InUseSubnetCannotBeDeleted"})
	if got := names(want(t, s, owner, get, vnetID+"/subnets", nil, 200)); got != "a c" {
		t.Errorf("a refused PUT has left %s", got)
	}
}

// Azure keeps the first four addresses of a subnet and the last one: https://learn.microsoft.com/azure/virtual-network/virtual-networks-faq.
func TestPrivateAddresses(t *testing.T) {
	s := gateway(t)
	nic := func(name string) string { return networkIn + "networkInterfaces/" + name }
	have(t, s, vnetID, vnetOf("a", "10.0.0.0/29", "b", "10.0.1.0/24"))
	for _, reserved := range []string{"10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.7"} {
		play(t, s, step{put, nic("r"), nicIn("a", reserved), 400, "PrivateIPAddressInReservedRange"})
	}
	play(t, s, step{put, nic("x"), nicIn("a", "10.0.1.9"), 400, "PrivateIPAddressNotInSubnet"},
		step{put, nic("x"), nicIn("a", "ten"), 400, "PrivateIPAddressNotInSubnet"},
		step{put, nic("one"), nicIn("a", "10.0.0.5"), 201, ""},
		step{put, nic("x"), nicIn("a", "10.0.0.5"), 400, "PrivateIPAddressIsAllocated"},
		step{put, nic("one"), nicIn("a", "10.0.0.5"), 200, ""}, // its own
		step{put, nic("two"), nicIn("a", ""), 201, ""}, step{put, nic("three"), nicIn("a", ""), 201, ""},
		step{put, nic("four"), nicIn("a", ""), 400, "SubnetIsFull"},
		step{put, nic("two"), nicIn("a", ""), 200, ""})
	addressOf := func(name string) any {
		return at(wire.Docs(wire.Props(shown(t, s, nic(name))), "ipConfigurations")[0], "properties.privateIPAddress")
	}
	if two, three := addressOf("two"), addressOf("three"); two != "10.0.0.4" || three != "10.0.0.6" {
		t.Errorf("dynamic addresses are %v and %v: the lowest that are free are 10.0.0.4 and 10.0.0.6", two, three)
	}
	play(t, s, step{remove, nic("one"), "", 202, ""}, step{put, nic("four"), nicIn("a", ""), 201, ""})
	if got := addressOf("four"); got != "10.0.0.5" {
		t.Errorf("the address of a deleted interface is not given again: %v", got)
	}
	play(t, s, step{put, nic("four"), nicIn("b", ""), 200, ""}) // to another subnet, with another address
	if got := addressOf("four"); got != "10.0.1.4" {
		t.Errorf("after a move to another subnet the address is %v", got)
	}
}

func TestInterfacesThatAzureRefuses(t *testing.T) {
	s := gateway(t)
	nic := networkIn + "networkInterfaces/nic"
	have(t, s, vnetID, vnetOf("a", "10.0.0.0/24"), networkIn+"virtualNetworks/far",
		`{"location":"northeurope","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},"subnets":[{"name":"a",
		"properties":{"addressPrefix":"10.0.0.0/24"}}]}}`)
	with := func(more string) string {
		return `{"location":"westeurope","properties":{"ipConfigurations":[{"name":"ip","properties":{"subnet":{"id":"` + vnetID + `/subnets/a"}` + more +
			`}}]}}`
	}
	play(t, s, step{put, nic, `{"location":"westeurope","properties":{"ipConfigurations":[]}}`, 400, "InvalidRequestFormat"},
		step{put, nic, nicIn("none", ""), 400, "InvalidResourceReference"},
		step{put, nic, strings.Replace(nicIn("a", ""), "virtualNetworks/vnet", "virtualNetworks/far", 1), 400, "InvalidResourceReference"}, // of another region
		step{put, nic, with(`,"publicIPAddress":{"id":"` + networkIn + `publicIPAddresses/none"}`), 400, "InvalidResourceReference"},
		step{put, nic, with(`,"loadBalancerBackendAddressPools":[{"id":"` + networkIn + `loadBalancers/none/backendAddressPools/p"}]`), 400,
			"InvalidResourceReference"},
		step{put, nic, `{"location":"westeurope","properties":{"networkSecurityGroup":{"id":"` + nsgID + `"},` +
			strings.TrimPrefix(nicIn("a", ""), `{"location":"westeurope","properties":{`), 400, "InvalidResourceReference"},
		step{get, nic, "", 404, "ResourceNotFound"},
		step{put, nic, strings.Replace(nicIn("a", ""), `"ipConfigurations":[`,
			`"ipConfigurations":[{"name":"IP","properties":{"subnet":{"id":"`+vnetID+`/subnets/a"}}},`, 1), 400, "InvalidRequestFormat"}) // two of one name
	have(t, s, nic, nicIn("a", ""))
	d := shown(t, s, nic)
	mac, _ := at(d, "properties.macAddress").(string)
	config := wire.Docs(wire.Props(d), "ipConfigurations")[0]
	if !strings.HasPrefix(mac, "00-0D-3A-") || at(config, "properties.primary") != true || at(config, "id") != nic+"/ipConfigurations/ip" ||
		at(config, "properties.privateIPAddressVersion") != "IPv4" {
		t.Errorf("what clients read of an interface: %v", d)
	}
	have(t, s, nic, nicIn("a", ""))
	if again := at(shown(t, s, nic), "properties.macAddress"); again != mac {
		t.Errorf("the address of the card was %s and is %v", mac, again)
	}
}

func TestSecurityRules(t *testing.T) {
	s := gateway(t)
	have(t, s, nsgID, `{"location":"westeurope"}`, nsgID+"/securityRules/ssh", ruleOf(100, "Inbound", ""))
	rule := nsgID + "/securityRules/r"
	without := func(field string) string {
		return strings.Replace(ruleOf(200, "Inbound", ""), `,"`+field+`":"*"`, "", 1)
	}
	with := func(field, value string) string {
		return strings.Replace(ruleOf(200, "Inbound", ""), `"`+field+`":"*"`, `"`+field+`":"`+value+`"`, 1)
	}
	for _, priority := range []int{-1, 0, 99, 4097} {
		play(t, s, step{put, rule, ruleOf(priority, "Inbound", ""), 400, "SecurityRuleInvalidPriority"})
	}
	play(t, s, step{put, rule, ruleOf(100, "Inbound", ""), 400, "SecurityRuleConflict"},
		step{put, nsgID + "/securityRules/ssh", ruleOf(100, "Inbound", ""), 200, ""}, // itself
		step{put, rule, ruleOf(100, "Outbound", ""), 201, ""},                        // each direction counts for itself
		step{put, rule, ruleOf(4096, "Inbound", ""), 200, ""})
	for _, field := range []string{"sourceAddressPrefix", "sourcePortRange", "destinationAddressPrefix", "destinationPortRange"} {
		play(t, s, step{put, rule, without(field), 400, "SecurityRuleParametersMissing"})
	}
	for value, code := range map[string]string{"0": "", "65535": "", "80-443": "", "443-443": "", "65536": "SecurityRuleInvalidPortRange",
		"443-80": "SecurityRuleInvalidPortRange", "80,443": "SecurityRuleInvalidPortRange",
		"-1": "SecurityRuleInvalidPortRange", "http": "SecurityRuleInvalidPortRange", "80-": "SecurityRuleInvalidPortRange"} {
		play(t, s, step{put, rule, with("destinationPortRange", value), map[bool]int{true: 200, false: 400}[code == ""], code})
	}
	for value, code := range map[string]string{"10.0.0.1": "", "10.0.0.0/8": "", "VirtualNetwork": "", "AzureCloud.westeurope": "", "fd00::/8": "",
		"10.0.0.0/33": "SecurityRuleInvalidAddressPrefix", "10.0.0": "SecurityRuleInvalidAddressPrefix"} {
		play(t, s, step{put, rule, with("sourceAddressPrefix", value), map[bool]int{true: 200, false: 400}[code == ""], code})
	}
	play(t, s, step{put, rule, strings.Replace(without("destinationPortRange"), `}}`, `,"destinationPortRanges":["80","8080-8090"]}}`, 1), 200, ""},
		step{put, rule, strings.Replace(without("destinationPortRange"), `}}`, `,"destinationPortRanges":["80","x"]}}`, 1), 400,
			"SecurityRuleInvalidPortRange"},
		step{put, nsgID + "/securityRules/-bad", ruleOf(300, "Inbound", ""), 400, "InvalidResourceName"})
}

// A PUT of a security group has the rules that it lists. They are judged as a whole: a new one may have the priority of one that goes.
func TestRulesOfAGroupAreReplaced(t *testing.T) {
	s := gateway(t)
	group := func(rules ...string) string {
		var list []string
		for i := 0; i+1 < len(rules); i += 2 {
			list = append(list, `{"name":"`+rules[i]+`",`+rules[i+1][1:])
		}
		return `{"location":"westeurope","properties":{"securityRules":[` + strings.Join(list, ",") + `]}}`
	}
	in := func(priority int) string { return ruleOf(priority, "Inbound", "") }
	play(t, s, step{put, nsgID, group("a", in(100), "b", in(110)), 201, ""},
		step{put, nsgID, group("a", in(110), "b", in(100)), 200, ""},
		step{put, nsgID, group("c", in(100), "b", in(110)), 200, ""},
		step{put, nsgID, group("c", in(100), "b", in(100)), 400, "SecurityRuleConflict"},
		step{put, nsgID, group("c", in(100), "C", in(110)), 400, "InvalidRequestFormat"},
		step{get, nsgID + "/securityRules/a", "", 404, "NotFound"}, step{get, nsgID + "/securityRules/b", "", 200, ""})
	d := shown(t, s, nsgID)
	rules, defaults := wire.Docs(wire.Props(d), "securityRules"), wire.Docs(wire.Props(d), "defaultSecurityRules")
	if len(rules) != 2 || len(defaults) != 6 {
		t.Errorf("%d rules and %d default rules, want 2 and the 6 of Azure", len(rules), len(defaults))
	}
	for _, r := range rules {
		if at(r, "properties.provisioningState") != "Succeeded" || wire.Text(r, "etag") == "" ||
			!strings.HasPrefix(wire.Text(r, "id"), nsgID+"/securityRules/") {
			t.Errorf("a rule inside of its group: %v", r)
		}
	}
	play(t, s, step{put, nsgID, group(), 200, ""}, step{get, nsgID + "/securityRules/b", "", 404, "NotFound"})
}

// What others refer to stays.
func TestNetworksInUse(t *testing.T) {
	s := gateway(t)
	table, nat, pip := networkIn+"routeTables/rt", networkIn+"natGateways/nat", networkIn+"publicIPAddresses/pip"
	nic, lb, front := networkIn+"networkInterfaces/nic", networkIn+"loadBalancers/lb", networkIn+"publicIPAddresses/front"
	address := `{"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}`
	have(t, s, nsgID, `{"location":"westeurope"}`, table, `{"location":"westeurope"}`, pip, address, front, address,
		nat, `{"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIpAddresses":[{"id":"`+pip+`"}]}}`,
		vnetID, `{"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},"subnets":[{"name":"a",
			"properties":{"addressPrefix":"10.0.0.0/24","networkSecurityGroup":{"id":"`+nsgID+`"},"routeTable":{"id":"`+table+`"},"natGateway":{"id":"`+
			nat+`"}}}]}}`,
		nic, nicIn("a", ""),
		lb, `{"location":"westeurope","sku":{"name":"Standard"},"properties":{"frontendIPConfigurations":[{"name":"out",
			"properties":{"publicIPAddress":{"id":"`+front+`"}}},{"name":"in","properties":{"subnet":{"id":"`+vnetID+`/subnets/a"}}}]}}`)
	play(t, s, step{remove, nsgID, "", 400, "InUseNetworkSecurityGroupCannotBeDeleted"}, step{remove, table, "", 400, "InUseRouteTableCannotBeDeleted"},
		step{remove, nat, "", 400, "InUseNatGatewayCannotBeDeleted"},
		step{remove, pip, "", 400, "PublicIPAddressCannotBeDeleted"}, step{remove, front, "", 400, "PublicIPAddressCannotBeDeleted"},
		step{remove, vnetID, "", 400, "InUseSubnetCannotBeDeleted"}, step{remove, vnetID + "/subnets/a", "", 400, "InUseSubnetCannotBeDeleted"})
	if by := at(shown(t, s, front), "properties.ipConfiguration.id"); by != lb+"/frontendIPConfigurations/out" {
		t.Errorf("the address in use says it is used by %v", by)
	}
	play(t, s, step{remove, nic, "", 202, ""}, step{remove, vnetID, "", 400, "InUseSubnetCannotBeDeleted"}, // the balancer still has an address there
		step{remove, lb, "", 202, ""}, step{remove, front, "", 202, ""}, step{remove, vnetID, "", 202, ""}, step{remove, nsgID, "", 202, ""},
		step{remove, table, "", 202, ""}, step{remove, pip, "", 400, "PublicIPAddressCannotBeDeleted"}, step{remove, nat, "", 202, ""},
		step{remove, pip, "", 202, ""})
}

func TestRoutesOfATable(t *testing.T) {
	s := gateway(t)
	table := networkIn + "routeTables/rt"
	have(t, s, table, `{"location":"westeurope"}`)
	route := func(prefix, hop, address string) string {
		more := ""
		if address != "" {
			more = `,"nextHopIpAddress":"` + address + `"`
		}
		return `{"properties":{"addressPrefix":"` + prefix + `","nextHopType":"` + hop + `"` + more + `}}`
	}
	play(t, s, step{put, table + "/routes/r", route("10.1.0.0/16", "VirtualAppliance", "10.0.0.9"), 201, ""},
		step{put, table + "/routes/x", route("10.1.0.0/16", "VirtualAppliance", ""), 400, "RouteNextHopIpAddressIsInvalid"},
		step{put, table + "/routes/x", route("10.1.0.0/16", "VirtualAppliance", "here"), 400, "RouteNextHopIpAddressIsInvalid"},
		step{put, table + "/routes/x", route("10.1.0.0/16", "None", "10.0.0.9"), 400, "InvalidNextHopIpAddress"},
		step{put, table + "/routes/x", route("10.1.0.0", "None", ""), 400, "InvalidAddressPrefixFormat"},
		step{put, table + "/routes/x", route("Storage", "Internet", ""), 501, wire.NotServedCode},
		step{put, table + "/routes/x", route("0.0.0.0/0", "VirtualNetworkGateway", ""), 501, wire.NotServedCode},
		step{put, table + "/routes/x", route("0.0.0.0/0", "Sideways", ""), 400, "InvalidRequestFormat"},
		step{put, networkIn + "routeTables/none/routes/r", route("10.1.0.0/16", "None", ""), 404, "ParentResourceNotFound"})
	if got := names(want(t, s, owner, get, table+"/routes", nil, 200)); got != "r" {
		t.Errorf("routes: %s", got)
	}
}

func TestPublicAddresses(t *testing.T) {
	s := gateway(t)
	pip := func(name string) string { return networkIn + "publicIPAddresses/" + name }
	body := func(more, props string) string {
		return `{"location":"westeurope","sku":{"name":"Standard"}` + more + `,"properties":{"publicIPAllocationMethod":"Static"` + props + `}}`
	}
	label := func(l string) string { return `,"dnsSettings":{"domainNameLabel":"` + l + `"}` }
	play(t, s, step{put, pip("x"), `{"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Dynamic"}}`, 400,
		"StandardSkuPublicIPAddressesMustBeStatic"},
		step{put, pip("x"), body(`,"zones":["4"]`, ""), 400, "AvailabilityZoneNotSupported"},
		step{put, pip("one"), body(`,"zones":["2","1"]`, label("api")), 201, ""},
		step{put, pip("x"), body("", label("API")), 400, "DnsRecordInUse"},
		step{put, pip("far"), strings.Replace(body("", label("api")), "westeurope", "northeurope", 1), 201, ""}, // a label is of a region
		step{put, pip("one"), body(`,"zones":["1","2"]`, label("api")), 200, ""},
		step{put, pip("one"), body(`,"zones":["1"]`, ""), 400, "ResourceAvailabilityZonesCannotBeModified"},
		step{put, pip("one"), body("", ""), 400, "ResourceAvailabilityZonesCannotBeModified"},
		step{put, pip("plain"), body("", ""), 201, ""},
		step{put, pip("plain"), body(`,"zones":["1"]`, ""), 400, "ResourceAvailabilityZonesCannotBeModified"},
		step{patch, pip("one"), `{"tags":{"a":"b"}}`, 200, ""})
	one := shown(t, s, pip("one"))
	if at(one, "properties.dnsSettings.fqdn") != "api.westeurope.cloudapp.azure.com" || at(one, "properties.ipAddress") != "203.0.113.1" ||
		at(one, "properties.publicIPAddressVersion") != "IPv4" {
		t.Errorf("the first address: %v", one)
	}
	have(t, s, pip("one"), body(`,"zones":["1","2"]`, ""))
	if got := at(shown(t, s, pip("one")), "properties.ipAddress"); got != "203.0.113.1" {
		t.Errorf("an update has changed the address to %v", got)
	}
	play(t, s, step{put, pip("second"), body("", label("api")), 201, ""}) // whose label is free again
}

// Balancers by the rules of https://learn.microsoft.com/azure/load-balancer/load-balancer-common-deployment-errors.
func TestBalancersThatAzureRefuses(t *testing.T) {
	s := gateway(t)
	lb, pip, basic := networkIn+"loadBalancers/lb", networkIn+"publicIPAddresses/pip", networkIn+"publicIPAddresses/basic"
	have(t, s, pip, `{"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}`,
		basic, `{"location":"westeurope","sku":{"name":"Basic"},"properties":{"publicIPAllocationMethod":"Static"}}`)
	body := func(address, rules, more string) string {
		return strings.NewReplacer("LB", lb, "PIP",
			address).Replace(`{"location":"westeurope","sku":{"name":"Standard"},"properties":{"frontendIPConfigurations":[{"name":"fe",
			"properties":{"publicIPAddress":{"id":"PIP"}}}],
			"backendAddressPools":[{"name":"pool"},{"name":"other"}],"probes":[{"name":"p","properties":{"protocol":"Tcp","port":80}}],
				"loadBalancingRules":[` + rules + `]` + more + `}}`)
	}
	rule := func(name, pool, probe string, front, back int, floating bool) string {
		return fmt.Sprintf(`{"name":"%s","properties":{"protocol":"Tcp","frontendPort":%d,"backendPort":%d,"enableFloatingIP":%t,"disableOutboundSnat":true,
			"frontendIPConfiguration":{"id":"LB/frontendIPConfigurations/fe"},`+
			`"backendAddressPool":{"id":"LB/backendAddressPools/%s"},"probe":{"id":"LB/probes/%s"}}}`, name, front, back, floating, pool, probe)
	}
	play(t, s, step{put, lb, body(basic, "", ""), 400, "PublicIPAndLBSkuDoNotMatch"},
		step{put, lb, body(networkIn+"publicIPAddresses/none", "", ""), 400, "InvalidResourceReference"},
		step{put, lb, body(pip, rule("a", "none", "p", 80, 80, false), ""), 400, "InvalidResourceReference"},
		step{put, lb, body(pip, rule("a", "pool", "none", 80, 80, false), ""), 400, "InvalidResourceReference"},
		step{put, lb, body(pip, rule("a", "pool", "p", 80, 80, false)+","+rule("A", "pool", "p", 81, 81, false), ""), 400, "InvalidRequestFormat"},
		step{put, lb, body(pip, rule("a", "pool", "p", 80, 8080, false)+","+rule("b", "pool", "p", 81, 8080, false), ""), 400,
			"RulesUseSameBackendPortProtocolAndPool"},
		step{put, lb, body(pip, rule("a", "pool", "p", 80, 8080, false)+","+rule("b", "other", "p", 81, 8080, false), ""), 201, ""},
		step{put, lb, body(pip, rule("a", "pool", "p", 80, 8080, true)+","+rule("b", "pool", "p", 81, 8080, true), ""), 200, ""},
		// as the cloud controller manager writes them
		step{put, lb, body(pip, rule("a", "pool", "p", 80, 8080, false), ""), 200, ""},
		step{put, networkIn + "loadBalancers/second", strings.ReplaceAll(body(pip, "", ""), lb, networkIn+"loadBalancers/second"), 400, "PublicIPAddressInUse"})
	d := shown(t, s, lb)
	for field, wanted := range map[string]string{"frontendIPConfigurations": "fe", "backendAddressPools": "pool", "probes": "p"} {
		first := wire.Docs(wire.Props(d), field)[0]
		if used := wire.Docs(wire.Props(first), "loadBalancingRules"); wire.Text(first, "name") != wanted || len(used) != 1 ||
			wire.Text(used[0], "id") != lb+"/loadBalancingRules/a" {
			t.Errorf("%s do not say which rules use them: %v", field, first)
		}
	}
	sent := parse(t, body(pip, rule("a", "pool", "p", 80, 80, false), ""))
	sent["properties"].(wire.Doc)["frontendIPConfigurations"] = wire.Props(d)["frontendIPConfigurations"] // clients send back what they read
	want(t, s, owner, put, lb, sent, 200)
	if used := wire.Docs(wire.Props(wire.Docs(wire.Props(shown(t, s, lb)), "frontendIPConfigurations")[0]), "loadBalancingRules"); len(used) != 1 {
		t.Errorf("a frontend that is written as it was read names its rule %d times", len(used))
	}
}

// Pools have addresses of their own; the interfaces in them show, and leave them with the balancer.
func TestPoolsOfABalancer(t *testing.T) {
	s := gateway(t)
	lb, nic := networkIn+"loadBalancers/lb", networkIn+"networkInterfaces/nic"
	have(t, s, vnetID, vnetOf("a", "10.0.0.0/24"),
		lb, `{"location":"westeurope","sku":{"name":"Standard"},"properties":{"frontendIPConfigurations":[{"name":"fe","properties":{"subnet":{"id":"`+
			vnetID+`/subnets/a"}}}],"backendAddressPools":[{"name":"pool"}]}}`,
		nic, strings.Replace(nicIn("a", ""), `"privateIPAddress":""`, `"loadBalancerBackendAddressPools":[{"id":"`+lb+`/backendAddressPools/pool"}]`, 1))
	pool := shown(t, s, lb+"/backendAddressPools/POOL")
	if members := wire.Docs(wire.Props(pool), "backendIPConfigurations"); len(members) != 1 || wire.Text(members[0], "id") != nic+"/ipConfigurations/ip" {
		t.Errorf("the pool: %v", pool)
	}
	if fe := wire.Docs(wire.Props(shown(t, s, lb)), "frontendIPConfigurations")[0]; at(fe, "properties.privateIPAddress") != "10.0.0.4" {
		t.Errorf("an internal frontend has the address %v", at(fe, "properties.privateIPAddress"))
	}
	play(t, s, step{put, lb + "/backendAddressPools/more", `{"properties":{}}`, 201, ""},
		step{put, lb + "/backendAddressPools/more", `{"properties":{}}`, 200, ""},
		step{get, lb + "/backendAddressPools/none", "", 404, "NotFound"},
		step{put, networkIn + "loadBalancers/none/backendAddressPools/x", `{"properties":{}}`, 404, "ParentResourceNotFound"})
	if got := names(want(t, s, owner, get, lb+"/backendAddressPools", nil, 200)); got != "pool more" {
		t.Errorf("pools: %s", got)
	}
	play(t, s, step{remove, lb + "/backendAddressPools/more", "", 202, ""}, step{remove, lb + "/backendAddressPools/more", "", 204, ""},
		step{remove, lb, "", 202, ""})
	if left := at(wire.Docs(wire.Props(shown(t, s, nic)), "ipConfigurations")[0], "properties.loadBalancerBackendAddressPools"); left != nil {
		t.Errorf("the interface is still in %v", left)
	}
}

// What a document does not say has the value that Azure gives it: clients read these without asking whether they are there.
func TestDefaultsOfNetworks(t *testing.T) {
	s := gateway(t)
	nic, lb, nat := networkIn+"networkInterfaces/nic", networkIn+"loadBalancers/lb", networkIn+"natGateways/nat"
	inSubnet := `{"name":"x","properties":{"subnet":{"id":"` + vnetID + `/subnets/a"}}}`
	zonal := `{"location":"westeurope","sku":{"name":"Standard"},"zones":["1"]}`
	have(t, s, vnetID, vnetOf("a", "10.0.0.0/24"), nic, `{"location":"westeurope","properties":{"ipConfigurations":[`+inSubnet+`]}}`,
		lb, `{"location":"westeurope","properties":{"frontendIPConfigurations":[`+inSubnet+`]}}`, nat, zonal)
	configuration := wire.Props(wire.Docs(wire.Props(shown(t, s, nic)), "ipConfigurations")[0])
	balancer := shown(t, s, lb)
	frontend := wire.Props(wire.Docs(wire.Props(balancer), "frontendIPConfigurations")[0])
	for _, p := range []wire.Doc{configuration, frontend} {
		if p["privateIPAllocationMethod"] != "Dynamic" || p["privateIPAddressVersion"] != "IPv4" {
			t.Errorf("an address that nobody has asked for: %v", p)
		}
	}
	if at(balancer, "sku.name") != "Standard" || len(wire.List(wire.Props(balancer), "probes")) != 0 || wire.Props(balancer)["probes"] == nil {
		t.Errorf("a balancer of which little is said: %v", balancer)
	}
	if d := shown(t, s, vnetID); at(d, "properties.enableDdosProtection") != false || len(wire.List(wire.Props(d), "virtualNetworkPeerings")) != 0 {
		t.Errorf("a network: %v", d)
	}
	have(t, s, networkIn+"networkInterfaces/first", nicIn("a", "10.0.0.9"), nic, `{"location":"westeurope","properties":{"ipConfigurations":[`+inSubnet+`]}}`,
		lb, `{"location":"westeurope","properties":{"frontendIPConfigurations":[`+inSubnet+`]}}`)
	for id, field := range map[string]string{nic: "ipConfigurations", lb: "frontendIPConfigurations"} {
		before := map[string]any{nic: configuration["privateIPAddress"], lb: frontend["privateIPAddress"]}[id]
		if now := at(wire.Docs(wire.Props(shown(t, s, id)), field)[0], "properties.privateIPAddress"); now != before {
			t.Errorf("a write that does not name the address has changed it from %v to %v", before, now)
		}
	}
	play(t, s, step{put, nat, zonal, 200, ""}, step{put, nat, strings.Replace(zonal, `"1"`, `"2"`, 1), 400, "ResourceAvailabilityZonesCannotBeModified"})
}

// A PUT of a security group or a route table without its list removes what is in it: the document is the whole resource. Other tags by PATCH do not.
func TestListsThatAPUTLeavesOut(t *testing.T) {
	s := gateway(t)
	const nsg, table = networkIn + "networkSecurityGroups/nsg", networkIn + "routeTables/table"
	have(t, s, nsg, `{"location":"westeurope","properties":{"securityRules":[{"name":"in","properties":{"priority":100,"direction":"Inbound","access":"Allow","protocol":"Tcp",
		"sourceAddressPrefix":"*","sourcePortRange":"*","destinationAddressPrefix":"*","destinationPortRange":"443"}}]}}`)
	have(t, s, table, `{"location":"westeurope","properties":{"routes":[{"name":"out","properties":{"addressPrefix":"0.0.0.0/0","nextHopType":"Internet"}}]}}`)
	for parent, child := range map[string]string{nsg: "/securityRules/in", table: "/routes/out"} {
		play(t, s, step{http.MethodPatch, parent, `{"tags":{"a":"b"}}`, 200, ""}, step{get, parent + child, "", 200, ""},
			step{put, parent, `{"location":"westeurope","properties":{}}`, 200, ""}, step{get, parent + child, "", 404, "NotFound"})
	}
}
