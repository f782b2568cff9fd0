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

// Rights says, scope by scope, whether the credentials may make the infrastructure.
func Rights(ctx context.Context, s *azure.Session, o Options) ([]node.ScopeRights, error) {
	return node.RightsOf(ctx, s, newLayout(s, o).nodes())
}

// Namespaces are those of the resource providers that a hosted cluster needs, the machine provider's among them.
func Namespaces(s *azure.Session, o Options) []string {
	return node.Namespaces(newLayout(s, o).nodes(), MachinesNamespace)
}
