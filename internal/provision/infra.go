package provision

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// InfraStack is the name of the stack in an inventory.
const InfraStack = "infra"

// infra carries what the nodes share.
type infra struct {
	InfraOptions
	s    *azure.Session
	out  *InfraOutput
	main string
}

func newInfra(s *azure.Session, o InfraOptions) *infra {
	i := &infra{InfraOptions: o, s: s, main: o.ResourceGroup}
	if i.main == "" {
		i.main = MainGroup(o.Name, o.InfraID)
	}
	i.out = &InfraOutput{BaseDomain: o.BaseDomain, Region: o.Location, InfraID: o.InfraID, ResourceGroupName: i.main,
		VNetID: o.VNetID, SubnetID: o.SubnetID, SecurityGroupID: o.NSGID, WorkloadIdentities: o.Identities}
	if o.Identities != nil {
		i.out.KMSClientID = o.Identities.KMSClientID
	}
	if o.Managed != nil {
		i.out.ControlPlaneMIs, i.out.DataPlaneIdentities = o.Managed, DataPlaneIdentities(o.Managed.DataPlane)
	}
	if i.out.SecurityGroupID == "" {
		i.out.SecurityGroupID = s.ResourceID(i.nsgGroup(), typeNSG, o.Name+"-"+o.InfraID+"-nsg")
	}
	if i.out.VNetID == "" {
		i.out.VNetID = s.ResourceID(i.vnetGroup(), typeVNet, o.Name+"-"+o.InfraID)
		i.out.SubnetID = i.out.VNetID + "/subnets/default"
	}
	if i.out.PrivateZoneID = o.PrivateZoneID; i.out.PrivateZoneID == "" {
		i.out.PrivateZoneID = s.ResourceID(i.main, typePrivateDNS, i.clusterDomain())
	}
	return i
}

// expectedInfra is what the options lead to, as far as it is known before anything is made.
func expectedInfra(s *azure.Session, o InfraOptions) *InfraOutput { return newInfra(s, o).out }

// infraNodes are the nodes without what is asked before, with the roles of the holders, and the output that they fill.
func infraNodes(s *azure.Session, o InfraOptions, who map[string]holder) ([]*stack.Node, *InfraOutput) {
	i := newInfra(s, o)
	return i.nodesFor(who), i.out
}

func (i *infra) vnetGroup() string { return i.groupOf(i.VNetID, i.Name+"-vnet-"+i.InfraID) }
func (i *infra) nsgGroup() string  { return i.groupOf(i.NSGID, i.Name+"-nsg-"+i.InfraID) }

// groupOf is the group of a brought resource, the one group the user named, or the default.
func (i *infra) groupOf(id, byDefault string) string {
	if parsed, err := azure.ParseID(id); err == nil {
		return parsed.ResourceGroup
	}
	if i.ResourceGroup != "" {
		return i.ResourceGroup
	}
	return byDefault
}

// CreateInfra makes what is missing and returns the output. Run again, it changes nothing.
func CreateInfra(ctx context.Context, s *azure.Session, o InfraOptions, progress func(stack.Event)) (*InfraOutput, error) {
	i, err := prepareInfra(s, o)
	if err != nil {
		return nil, err
	}
	return i.out, stack.Create(ctx, i.guardedNodes(), options(progress))
}

// PlanInfra says what CreateInfra would do.
func PlanInfra(ctx context.Context, s *azure.Session, o InfraOptions) ([]stack.Step, error) {
	i, err := prepareInfra(s, o)
	if err != nil {
		return nil, err
	}
	return stack.Plan(ctx, i.guardedNodes())
}

// guardedNodes are the nodes with what is asked before the first of them is written.
func (i *infra) guardedNodes() []*stack.Node {
	return guarded(i.s, i.Location, i.nodes(), func() []*stack.Node { return newInfra(i.s, i.InfraOptions).nodes() })
}

