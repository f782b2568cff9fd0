package infra

import (
	"context"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

const vnetNode, privateZoneNode = "vnet", "privatezone"

// vnetRange are the addresses of a virtual network that is made.
const vnetRange = "10.0.0.0/16"

func (i *layout) networkNodes() []*stack.Node {
	var nodes []*stack.Node
	if i.NSGID != "" {
		nodes = append(nodes, node.Brought(i.s, "nsg", "network security group", i.NSGID, node.APINetwork, nil))
	} else {
		nodes = append(nodes, node.Resource{Session: i.s, ID: i.out.SecurityGroupID, API: node.APINetwork,
			Body: func() azure.Resource { return azure.Resource{Location: i.Location, Tags: i.tags()} },
		}.Node("nsg", "network security group", i.Name+"-"+i.InfraID+"-nsg", i.in("nsg")))
	}
	if i.VNetID != "" {
		vnet := node.Brought(i.s, vnetNode, "virtual network", i.VNetID, node.APINetwork, nil)
		vnet.Observe = func(ctx context.Context) (stack.State, error) {
			return stack.Current, CheckRanges(ctx, i.s, i.Options)
		}
		return append(nodes, vnet,
			node.Brought(i.s, "subnet", "subnet", i.SubnetID, node.APINetwork, nil))
	}
	return append(nodes, node.Resource{Session: i.s, ID: i.out.VNetID, API: node.APINetwork, Body: func() azure.Resource {
		return azure.Resource{Location: i.Location, Tags: i.tags(), Properties: map[string]any{
			"addressSpace": map[string]any{"addressPrefixes": []string{vnetRange}},
			"subnets": []any{map[string]any{"name": "default", "properties": map[string]any{
				"addressPrefix":        "10.0.0.0/24",
				"networkSecurityGroup": map[string]any{"id": i.out.SecurityGroupID},
			}}},
		}}
	}}.Node(vnetNode, "virtual network", i.Name+"-"+i.InfraID, i.in("vnet"), "nsg"))
}

// CheckRanges compares the ranges with the addresses of the user's virtual network, or of the one that is made.
func CheckRanges(ctx context.Context, s *azure.Session, o Options) error {
	if o.VNetID == "" {
		return o.checkRanges(vnetRange)
	}
	vnet, err := s.Get(ctx, o.VNetID, node.APINetwork)
	if err != nil {
		return err
	}
	space, _ := vnet.Properties["addressSpace"].(map[string]any)
	prefixes, _ := space["addressPrefixes"].([]any)
	for _, prefix := range prefixes {
		text, _ := prefix.(string)
		if err := o.checkRanges(text); err != nil {
			return err
		}
	}
	return nil
}

func (i *layout) privateDNSNodes() []*stack.Node {
	domain := i.ClusterDomain()
	zone := node.Resource{Session: i.s, ID: i.out.PrivateZoneID, API: node.APIPrivateDNS,
		Body: func() azure.Resource { return azure.Resource{Location: "global", Tags: i.tags()} },
	}.Node(privateZoneNode, "private DNS zone", domain, "group/main")
	if i.PrivateZoneID != "" {
		zone = node.Brought(i.s, privateZoneNode, "private DNS zone", i.PrivateZoneID, node.APIPrivateDNS, nil)
	}
	link := node.Resource{Session: i.s, ID: i.out.PrivateZoneID + "/virtualNetworkLinks/" + i.Name + "-" + i.InfraID, API: node.APIPrivateDNS,
		Body: func() azure.Resource {
			return azure.Resource{Location: "global", Tags: i.tags(), Properties: map[string]any{
				"virtualNetwork": map[string]any{"id": i.out.VNetID}, "registrationEnabled": false}}
		},
		Current: func(r *azure.Resource) bool {
			return strings.EqualFold(r.Property("virtualNetwork", "id"), i.out.VNetID)
		},
	}.Node("zonelink", "virtual network link", i.Name+"-"+i.InfraID, privateZoneNode, "vnet")
	return []*stack.Node{zone, link}
}

// portsByPoolSize leaves it to Azure how many outbound ports a machine has on an address: 1,024 up to 50 machines, half of that up to 100, and so
// on to 32 at 1,000 (https://learn.microsoft.com/azure/load-balancer/load-balancer-outbound-connections#preallocatedports). A number of ours
// would keep every machine beyond 64,000 divided by it from being made: 1,024 ports, 62 machines.
const portsByPoolSize = 0

// egressNodes are the public address and the load balancer through which the workers reach the world; the cloud provider
// and the machine provider look for them by the infra id.
func (i *layout) egressNodes() []*stack.Node {
	if i.LoadBalancerID != "" {
		return []*stack.Node{node.Brought(i.s, "loadbalancer", "load balancer", i.LoadBalancerID, node.APINetwork, nil)}
	}
	ipID := i.s.ResourceID(i.main, node.TypePublicIP, i.InfraID)
	if i.PublicIPID != "" {
		ipID = i.PublicIPID
	}
	lbID := i.s.ResourceID(i.main, node.TypeLB, i.InfraID)
	ip := node.Resource{Session: i.s, ID: ipID, API: node.APINetwork, Body: func() azure.Resource {
		return azure.Resource{Location: i.Location, Tags: i.tags(), SKU: map[string]any{"name": "Standard"}, Properties: map[string]any{
			"publicIPAddressVersion": "IPv4", "publicIPAllocationMethod": "Static", "idleTimeoutInMinutes": 4}}
	}}.Node("publicip", "public IP", i.InfraID, "group/main")
	if i.PublicIPID != "" {
		ip = node.Brought(i.s, "publicip", "public IP", i.PublicIPID, node.APINetwork, nil)
	}
	lb := node.Resource{Session: i.s, ID: lbID, API: node.APINetwork, Body: func() azure.Resource {
		ref := func(kind string) map[string]any { return map[string]any{"id": lbID + "/" + kind + "/" + i.InfraID} }
		named := func(properties map[string]any) []any {
			return []any{map[string]any{"name": i.InfraID, "properties": properties}}
		}
		return azure.Resource{Location: i.Location, Tags: i.tags(), SKU: map[string]any{"name": "Standard"}, Properties: map[string]any{
			"frontendIPConfigurations": named(map[string]any{"privateIPAllocationMethod": "Dynamic", "publicIPAddress": map[string]any{"id": ipID}}),
			"backendAddressPools":      []any{map[string]any{"name": i.InfraID}},
			"probes":                   named(map[string]any{"protocol": "Http", "port": 30595, "requestPath": "/healthz", "intervalInSeconds": 5, "numberOfProbes": 2}),
			"outboundRules": named(map[string]any{"protocol": "All", "allocatedOutboundPorts": portsByPoolSize, "enableTcpReset": true, "idleTimeoutInMinutes": 4,
				"frontendIPConfigurations": []any{ref("frontendIPConfigurations")}, "backendAddressPool": ref("backendAddressPools")}),
		}}
	}}.Node("loadbalancer", "load balancer", i.InfraID, "group/main", "publicip")
	return []*stack.Node{ip, lb}
}
