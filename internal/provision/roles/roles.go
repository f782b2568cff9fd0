// Package roles gives a hosted cluster's identities their roles on its resource groups and networks, and finds those that were given.
package roles

import (
	"context"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// ScopeName is a resource group in its role for the cluster.
type ScopeName int

// The groups of a cluster; several may be the same.
const (
	Main ScopeName = iota
	NSG
	VNet
	DNS
	PrivateZone // brought by the user, in a group of his
)

// Grant is the role one identity needs: id is part of the assignment's name.
type Grant struct {
	ID, Key  string
	RoleGUID string
	Scopes   []ScopeName
	roleName string // in place of roleGUID, where the id differs between tenants
	// OnVNet: the virtual network itself is enough, in place of the group that it is in, which may hold what is not the cluster's.
	OnVNet bool
	// Before are wider roles that earlier versions gave in place of this one: who holds one of them lacks nothing.
	Before []string
}

// Ids of built-in roles.
const (
	Contributor        = "b24988ac-6180-42a0-ab88-20f7382dd24c"
	networkContributor = "4d97b98b-1d4f-4787-a291-c67834d212e7"
	// MachineProvider (Azure Red Hat OpenShift Hosted Control Planes Cluster API Provider) is for virtual machines, their interfaces and disks,
	// and for joining a subnet and a load balancer's pool, and for nothing else.
	MachineProvider = "88366f10-ed47-4cc0-9fab-c8a06148393e"
	// Reader reads everything and writes nothing.
	Reader = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
	// tagContributor writes tags, of whatever is in its scope.
	tagContributor = "4a9ae827-6dc8-4573-8ac7-8239d42aa03f"
)

// Grants in a fixed order; the GUIDs are Azure's built-in roles. The control-plane-operator's identity has none: nothing signs in as it.
var Grants = []Grant{
	{ID: "cloud-provider", Key: "cloudProvider", RoleGUID: "a1f96423-95ce-4224-ab27-4e3dc72facd4", Scopes: []ScopeName{Main, NSG, VNet}},
	{ID: "ingress", Key: "ingress", RoleGUID: "0336e1d3-7a87-462b-b6db-342b63f7802c", Scopes: []ScopeName{Main, VNet, DNS, PrivateZone}, OnVNet: true},
	{ID: "azure-file", Key: "file", RoleGUID: "0d7aedc0-15fd-4a67-a412-efad370c947e", Scopes: []ScopeName{Main, NSG, VNet}},
	{ID: "azure-disk", Key: "disk", RoleGUID: "5b7237c5-45e1-49d6-bc18-a1f62f400748", Scopes: []ScopeName{Main}},
	{ID: "cncc", Key: "network", RoleGUID: "be7a6435-15ae-4171-8f30-4a343eff9e8f", Scopes: []ScopeName{Main, VNet}, OnVNet: true},
	{ID: "ciro", Key: "imageRegistry", RoleGUID: "8b32b316-c2f5-4ddf-b05b-83dacd2d08b5", Scopes: []ScopeName{Main}},
	{ID: "capz", Key: "nodePoolManagement", RoleGUID: MachineProvider, Scopes: []ScopeName{Main, VNet}, OnVNet: true, Before: []string{Contributor, networkContributor}},
	// The machine provider also reads its machines' tags, and images that lie in the group.
	{ID: "capz-read", Key: "nodePoolManagement", RoleGUID: Reader, Scopes: []ScopeName{Main}, Before: []string{Contributor}},
	// It writes tags by an API of their own, for which the right to write a virtual machine is not enough.
	{ID: "capz-tags", Key: "nodePoolManagement", RoleGUID: tagContributor, Scopes: []ScopeName{Main}, Before: []string{Contributor}},
}

// Holder is who gets a role. Its principal is asked for when it is needed, for the same run may make it.
type Holder struct {
	Principal func(context.Context) (string, error)
	Node      string // that makes it; "" when it is there
}

// Of are identities that exist, by their keys.
func Of(s *azure.Session, identities *identity.WorkloadIdentities) map[string]Holder {
	out := map[string]Holder{}
	directory := s.NewDirectory()
	for _, c := range identity.Components {
		if clientID := identities.Get(c.Key); clientID != "" {
			out[c.Key] = Holder{Principal: func(ctx context.Context) (string, error) { return directory.PrincipalOf(ctx, clientID) }}
		}
	}
	return out
}

// Scope is a resource group, or one resource, on which roles are given; the group's name is known once the node has run.
type Scope struct {
	Resource string        // id of the one resource; "" is the whole group
	Group    func() string // "" gives no role
	Label    string        // for people
	Node     string        // after which roles can be given here
	Made     bool          // by this stack: nothing can have been given before
	Maybe    bool          // no role may be needed here, which is known after Node

	VNetID, VNetNode string // the virtual network in the group, and after which node roles can be given on it; "" where it is not known
}

// on is where the grant is given: the group, or the one resource in it.
func (at Scope) on(s *azure.Session) string {
	if at.Resource != "" {
		return at.Resource
	}
	return s.GroupID(at.Group())
}

// narrowed is the virtual network alone.
func (at Scope) narrowed() Scope {
	at.Resource, at.Label, at.Node = at.VNetID, "virtual network "+path.Base(at.VNetID), at.VNetNode
	return at
}

// Nodes are the assignments of all holders, each on every scope once.
func Nodes(s *azure.Session, infraID string, wanted []Grant, who map[string]Holder, scopes map[ScopeName]Scope) []*stack.Node {
	var nodes []*stack.Node
	all := s.NewAssignments()
	for _, r := range wanted {
		h, ok := who[r.Key]
		if !ok {
			continue
		}
		seen := map[string]bool{}
		for _, name := range r.Scopes {
			at, ok := scopes[name]
			if !ok || seen[strings.ToLower(at.Label)] {
				continue
			}
			seen[strings.ToLower(at.Label)] = true
			if at.VNetID != "" && r.OnVNet {
				at = at.narrowed()
			}
			nodes = append(nodes, roleNode(all, s, infraID, r, h, at))
		}
	}
	return nodes
}

func roleNode(all *azure.Assignments, s *azure.Session, infraID string, r Grant, h Holder, at Scope) *stack.Node {
	// An identity or a group that was made just now has no assignment yet; it is not looked for.
	after := []string{at.Node}
	switch {
	case h.Node != "" && (at.Made || at.Maybe):
		after = []string{at.Node, h.Node}
	case h.Node != "":
		after = []string{h.Node, at.Node}
	}
	n := node.AssignmentAmong(all, s, "role/"+r.ID+"/"+at.Label, r.ID+" on "+at.Label, func(ctx context.Context) (azure.Assignment, error) {
		principal, err := h.Principal(ctx)
		if err != nil {
			return azure.Assignment{}, err
		}
		role, err := r.role(ctx, s)
		id := at.on(s)
		return azure.Assignment{Name: nameOf(infraID, r.ID, id), Scope: id, RoleGUID: role, PrincipalID: principal}, err
	}, after...)
	if group := at.Group(); group != "" {
		scope := at.on(s)
		n.Resource = azure.Assignment{Name: nameOf(infraID, r.ID, scope), Scope: scope}.ID()
	}
	look := n.Observe
	n.Observe = func(ctx context.Context) (stack.State, error) {
		if at.Group() == "" {
			return stack.Current, nil
		}
		return look(ctx)
	}
	return n
}

// Left finds the cluster's assignments wherever they were given: their names follow from the infra id, the component and
// the scope, so neither the identities nor the groups that the user brought have to be known. Where the subscription may not
// be listed, the scopes that are known have to do.
func Left(ctx context.Context, s *azure.Session, infraID string, known []string) ([]*stack.Node, error) {
	all, err := s.AssignmentsBelow(ctx)
	listed := err == nil
	if err != nil && failure.CodeOf(err) != "AuthorizationFailed" {
		return nil, err
	}
	spelled, err := groupSpellings(ctx, s)
	if err != nil {
		return nil, err
	}
	var nodes []*stack.Node
	add := func(component string, a azure.Assignment) {
		nodes = append(nodes, &stack.Node{ID: "role/" + strings.ToLower(a.Scope) + "/" + a.Name, Kind: "role assignment", Name: component + " on " + a.Scope, Resource: a.ID(),
			Delete: func(ctx context.Context) error { return s.Unassign(ctx, a) }})
	}
	for _, a := range all {
		// Azure may answer with another spelling of the scope than the name was made from.
		scopes := append([]string{a.Scope, spelled[strings.ToLower(a.Scope)]}, known...)
		if component := componentOf(infraID, a, scopes); component != "" {
			add(component, a)
		}
	}
	if listed {
		return nodes, nil
	}
	seen := map[string]bool{}
	for _, scope := range known {
		for _, r := range allGrants() {
			if a := (azure.Assignment{Name: nameOf(infraID, r.ID, scope), Scope: scope}); !seen[a.Name] {
				seen[a.Name] = true
				add(r.ID, a)
			}
		}
	}
	return nodes, nil
}

// componentOf is whose assignment this is, "" when it is none of the cluster's.
func componentOf(infraID string, a azure.Assignment, scopes []string) string {
	for _, scope := range scopes {
		for _, r := range allGrants() {
			if strings.EqualFold(scope, a.Scope) && strings.EqualFold(a.Name, nameOf(infraID, r.ID, scope)) {
				return r.ID
			}
		}
	}
	return ""
}

// nameOf is the name of an assignment. That on a group follows from the group's id as it was given, which is the field's contract; that on a
// resource from its id in lower case, for Azure may answer with another spelling.
func nameOf(infraID, component, scope string) string {
	if strings.Contains(strings.ToLower(scope), "/providers/") {
		scope = strings.ToLower(scope)
	}
	return azure.AssignmentName(infraID, component, scope)
}

// IsNamed tells whether the assignment lies on a resource group, a virtual network or a private zone and has the name that one of the cluster's grants has there.
func IsNamed(infraID string, a azure.Assignment) bool {
	return ownScope().MatchString(a.Scope) && componentOf(infraID, a, []string{a.Scope}) != ""
}

// ownScope is the id of a resource group, a virtual network or a private zone, and nothing that only begins like one.
var ownScope = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^/subscriptions/[0-9a-f-]+/resourceGroups/[\p{L}\p{N}_().-]+(/providers/Microsoft\.Network/(virtualNetworks|privateDnsZones)/[\w.-]+)?$`)
})

// groupSpellings maps the lower-cased ids of the subscription's groups to the ids with the names as they were given.
func groupSpellings(ctx context.Context, s *azure.Session) (map[string]string, error) {
	all, err := s.List(ctx, "/subscriptions/"+s.SubscriptionID+"/resourcegroups", node.APIGroups, "")
	if err != nil && failure.CodeOf(err) != "AuthorizationFailed" {
		return nil, err
	}
	out := map[string]string{}
	for _, g := range all {
		out[strings.ToLower(s.GroupID(g.Name))] = s.GroupID(g.Name)
	}
	return out, nil
}