func prepareInfra(s *azure.Session, o InfraOptions) (*infra, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return newInfra(s, o), nil
}

// groupName is the group's name as it was given: the names of role assignments depend on the spelling, and ids in answers may
// have another one.
func groupName(ctx context.Context, s *azure.Session, name string) (string, error) {
	found, err := s.Get(ctx, s.GroupID(name), apiGroups)
	switch {
	case azure.CodeOf(err) == "AuthorizationFailed":
		return name, nil // who may read the zone need not see its group
	case err != nil:
		return "", err
	}
	return found.Name, nil
}

// publicZone finds the zone by its exact name over all pages of the subscription.
func publicZone(ctx context.Context, s *azure.Session, domain string) (string, error) {
	zones, err := s.List(ctx, "/subscriptions/"+s.SubscriptionID+"/providers/Microsoft.Network/dnszones", apiDNS, "")
	if err != nil {
		return "", err
	}
	for _, z := range zones {
		if z.Name == domain {
			return z.ID, nil
		}
	}
	return "", nil
}

func (i *infra) nodes() []*stack.Node {
	var who map[string]holder
	switch {
	case !i.AssignRoles:
	case i.Managed != nil:
		who = managedHolders(i.s, i.Managed)
	default:
		who = holders(i.s, i.Identities)
	}
	nodes := i.nodesFor(who)
	gate(nodes)
	return nodes
}

// nodesFor gives the holders their roles.
func (i *infra) nodesFor(who map[string]holder) []*stack.Node {
	nodes := i.groupNodes()
	nodes = append(nodes, i.networkNodes()...)
	nodes = append(nodes, i.privateDNSNodes()...)
	nodes = append(nodes, i.egressNodes()...)
	nodes = append(nodes, i.roleNodes(who)...)
	return append(nodes, i.publicZoneNode())
}

const publicZoneNode, dnsGroupNode = "publiczone", "group/dns"

// publicZoneNode finds the zone of the base domain.
func (i *infra) publicZoneNode() *stack.Node {
	return &stack.Node{ID: publicZoneNode, Kind: "public DNS zone", Name: i.BaseDomain, Brought: true,
		Observe: func(ctx context.Context) (stack.State, error) {
			id, err := publicZone(ctx, i.s, i.BaseDomain)
			if err == nil && id == "" && !i.PublicZoneOptional {
				err = fmt.Errorf("no public DNS zone %q in subscription %s; create it, or give the --base-domain of one that exists", i.BaseDomain, i.s.SubscriptionID)
			}
			i.out.PublicZoneID = id
			return stack.Current, err
		}}
}

func (i *infra) roleNodes(who map[string]holder) []*stack.Node {
	if len(who) == 0 {
		return nil
	}
	scopes := map[scopeName]scope{
		scopeMain: i.scope(i.main, "main", ""), scopeNSG: i.scope(i.nsgGroup(), "nsg", i.NSGID), scopeVNet: i.scope(i.vnetGroup(), "vnet", i.VNetID)}
	if i.DNSZoneGroup != "" {
		scopes[scopeDNS] = scope{group: func() string { return i.DNSZoneGroup }, label: i.DNSZoneGroup, node: publicZoneNode}
		return roleNodes(i.s, i.InfraID, wanted(i.NoImageRegistry, i.CustomRoles), who, scopes)
	}
	var found string
	group := &stack.Node{ID: dnsGroupNode, Kind: "resource group", Name: "of the public DNS zone", Brought: true, DependsOn: []string{publicZoneNode},
		Observe: func(ctx context.Context) (stack.State, error) {
			zone, err := azure.ParseID(i.out.PublicZoneID)
			if err != nil {
				return stack.Current, nil // there is none, and need not be
			}
			found, err = groupName(ctx, i.s, zone.ResourceGroup)
			return stack.Current, err
		}}
	scopes[scopeDNS] = scope{group: func() string { return found }, label: "the group of the public DNS zone", node: dnsGroupNode}
	return append(roleNodes(i.s, i.InfraID, wanted(i.NoImageRegistry, i.CustomRoles), who, scopes), group)
}

