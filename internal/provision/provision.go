// Package provision holds the stacks: the OIDC issuer, the workload identities, and a hosted cluster's infrastructure.
// Each is a list of nodes for package stack; names, properties and order of need are facts of the wire contract.
package provision

import (
	"context"
	"maps"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// API versions of the resource providers.
const (
	apiGroups      = "2021-04-01"
	apiIdentity    = "2023-01-31"
	apiNetwork     = "2023-11-01"
	apiDNS         = "2018-05-01"
	apiPrivateDNS  = "2020-06-01"
	apiStorage     = "2023-01-01"
	typeVNet       = "Microsoft.Network/virtualNetworks"
	typeNSG        = "Microsoft.Network/networkSecurityGroups"
	typePublicIP   = "Microsoft.Network/publicIPAddresses"
	typeLB         = "Microsoft.Network/loadBalancers"
	typePrivateDNS = "Microsoft.Network/privateDnsZones"
	typeDNS        = "Microsoft.Network/dnsZones"
	typeIdentity   = "Microsoft.ManagedIdentity/userAssignedIdentities"
	typeStorage    = "Microsoft.Storage/storageAccounts"
)

// options turns a progress function into the engine's options.
func options(progress stack.Progress) stack.Options {
	return stack.Options{Progress: progress, Judge: judge}
}

// transientTries bounds the repeats of what should pass at once: the SDK has tried each of them four times already. What
// waits for Azure, throttling as well, has the engine's full patience.
const transientTries = 5

// freshTries bounds the wait for a group or parent that this run has made to be known everywhere: about half a minute.
const freshTries = 10

func judge(err error, try int, fresh bool) stack.Verdict {
	if fresh && azure.IsParentMissing(err) && try < freshTries {
		return stack.Again
	}
	switch azure.KindOf(err) {
	case azure.Waiting:
		return stack.Again
	case azure.Transient:
		if try < transientTries {
			return stack.Again
		}
	}
	return stack.Stop
}

// resource is the node of an ordinary ARM resource: it is there when a GET finds it and every wanted top-level
// property, read by current, agrees.
type resource struct {
	session *azure.Session
	id, api string
	body    func() azure.Resource
	current func(*azure.Resource) bool // nil: being there is enough
	found   func(*azure.Resource)      // called with what stands there, before and after a write
}

// node makes the node. The first dependency is what the resource lives in: its group, or its parent.
func (r resource) node(id, kind, name string, dependsOn ...string) *stack.Node {
	n := &stack.Node{ID: id, Kind: kind, Name: name, Resource: r.id, DependsOn: dependsOn,
		Observe: r.observe, Apply: r.apply,
		Delete: func(ctx context.Context) error { return r.session.Delete(ctx, r.id, r.api) }}
	if len(dependsOn) > 0 {
		n.Within = dependsOn[0]
	}
	return n
}

func (r resource) observe(ctx context.Context) (stack.State, error) {
	got, err := r.session.Get(ctx, r.id, r.api)
	if azure.IsNotFound(err) {
		return stack.Missing, nil
	}
	if err != nil {
		return stack.Missing, err
	}
	if unfinished(got) || r.current != nil && !r.current(got) {
		return stack.Drifted, nil
	}
	r.note(got)
	return stack.Current, nil
}

// unfinished is what an operation has left that failed: Azure shows it, and it does not work until it is written again.
func unfinished(got *azure.Resource) bool {
	state := got.Property("provisioningState")
	return state == "Failed" || state == "Canceled"
}

func (r resource) apply(ctx context.Context) error {
	if r.found == nil {
		return r.session.PutAway(ctx, r.id, r.api, r.body())
	}
	made, err := r.session.Put(ctx, r.id, r.api, r.body())
	if err == nil {
		r.note(made)
	}
	return err
}

func (r resource) note(got *azure.Resource) {
	if r.found != nil {
		r.found(got)
	}
}

// group is the node of a resource group. A persistent one outlives every stack, so it is never deleted by one.
func group(s *azure.Session, nodeID, name, location string, tags map[string]string, persistent bool) *stack.Node {
	n := resource{session: s, id: s.GroupID(name), api: apiGroups, body: func() azure.Resource {
		return azure.Resource{Location: location, Tags: maps.Clone(tags)}
	}}.node(nodeID, "resource group", name)
	if persistent {
		n.Delete = nil
	}
	return n
}

// brought is the node of a resource that belongs to the user.
func brought(s *azure.Session, nodeID, kind, id, api string, found func(*azure.Resource)) *stack.Node {
	r := resource{session: s, id: id, api: api, found: found}
	n := r.node(nodeID, kind, id)
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

// assignment is the node of a role assignment; the principal is asked for when it is needed because it may be made by the same
// stack. The first dependency is what the assignment's scope is.
func assignment(s *azure.Session, nodeID, name string, wanted func(context.Context) (azure.Assignment, error), dependsOn ...string) *stack.Node {
	return assignmentAmong(s.NewAssignments(), s, nodeID, name, wanted, dependsOn...)
}

// assignmentAmong is assignment with a view that several nodes share.
func assignmentAmong(all *azure.Assignments, s *azure.Session, nodeID, name string, wanted func(context.Context) (azure.Assignment, error), dependsOn ...string) *stack.Node {
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
