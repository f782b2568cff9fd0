// Package infra is the stack of a hosted cluster's network, zones, egress and roles, and what destroys all that the cluster has left.
package infra

import (
	"context"
	"maps"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/provision/roles"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// Stack is the name of the stack in an inventory.
const Stack = "infra"

// layout carries what the nodes of one cluster share.
type layout struct {
	Options
	s    *azure.Session
	out  *Output
	main string
	apps appsZone
}

func newLayout(s *azure.Session, o Options) *layout {
	i := &layout{Options: o, s: s, main: o.ResourceGroup}
	if i.main == "" {
		i.main = node.MainGroup(o.Name, o.InfraID)
	}
	i.out = &Output{BaseDomain: o.BaseDomain, Region: o.Location, InfraID: o.InfraID, ResourceGroupName: i.main,
		VNetID: o.VNetID, SubnetID: o.SubnetID, SecurityGroupID: o.NSGID, WorkloadIdentities: o.Identities}
	if o.Identities != nil {
		i.out.KMSClientID = o.Identities.KMSClientID
	}
	if o.Managed != nil {
		i.out.ControlPlaneMIs, i.out.DataPlaneIdentities = o.Managed, DataPlaneIdentities(o.Managed.DataPlane)
	}
	if i.out.SecurityGroupID == "" {
		i.out.SecurityGroupID = s.ResourceID(i.nsgGroup(), node.TypeNSG, o.Name+"-"+o.InfraID+"-nsg")
	}
	if i.out.VNetID == "" {
		i.out.VNetID = s.ResourceID(i.vnetGroup(), node.TypeVNet, o.Name+"-"+o.InfraID)
		i.out.SubnetID = i.out.VNetID + "/subnets/default"
	}
	if i.out.PrivateZoneID = o.PrivateZoneID; i.out.PrivateZoneID == "" {
		i.out.PrivateZoneID = s.ResourceID(i.main, node.TypePrivateDNS, i.ClusterDomain())
	}
	return i
}

// MachinesNamespace is the namespace of what the machine provider makes in the cluster's groups, which may not register it.
const MachinesNamespace = "Microsoft.Compute"

// Expected is what the options lead to, as far as it is known before anything is made.
func Expected(s *azure.Session, o Options) *Output { return newLayout(s, o).out }

// Nodes are the nodes without what is asked before, with the roles of the holders, and the output that they fill.
func Nodes(s *azure.Session, o Options, who map[string]roles.Holder) ([]*stack.Node, *Output) {
	i := newLayout(s, o)
	return i.nodesFor(who), i.out
}

func (i *layout) vnetGroup() string { return i.groupOf(i.VNetID, i.Name+"-vnet-"+i.InfraID) }
func (i *layout) nsgGroup() string  { return i.groupOf(i.NSGID, i.Name+"-nsg-"+i.InfraID) }

// groupOf is the group of a brought resource, the one group the user named, or the default.
func (i *layout) groupOf(id, byDefault string) string {
	if parsed, err := azure.ParseID(id); err == nil {
		return parsed.ResourceGroup
	}
	if i.ResourceGroup != "" {
		return i.ResourceGroup
	}
	return byDefault
}

// Create makes what is missing and returns the output. Run again, it changes nothing.
func Create(ctx context.Context, s *azure.Session, o Options, progress func(stack.Event)) (*Output, error) {
	i, err := prepare(s, o)
	if err != nil {
		return nil, err
	}
	return i.out, stack.Create(ctx, i.guardedNodes(), node.Options(progress))
}

// Plan says what CreateInfra would do.
func Plan(ctx context.Context, s *azure.Session, o Options) ([]stack.Step, error) {
	i, err := prepare(s, o)
	if err != nil {
		return nil, err
	}
	return stack.Plan(ctx, i.guardedNodes())
}

// guardedNodes are the nodes with what is asked before the first of them is written.
func (i *layout) guardedNodes() []*stack.Node {
	return node.Guarded(i.s, i.Location, i.nodes(), func() []*stack.Node { return newLayout(i.s, i.Options).nodes() }, MachinesNamespace)
}

func prepare(s *azure.Session, o Options) (*layout, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return newLayout(s, o), nil
}

// groupName is the group's name as it was given: the names of role assignments depend on the spelling, and ids in answers may
// have another one.
func groupName(ctx context.Context, s *azure.Session, name string) (string, error) {
	found, err := s.Get(ctx, s.GroupID(name), node.APIGroups)
	switch {
	case failure.CodeOf(err) == "AuthorizationFailed":
		return name, nil // who may read the zone need not see its group
	case err != nil:
		return "", err
	}
	return found.Name, nil
}

// PublicZone finds the zone by its exact name over all pages of the subscription; "" where there is none.
func PublicZone(ctx context.Context, s *azure.Session, domain string) (string, error) {
	zones, err := s.List(ctx, "/subscriptions/"+s.SubscriptionID+"/providers/Microsoft.Network/dnszones", node.APIDNS, "")
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

func (i *layout) nodes() []*stack.Node {
	var who map[string]roles.Holder
	switch {
	case !i.AssignRoles:
	case i.Managed != nil:
		who = roles.OfManaged(i.s, i.Managed)
	default:
		who = roles.Of(i.s, i.Identities)
	}
	nodes := i.nodesFor(who)
	node.Gate(nodes)
	return nodes
}

// nodesFor gives the holders their roles.
func (i *layout) nodesFor(who map[string]roles.Holder) []*stack.Node {
	nodes := i.groupNodes()
	nodes = append(nodes, i.networkNodes()...)
	nodes = append(nodes, i.privateDNSNodes()...)
	nodes = append(nodes, i.egressNodes()...)
	nodes = append(nodes, i.roleNodes(who)...)
	publicZone := i.publicZoneNode()
	return append(append(nodes, publicZone), i.appsZoneNodes(publicZone)...)
}

const publicZoneNode, dnsGroupNode = "publiczone", "group/dns"

// publicZoneNode finds the zone of the base domain.
func (i *layout) publicZoneNode() *stack.Node {
	return &stack.Node{ID: publicZoneNode, Kind: "public DNS zone", Name: i.BaseDomain, Brought: true,
		Observe: func(ctx context.Context) (stack.State, error) {
			id, err := PublicZone(ctx, i.s, i.BaseDomain)
			if err == nil && id == "" && !i.PublicZoneOptional {
				err = field.Errorf(FieldBaseDomain, "no public DNS zone %q in subscription %s; create it, or give the %s of one that exists", i.BaseDomain, i.s.SubscriptionID, FieldBaseDomain)
			}
			i.out.PublicZoneID, i.apps.baseZoneID = id, id
			if err != nil {
				return stack.Current, err
			}
			return stack.Current, i.placeApps(ctx)
		}}
}

func (i *layout) roleNodes(who map[string]roles.Holder) []*stack.Node {
	if len(who) == 0 {
		return nil
	}
	scopes := map[roles.ScopeName]roles.Scope{
		roles.Main: i.scope(i.main, "main", ""), roles.NSG: i.scope(i.nsgGroup(), "nsg", i.NSGID), roles.VNet: i.scope(i.vnetGroup(), vnetNode, i.VNetID)}
	if zone, err := azure.ParseID(i.PrivateZoneID); err == nil && !strings.EqualFold(zone.ResourceGroup, i.main) {
		scopes[roles.PrivateZone] = roles.Scope{Group: func() string { return zone.ResourceGroup }, Resource: i.PrivateZoneID, Label: "private DNS zone " + zone.Name, Node: privateZoneNode}
	}
	wanted := roles.Wanted(i.NoImageRegistry, i.CustomRoles)
	if i.DNSZoneGroup != "" {
		scopes[roles.DNS] = roles.Scope{Group: func() string { return i.sharedIn(i.DNSZoneGroup) }, Label: i.DNSZoneGroup, Node: publicZoneNode, Maybe: true}
		return roles.Nodes(i.s, i.InfraID, wanted, who, scopes)
	}
	var found string
	group := &stack.Node{ID: dnsGroupNode, Kind: "resource group", Name: "of the public DNS zone", Brought: true, DependsOn: []string{publicZoneNode},
		Observe: func(ctx context.Context) (stack.State, error) {
			zone, err := azure.ParseID(i.sharedIn(i.apps.baseZoneID))
			if err != nil {
				return stack.Current, nil // there is none, and need not be
			}
			found, err = groupName(ctx, i.s, zone.ResourceGroup)
			return stack.Current, err
		}}
	scopes[roles.DNS] = roles.Scope{Group: func() string { return i.sharedIn(found) }, Label: "the group of the public DNS zone", Node: dnsGroupNode, Maybe: true}
	return append(roles.Nodes(i.s, i.InfraID, wanted, who, scopes), group)
}

// scope is the group of a resource; where the resource is the user's, roles can be given once it has been found.
func (i *layout) scope(group, which, broughtID string) roles.Scope {
	at := roles.Scope{Group: func() string { return group }, Label: group, Node: i.in(which), Made: i.ResourceGroup == "" && broughtID == ""}
	if broughtID != "" {
		at.Node = which
	}
	if which == vnetNode {
		at.VNetID, at.VNetNode = i.out.VNetID, vnetNode
	}
	return at
}

func (i *layout) groupNodes() []*stack.Node {
	if i.ResourceGroup != "" {
		return []*stack.Node{node.Brought(i.s, "group/main", "resource group", i.s.GroupID(i.main), node.APIGroups, nil)}
	}
	nodes := []*stack.Node{node.Group(i.s, "group/main", i.main, i.Location, i.tags(), false)}
	if i.NSGID == "" {
		nodes = append(nodes, node.Group(i.s, "group/nsg", i.nsgGroup(), i.Location, i.tags(), false))
	}
	if i.VNetID == "" {
		nodes = append(nodes, node.Group(i.s, "group/vnet", i.vnetGroup(), i.Location, i.tags(), false))
	}
	return nodes
}

// ownerTag marks what this cluster's stack made, in the spelling that the cloud provider uses for its own.
func ownerTag(infraID string) string { return "kubernetes.io_cluster_" + infraID }

// tags are the user's and the mark of ownership.
func (i *layout) tags() map[string]string {
	all := maps.Clone(i.Tags)
	if all == nil {
		all = map[string]string{}
	}
	all[ownerTag(i.InfraID)] = "owned"
	return all
}

// in is the node id of a group that this stack makes or uses.
func (i *layout) in(which string) string {
	if i.ResourceGroup != "" {
		return "group/main"
	}
	return "group/" + which
}

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

// Rights says, scope by scope, whether the credentials may make the infrastructure.
func Rights(ctx context.Context, s *azure.Session, o Options) ([]node.ScopeRights, error) {
	return node.RightsOf(ctx, s, newLayout(s, o).nodes())
}

// Namespaces are those of the resource providers that a hosted cluster needs, the machine provider's among them.
func Namespaces(s *azure.Session, o Options) []string {
	return node.Namespaces(newLayout(s, o).nodes(), MachinesNamespace)
}