// scope is the group of a resource; where the resource is the user's, roles can be given once it has been found.
func (i *infra) scope(group, which, broughtID string) scope {
	at := scope{group: func() string { return group }, label: group, node: i.in(which), made: i.ResourceGroup == "" && broughtID == ""}
	if broughtID != "" {
		at.node = which
	}
	return at
}

func (i *infra) groupNodes() []*stack.Node {
	if i.ResourceGroup != "" {
		return []*stack.Node{brought(i.s, "group/main", "resource group", i.s.GroupID(i.main), apiGroups, nil)}
	}
	nodes := []*stack.Node{group(i.s, "group/main", i.main, i.Location, i.tags(), false)}
	if i.NSGID == "" {
		nodes = append(nodes, group(i.s, "group/nsg", i.nsgGroup(), i.Location, i.tags(), false))
	}
	if i.VNetID == "" {
		nodes = append(nodes, group(i.s, "group/vnet", i.vnetGroup(), i.Location, i.tags(), false))
	}
	return nodes
}

// ownerTag marks what this cluster's stack made, in the spelling that the cloud provider uses for its own.
func ownerTag(infraID string) string { return "kubernetes.io_cluster_" + infraID }

// tags are the user's and the mark of ownership.
func (i *infra) tags() map[string]string {
	all := maps.Clone(i.Tags)
	if all == nil {
		all = map[string]string{}
	}
	all[ownerTag(i.InfraID)] = "owned"
	return all
}

// in is the node id of a group that this stack makes or uses.
func (i *infra) in(which string) string {
	if i.ResourceGroup != "" {
		return "group/main"
	}
	return "group/" + which
}

// vnetRange are the addresses of a virtual network that is made.
const vnetRange = "10.0.0.0/16"

func (i *infra) networkNodes() []*stack.Node {
	var nodes []*stack.Node
	if i.NSGID != "" {
		nodes = append(nodes, brought(i.s, "nsg", "network security group", i.NSGID, apiNetwork, nil))
	} else {
		nodes = append(nodes, resource{session: i.s, id: i.out.SecurityGroupID, api: apiNetwork,
			body: func() azure.Resource { return azure.Resource{Location: i.Location, Tags: i.tags()} },
		}.node("nsg", "network security group", i.Name+"-"+i.InfraID+"-nsg", i.in("nsg")))
	}
	if i.VNetID != "" {
		vnet := brought(i.s, "vnet", "virtual network", i.VNetID, apiNetwork, nil)
		vnet.Observe = func(ctx context.Context) (stack.State, error) {
			return stack.Current, CheckRanges(ctx, i.s, i.InfraOptions)
		}
		return append(nodes, vnet,
			brought(i.s, "subnet", "subnet", i.SubnetID, apiNetwork, nil))
	}
	return append(nodes, resource{session: i.s, id: i.out.VNetID, api: apiNetwork, body: func() azure.Resource {
		return azure.Resource{Location: i.Location, Tags: i.tags(), Properties: map[string]any{
			"addressSpace": map[string]any{"addressPrefixes": []string{vnetRange}},
			"subnets": []any{map[string]any{"name": "default", "properties": map[string]any{
				"addressPrefix":        "10.0.0.0/24",
				"networkSecurityGroup": map[string]any{"id": i.out.SecurityGroupID},
			}}},
		}}
	}}.node("vnet", "virtual network", i.Name+"-"+i.InfraID, i.in("vnet"), "nsg"))
}

