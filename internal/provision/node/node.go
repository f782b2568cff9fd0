// Package node makes nodes of Azure resources for the engine of stacks: what a resource must look like, where it lives, and what is asked before
// the first write.
package node

import (
	"context"
	"maps"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// API versions of the resource providers.
const (
	APIGroups      = "2021-04-01"
	APIIdentity    = "2023-01-31"
	APINetwork     = "2023-11-01"
	APIDNS         = "2018-05-01"
	APIPrivateDNS  = "2020-06-01"
	APIStorage     = "2023-01-01"
	TypeVNet       = "Microsoft.Network/virtualNetworks"
	TypeNSG        = "Microsoft.Network/networkSecurityGroups"
	TypePublicIP   = "Microsoft.Network/publicIPAddresses"
	TypeLB         = "Microsoft.Network/loadBalancers"
	TypePrivateDNS = "Microsoft.Network/privateDnsZones"
	TypeDNS        = "Microsoft.Network/dnsZones"
	TypeIdentity   = "Microsoft.ManagedIdentity/userAssignedIdentities"
	TypeStorage    = "Microsoft.Storage/storageAccounts"
)

// Resource is the node of an ordinary ARM resource: it is there when a GET finds it and every wanted top-level
// property, read by current, agrees.
type Resource struct {
	Session *azure.Session
	ID, API string
	Body    func() azure.Resource
	Current func(*azure.Resource) bool // nil: being there is enough
	Found   func(*azure.Resource)      // called with what stands there, before and after a write
	Change  func() azure.Resource      // of what stands there and is not as wanted: the rest is somebody else's to say; nil writes Body
}

// Node makes the node. The first dependency is what the resource lives in: its group, or its parent.
func (r Resource) Node(id, kind, name string, dependsOn ...string) *stack.Node {
	state, left := stack.Missing, (*azure.Resource)(nil) // as the last look found it; left by an operation that has failed
	n := &stack.Node{ID: id, Kind: kind, Name: name, Resource: r.ID, DependsOn: dependsOn,
		Observe: func(ctx context.Context) (_ stack.State, err error) {
			state, left, err = r.look(ctx)
			return state, err
		},
		Apply: func(ctx context.Context) error {
			switch {
			case left != nil && r.Current == nil:
				return r.finish(ctx, left)
			case state == stack.Drifted && r.Change != nil:
				return r.Session.Patch(ctx, r.ID, r.API, r.Change())
			}
			return r.Apply(ctx)
		},
		Delete: func(ctx context.Context) error { return r.Session.Delete(ctx, r.ID, r.API) }}
	if len(dependsOn) > 0 {
		n.Within = dependsOn[0]
	}
	return n
}

// Observe looks at the resource.
func (r Resource) Observe(ctx context.Context) (stack.State, error) {
	state, _, err := r.look(ctx)
	return state, err
}

// look also returns what an operation has left that failed.
func (r Resource) look(ctx context.Context) (state stack.State, left *azure.Resource, err error) {
	got, err := r.Session.Get(ctx, r.ID, r.API)
	if failure.IsNotFound(err) {
		return stack.Missing, nil, nil
	}
	if err != nil {
		return stack.Missing, nil, err
	}
	current := r.Current == nil || r.Current(got)
	if Unfinished(got) {
		return stack.Drifted, got, nil
	}
	if !current {
		return stack.Drifted, nil, nil
	}
	r.note(got)
	return stack.Current, nil, nil
}

// finish writes what is there as it is, by which Azure makes up for the operation that failed
// (https://learn.microsoft.com/azure/networking/troubleshoot-failed-state). A body of ours would take away what others have added since: the
// cloud provider's rules and frontends, the user's subnets.
func (r Resource) finish(ctx context.Context, left *azure.Resource) error {
	body := *left
	body.Properties = maps.Clone(left.Properties)
	delete(body.Properties, "provisioningState")
	if left.ETag == "" {
		return r.write(ctx, body)
	}
	made, err := r.Session.PutIf(ctx, r.ID, r.API, left.ETag, body)
	if azure.IsChanged(err) {
		return &failure.Error{Op: "finish", Resource: r.ID, Kind: failure.Waiting, Cause: "somebody has changed it meanwhile", Remedy: "it is looked at again by itself"}
	}
	if err == nil {
		r.note(made)
	}
	return err
}

// Unfinished is what an operation has left that failed: Azure shows it, and it does not work until it is written again.
func Unfinished(got *azure.Resource) bool {
	state := got.Property("provisioningState")
	return state == "Failed" || state == "Canceled"
}

// Apply writes the resource.
func (r Resource) Apply(ctx context.Context) error { return r.write(ctx, r.Body()) }

func (r Resource) write(ctx context.Context, body azure.Resource) error {
	if r.Found == nil {
		return r.Session.PutAway(ctx, r.ID, r.API, body)
	}
	made, err := r.Session.Put(ctx, r.ID, r.API, body)
	if err == nil {
		r.note(made)
	}
	return err
}

func (r Resource) note(got *azure.Resource) {
	if r.Found != nil {
		r.Found(got)
	}
}

// Group is the node of a resource group. A persistent one outlives every stack, so it is never deleted by one.
func Group(s *azure.Session, nodeID, name, location string, tags map[string]string, persistent bool) *stack.Node {
	n := Resource{Session: s, ID: s.GroupID(name), API: APIGroups, Body: func() azure.Resource {
		return azure.Resource{Location: location, Tags: maps.Clone(tags)}
	}}.Node(nodeID, "resource group", name)
	if persistent {
		n.Delete = nil
	}
	return n
}

// Brought is the node of a resource that belongs to the user.
func Brought(s *azure.Session, nodeID, kind, id, api string, found func(*azure.Resource)) *stack.Node {
	r := Resource{Session: s, ID: id, API: api, Found: found}
	n := r.Node(nodeID, kind, id)
	n.Brought, n.Apply, n.Delete = true, nil, nil
	// Azure's answer says whether the resource is missing, or its group.
	n.Observe = func(ctx context.Context) (stack.State, error) {
		got, err := s.Get(ctx, id, api)
		if err != nil {
			return stack.Missing, err
		}
		r.note(got)
		return stack.Current, nil
	}
	return n
}

// Assignment is the node of a role assignment; the principal is asked for when it is needed because it may be made by the same
// stack. The first dependency is what the assignment's scope is.
func Assignment(s *azure.Session, nodeID, name string, wanted func(context.Context) (azure.Assignment, error), dependsOn ...string) *stack.Node {
	return AssignmentAmong(s.NewAssignments(), s, nodeID, name, wanted, dependsOn...)
}

// AssignmentAmong is assignment with a view that several nodes share.
func AssignmentAmong(all *azure.Assignments, s *azure.Session, nodeID, name string, wanted func(context.Context) (azure.Assignment, error), dependsOn ...string) *stack.Node {
	n := &stack.Node{ID: nodeID, Kind: "role assignment", Name: name, DependsOn: dependsOn}
	if len(dependsOn) > 0 {
		n.Within = dependsOn[0]
	}
	known := func(ctx context.Context) (azure.Assignment, error) {
		a, err := wanted(ctx)
		if err == nil {
			n.Resource = a.ID()
		}
		return a, err
	}
	n.Observe = func(ctx context.Context) (stack.State, error) {
		a, err := known(ctx)
		if err != nil {
			return stack.Missing, err
		}
		state, err := all.Observe(ctx, a)
		return map[azure.AssignmentState]stack.State{azure.AssignmentPresent: stack.Current, azure.AssignmentStale: stack.Drifted}[state], err
	}
	n.Apply = func(ctx context.Context) error {
		a, err := known(ctx)
		if err != nil {
			return err
		}
		return s.Assign(ctx, a)
	}
	n.Delete = func(ctx context.Context) error {
		a, err := known(ctx)
		if err != nil {
			return err
		}
		return s.Unassign(ctx, a)
	}
	return n
}
