package azure_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

// What decides who may leave a network reaches the hypervisor.
func TestFeedOfEgress(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	ips := map[string]string{}
	for _, name := range []string{"nat", "lb", "own"} {
		s.good("PUT", netRP+"publicIPAddresses/"+name, `{"location":"eastus","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}`)
		p, _ := s.good("GET", netRP+"publicIPAddresses/"+name, "").body["properties"].(map[string]any)
		ips[name], _ = p["ipAddress"].(string)
	}
	pip := func(name string) string { return `{"id":"` + netRP + `publicIPAddresses/` + name + `"}` }
	s.good("PUT", netRP+"natGateways/nat", `{"location":"eastus","sku":{"name":"Standard"},"properties":{"publicIpAddresses":[`+pip("nat")+`]}}`)
	s.good("PUT", netRP+"routeTables/rt", `{"location":"eastus","properties":{"routes":[{"name":"r","properties":{"addressPrefix":"0.0.0.0/0","nextHopType":"VirtualAppliance","nextHopIpAddress":"10.0.0.9"}}]}}`)
	s.good("PUT", netRP+"networkSecurityGroups/nsg", `{"location":"eastus","properties":{"securityRules":[{"name":"out","properties":{"priority":100,"direction":"Outbound","access":"Deny","protocol":"*",
		"sourcePortRange":"*","destinationPortRange":"*","sourceAddressPrefix":"*","destinationAddressPrefix":"Internet"}}]}}`)
	s.good("PUT", netRP+"virtualNetworks/vnet", `{"location":"eastus","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},"subnets":[
		{"name":"a","properties":{"addressPrefix":"10.0.0.0/24","natGateway":{"id":"`+netRP+`natGateways/nat"},"routeTable":{"id":"`+netRP+`routeTables/rt"}}},
		{"name":"b","properties":{"addressPrefix":"10.0.1.0/24","defaultOutboundAccess":false}}]}}`)
	lb := netRP + "loadBalancers/lb"
	s.good("PUT", lb, strings.NewReplacer("LB", lb, "PIP", pip("lb")).Replace(`{"location":"eastus","sku":{"name":"Standard"},"properties":{
		"frontendIPConfigurations":[{"name":"fe","properties":{"publicIPAddress":PIP}}],"backendAddressPools":[{"name":"pool"}],
		"loadBalancingRules":[{"name":"in","properties":{"disableOutboundSnat":true,"protocol":"Tcp","frontendPort":443,"backendPort":443,"frontendIPConfiguration":{"id":"LB/frontendIPConfigurations/fe"},"backendAddressPool":{"id":"LB/backendAddressPools/pool"}}}],
		"outboundRules":[{"name":"out","properties":{"protocol":"Tcp","frontendIPConfigurations":[{"id":"LB/frontendIPConfigurations/fe"}],"backendAddressPool":{"id":"LB/backendAddressPools/pool"}}}]}}`))
	nic := netRP + "networkInterfaces/nic"
	s.good("PUT", nic, `{"location":"eastus","properties":{"enableIPForwarding":true,"networkSecurityGroup":{"id":"`+netRP+`networkSecurityGroups/nsg"},"ipConfigurations":[{"name":"ip","properties":{
		"subnet":{"id":"`+netRP+`virtualNetworks/vnet/subnets/b"},"publicIPAddress":`+pip("own")+`}}]}}`)
	s.good("PUT", computeRP+"virtualMachines/vm1", machine{}.body(nic))

	snap, err := s.feed().Watch(t.Context(), 0)
	must(t, err)
	a, b := snap.Networks[0].Subnets[0], snap.Networks[0].Subnets[1]
	if !a.Outbound || b.Outbound || b.NATGateway != nil || b.Routes != nil {
		t.Errorf("subnets %+v and %+v", a, b)
	}
	if a.NATGateway == nil || !reflect.DeepEqual(a.NATGateway.PublicIPs, []string{ips["nat"]}) || !reflect.DeepEqual(a.Routes, []feed.Route{{Prefix: "0.0.0.0/0", NextHop: "VirtualAppliance", Address: "10.0.0.9"}}) {
		t.Errorf("the subnet has gateway %+v and routes %v", a.NATGateway, a.Routes)
	}
	got := snap.Machines[0].NICs[0]
	if !got.Forwards || got.PublicIP != ips["own"] || got.SecurityGroup == nil || len(got.SecurityGroup.Rules) != 1 || got.SecurityGroup.Rules[0].Direction != "Outbound" {
		t.Errorf("the interface is %+v", got)
	}
	balancer := snap.LoadBalancers[0]
	if want := []feed.OutboundRule{{Name: "out", Protocol: "Tcp", Frontends: []string{"fe"}, Pool: "pool"}}; !reflect.DeepEqual(balancer.OutboundRules, want) || balancer.Rules[0].SNAT || balancer.Frontends[0].IP != ips["lb"] {
		t.Errorf("the balancer is %+v", balancer)
	}
	s.refusals([]refusal{
		{"DELETE", netRP + "natGateways/nat", "", 400, "InUseNatGatewayCannotBeDeleted", "subnets/a"},
		{"DELETE", netRP + "routeTables/rt", "", 400, "InUseRouteTableCannotBeDeleted", "subnets/a"},
	})
}