// CheckRanges compares the ranges with the addresses of the user's virtual network.
func CheckRanges(ctx context.Context, s *azure.Session, o InfraOptions) error {
	vnet, err := s.Get(ctx, o.VNetID, apiNetwork)
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

func (i *infra) privateDNSNodes() []*stack.Node {
	domain := i.clusterDomain()
	zone := resource{session: i.s, id: i.out.PrivateZoneID, api: apiPrivateDNS,
		body: func() azure.Resource { return azure.Resource{Location: "global", Tags: i.tags()} },
	}.node("privatezone", "private DNS zone", domain, "group/main")
	if i.PrivateZoneID != "" {
		zone = brought(i.s, "privatezone", "private DNS zone", i.PrivateZoneID, apiPrivateDNS, nil)
	}
	link := resource{session: i.s, id: i.out.PrivateZoneID + "/virtualNetworkLinks/" + i.Name + "-" + i.InfraID, api: apiPrivateDNS,
		body: func() azure.Resource {
			return azure.Resource{Location: "global", Tags: i.tags(), Properties: map[string]any{
				"virtualNetwork": map[string]any{"id": i.out.VNetID}, "registrationEnabled": false}}
		},
		current: func(r *azure.Resource) bool {
			return strings.EqualFold(r.Property("virtualNetwork", "id"), i.out.VNetID)
		},
	}.node("zonelink", "virtual network link", i.Name+"-"+i.InfraID, "privatezone", "vnet")
	return []*stack.Node{zone, link}
}

// egressNodes are the public address and the load balancer through which the workers reach the world; the cloud provider
// and the machine provider look for them by the infra id.
func (i *infra) egressNodes() []*stack.Node {
	if i.LoadBalancerID != "" {
		return []*stack.Node{brought(i.s, "loadbalancer", "load balancer", i.LoadBalancerID, apiNetwork, nil)}
	}
	ipID := i.s.ResourceID(i.main, typePublicIP, i.InfraID)
	if i.PublicIPID != "" {
		ipID = i.PublicIPID
	}
	lbID := i.s.ResourceID(i.main, typeLB, i.InfraID)
	ip := resource{session: i.s, id: ipID, api: apiNetwork, body: func() azure.Resource {
		return azure.Resource{Location: i.Location, Tags: i.tags(), SKU: map[string]any{"name": "Standard"}, Properties: map[string]any{
			"publicIPAddressVersion": "IPv4", "publicIPAllocationMethod": "Static", "idleTimeoutInMinutes": 4}}
	}}.node("publicip", "public IP", i.InfraID, "group/main")
	if i.PublicIPID != "" {
		ip = brought(i.s, "publicip", "public IP", i.PublicIPID, apiNetwork, nil)
	}
	lb := resource{session: i.s, id: lbID, api: apiNetwork, body: func() azure.Resource {
		ref := func(kind string) map[string]any { return map[string]any{"id": lbID + "/" + kind + "/" + i.InfraID} }
		named := func(properties map[string]any) []any {
			return []any{map[string]any{"name": i.InfraID, "properties": properties}}
		}
		return azure.Resource{Location: i.Location, Tags: i.tags(), SKU: map[string]any{"name": "Standard"}, Properties: map[string]any{
			"frontendIPConfigurations": named(map[string]any{"privateIPAllocationMethod": "Dynamic", "publicIPAddress": map[string]any{"id": ipID}}),
			"backendAddressPools":      []any{map[string]any{"name": i.InfraID}},
			"probes":                   named(map[string]any{"protocol": "Http", "port": 30595, "requestPath": "/healthz", "intervalInSeconds": 5, "numberOfProbes": 2}),
			"outboundRules": named(map[string]any{"protocol": "All", "allocatedOutboundPorts": 1024, "enableTcpReset": true, "idleTimeoutInMinutes": 4,
				"frontendIPConfigurations": []any{ref("frontendIPConfigurations")}, "backendAddressPool": ref("backendAddressPools")}),
		}}
	}}.node("loadbalancer", "load balancer", i.InfraID, "group/main", "publicip")
	return []*stack.Node{ip, lb}
}
