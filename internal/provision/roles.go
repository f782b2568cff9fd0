package provision

import (
	"context"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// scopeName is a resource group in its role for the cluster.
type scopeName int

const (
	scopeMain scopeName = iota
	scopeNSG
	scopeVNet
	scopeDNS
)

// grant is the role one identity needs: id is part of the assignment's name.
type grant struct {
	id, key  string
	roleGUID string
	scopes   []scopeName
	roleName string // in place of roleGUID, where the id differs between tenants
}

const roleContributor = "b24988ac-6180-42a0-ab88-20f7382dd24c"

// grants in a fixed order; the GUIDs are Azure's built-in roles.
var grants = []grant{
	{id: "cloud-provider", key: "cloudProvider", roleGUID: "a1f96423-95ce-4224-ab27-4e3dc72facd4", scopes: []scopeName{scopeMain, scopeNSG, scopeVNet}},
	{id: "ingress", key: "ingress", roleGUID: "0336e1d3-7a87-462b-b6db-342b63f7802c", scopes: []scopeName{scopeMain, scopeVNet, scopeDNS}},
	{id: "azure-file", key: "file", roleGUID: "0d7aedc0-15fd-4a67-a412-efad370c947e", scopes: []scopeName{scopeMain, scopeNSG, scopeVNet}},
	{id: "azure-disk", key: "disk", roleGUID: "5b7237c5-45e1-49d6-bc18-a1f62f400748", scopes: []scopeName{scopeMain}},
	{id: "cncc", key: "network", roleGUID: "be7a6435-15ae-4171-8f30-4a343eff9e8f", scopes: []scopeName{scopeMain, scopeVNet}},
	{id: "ciro", key: "imageRegistry", roleGUID: "8b32b316-c2f5-4ddf-b05b-83dacd2d08b5", scopes: []scopeName{scopeMain}},
	{id: "capz", key: "nodePoolManagement", roleGUID: roleContributor, scopes: []scopeName{scopeMain, scopeVNet}},
	{id: "cpo", key: "controlPlaneOperator", roleGUID: roleContributor, scopes: []scopeName{scopeMain, scopeNSG, scopeVNet}},
}

// holder is who gets a role. Its principal is asked for when it is needed, for the same run may make it.
type holder struct {
	principal func(context.Context) (string, error)
	node      string // that makes it; "" when it is there
}

// holders are identities that exist, by their keys.
func holders(s *azure.Session, identities *WorkloadIdentities) map[string]holder {
	out := map[string]holder{}
	directory := s.NewDirectory()
	for _, c := range components {
		if clientID := identities.Get(c.key); clientID != "" {
			out[c.key] = holder{principal: func(ctx context.Context) (string, error) { return directory.PrincipalOf(ctx, clientID) }}
		}
	}
	return out
}

// scope is a resource group on which roles are given; its name is known once the node has run.
type scope struct {
	group func() string // "" gives no role
	label string        // for people
	node  string        // after which roles can be given here
	made  bool          // by this stack: nothing can have been given before
}

// roleNodes are the assignments of all holders, each on every scope once.
func roleNodes(s *azure.Session, infraID string, wanted []grant, who map[string]holder, scopes map[scopeName]scope) []*stack.Node {
	var nodes []*stack.Node
	all := s.NewAssignments()
	for _, r := range wanted {
		h, ok := who[r.key]
		if !ok {
			continue
		}
		seen := map[string]bool{}
		for _, name := range r.scopes {
			at, ok := scopes[name]
			if !ok || seen[strings.ToLower(at.label)] {
				continue
			}
			seen[strings.ToLower(at.label)] = true
			nodes = append(nodes, roleNode(all, s, infraID, r, h, at))
		}
	}
	return nodes
}

func roleNode(all *azure.Assignments, s *azure.Session, infraID string, r grant, h holder, at scope) *stack.Node {
	// An identity or a group that was made just now has no assignment yet.
	after := []string{at.node}
	switch {
	case h.node != "" && at.made:
		after = []string{at.node, h.node}
	case h.node != "":
		after = []string{h.node, at.node}
	}
	n := assignmentAmong(all, s, "role/"+r.id+"/"+at.label, r.id+" on "+at.label, func(ctx context.Context) (azure.Assignment, error) {
		principal, err := h.principal(ctx)
		if err != nil {
			return azure.Assignment{}, err
		}
		role, err := r.role(ctx, s)
		id := s.GroupID(at.group())
		return azure.Assignment{Name: azure.AssignmentName(infraID, r.id, id), Scope: id, RoleGUID: role, PrincipalID: principal}, err
	}, after...)
	if group := at.group(); group != "" {
		scope := s.GroupID(group)
		n.Resource = azure.Assignment{Name: azure.AssignmentName(infraID, r.id, scope), Scope: scope}.ID()
	}
	look := n.Observe
	n.Observe = func(ctx context.Context) (stack.State, error) {
		if at.group() == "" {
			return stack.Current, nil
		}
		return look(ctx)
	}
	return n
}

// leftRoles finds the cluster's assignments wherever they were given: their names follow from the infra id, the component and
// the scope, so neither the identities nor the groups that the user brought have to be known. Where the subscription may not
// be listed, the scopes that are known have to do.
func leftRoles(ctx context.Context, s *azure.Session, infraID string, known []string) ([]*stack.Node, error) {
	all, err := s.AssignmentsBelow(ctx)
	listed := err == nil
	if err != nil && azure.CodeOf(err) != "AuthorizationFailed" {
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
			if a := (azure.Assignment{Name: azure.AssignmentName(infraID, r.id, scope), Scope: scope}); !seen[a.Name] {
				seen[a.Name] = true
				add(r.id, a)
			}
		}
	}
	return nodes, nil
}

// componentOf is whose assignment this is, "" when it is none of the cluster's.
func componentOf(infraID string, a azure.Assignment, scopes []string) string {
	for _, scope := range scopes {
		for _, r := range allGrants() {
			if strings.EqualFold(scope, a.Scope) && strings.EqualFold(a.Name, azure.AssignmentName(infraID, r.id, scope)) {
				return r.id
			}
		}
	}
	return ""
}

// groupSpellings maps the lower-cased ids of the subscription's groups to the ids with the names as they were given.
func groupSpellings(ctx context.Context, s *azure.Session) (map[string]string, error) {
	all, err := s.List(ctx, "/subscriptions/"+s.SubscriptionID+"/resourcegroups", apiGroups, "")
	if err != nil && azure.CodeOf(err) != "AuthorizationFailed" {
		return nil, err
	}
	out := map[string]string{}
	for _, g := range all {
		out[strings.ToLower(s.GroupID(g.Name))] = s.GroupID(g.Name)
	}
	return out, nil
}