// What would let traffic pass, or hold it back, and cannot act here, is refused.
func TestRoutesAndRulesThatCannotActAreRefused(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	s.good("PUT", netRP+"routeTables/rt", `{"location":"eastus"}`)
	s.good("PUT", netRP+"networkSecurityGroups/nsg", `{"location":"eastus"}`)
	s.good("PUT", netRP+"virtualNetworks/vnet", `{"location":"eastus","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]}}}`)
	const refused = "NotServedBySandbox"
	route := func(properties string) string { return `{"properties":{` + properties + `}}` }
	r := netRP + "routeTables/rt/routes/r"
	rule := func(more string) string {
		return `{"properties":{"priority":100,"direction":"Inbound","access":"Allow","protocol":"Tcp","sourcePortRange":"*","destinationPortRange":"22",` + more + `}}`
	}
	s.refusals([]refusal{
		{"PUT", r, route(`"addressPrefix":"10.1.0.0/16","nextHopType":"VirtualNetworkGateway"`), 501, refused, "virtualNetworkGateways"},
		{"PUT", r, route(`"addressPrefix":"Storage","nextHopType":"Internet"`), 501, refused, "service tag 'Storage'"},
		{"PUT", r, route(`"addressPrefix":"10.1.0.0","nextHopType":"None"`), 400, "InvalidAddressPrefixFormat", "10.1.0.0"},
		{"PUT", r, route(`"addressPrefix":"10.1.0.0/16","nextHopType":"VirtualAppliance"`), 400, "RouteNextHopIpAddressIsInvalid", "nextHopIpAddress"},
		{"PUT", r, route(`"addressPrefix":"10.1.0.0/16","nextHopType":"None","nextHopIpAddress":"10.0.0.9"`), 400, "InvalidNextHopIpAddress", "VirtualAppliance"},
		{"PUT", netRP + "networkSecurityGroups/nsg/securityRules/r", rule(`"sourceApplicationSecurityGroups":[{"id":"` + netRP + `applicationSecurityGroups/asg"}],"destinationAddressPrefix":"*"`), 501, refused, "applicationSecurityGroups"},
		{"PUT", netRP + "natGateways/nat", `{"location":"eastus","sku":{"name":"Standard"},"properties":{"publicIpPrefixes":[{"id":"` + netRP + `publicIPPrefixes/p"}]}}`, 501, refused, "publicIPPrefixes"},
		{"PUT", netRP + "virtualNetworks/vnet/subnets/s", `{"properties":{"addressPrefix":"10.0.0.0/24","natGateway":{"id":"` + netRP + `natGateways/none"}}}`, 400, "InvalidResourceReference", "natGateways/none"},
		{"PUT", netRP + "privateEndpoints/pe", `{"location":"eastus","properties":{}}`, 501, refused, "privateEndpoints"},
		{"PUT", netRP + "azureFirewalls/fw", `{"location":"eastus","properties":{}}`, 501, refused, "azureFirewalls"},
	})
}

// Addresses that Azure keeps, that are taken, or of which none is left.
func TestPrivateAddresses(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	s.good("PUT", netRP+"virtualNetworks/vnet", `{"location":"eastus","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},"subnets":[{"name":"s","properties":{"addressPrefix":"10.0.0.0/29"}}]}}`)
	nic := func(ip string) string {
		return `{"location":"eastus","properties":{"ipConfigurations":[{"name":"ip","properties":{` + ip + `"subnet":{"id":"` + netRP + `virtualNetworks/vnet/subnets/s"}}}]}}`
	}
	static := func(ip string) string {
		return nic(`"privateIPAllocationMethod":"Static","privateIPAddress":"` + ip + `",`)
	}
	at := func(name string) string { return netRP + "networkInterfaces/" + name }
	frontend := strings.Replace(static("10.0.0.5"), `"ipConfigurations":[{"name":"ip"`, `"frontendIPConfigurations":[{"name":"fe"`, 1)
	s.good("PUT", at("one"), static("10.0.0.5"))
	s.good("PUT", at("one"), static("10.0.0.5"))
	var reserved []refusal
	for _, ip := range []string{"10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.7"} {
		reserved = append(reserved, refusal{"PUT", at("two"), static(ip), 400, "PrivateIPAddressInReservedRange", "Private static IP address " + ip + " falls within reserved IP range of subnet prefix 10.0.0.0/29."})
	}
	s.refusals(append(reserved,
		refusal{"PUT", at("two"), static("10.0.0.8"), 400, "PrivateIPAddressNotInSubnet", "10.0.0.8"},
		refusal{"PUT", at("two"), static("10.0.0.5"), 400, "PrivateIPAddressIsAllocated", "networkInterfaces/one"},
		refusal{"PUT", netRP + "loadBalancers/lb", strings.Replace(frontend, `"properties"`, `"sku":{"name":"Standard"},"properties"`, 1), 400, "PrivateIPAddressIsAllocated", "networkInterfaces/one"},
	))
	for _, name := range []string{"two", "three"} {
		s.good("PUT", at(name), nic(""))
	}
	s.refusals([]refusal{{"PUT", at("four"), nic(""), 400, "SubnetIsFull", "Subnet s with address prefix 10.0.0.0/29 does not have enough capacity for 1 IP addresses."}})
	s.good("DELETE", at("one"), "")
	if got := s.good("PUT", at("four"), nic("")); !strings.Contains(got.text, `"privateIPAddress":"10.0.0.5"`) {
		t.Errorf("the address that became free: %s", got.text)
	}
}

// Whether a new subnet lets its machines out by default is the api-version's to say, where the request does not; later requests leave it.
func TestDefaultOutboundAccess(t *testing.T) {
	s := newSandbox(t)
	s.once = true
	s.group("rg")
	subnets := `{"location":"eastus","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},"subnets":[{"name":"silent","properties":{"addressPrefix":"10.0.0.0/24"}},
		{"name":"asked","properties":{"addressPrefix":"10.0.1.0/24","defaultOutboundAccess":true}}]}}`
	s.good("PUT", netRP+"virtualNetworks/old?api-version=2025-03-01", subnets)
	s.good("PUT", netRP+"virtualNetworks/new?api-version=2025-07-01", subnets)
	s.good("PUT", netRP+"virtualNetworks/old/subnets/silent?api-version=2025-07-01", `{"properties":{"addressPrefix":"10.0.0.0/24"}}`)
	want := map[string]bool{"old/silent": true, "old/asked": true, "new/silent": false, "new/asked": true}
	snap, err := s.feed().Watch(t.Context(), 0)
	must(t, err)
	got := map[string]bool{}
	for _, n := range snap.Networks {
		for _, subnet := range n.Subnets {
			got[n.Name+"/"+subnet.Name] = subnet.Outbound
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("default outbound access %v, want %v", got, want)
	}
}
