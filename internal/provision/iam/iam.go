// Package iam is the stack of the workload identities and their federated credentials.
package iam

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/provision/roles"
	"github.com/hypershift-on-azure/hypershift/internal/provision/rules"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// Stack is the name of the stack in an inventory.
const Stack = "iam"

// Options describe the workload identities of one hosted cluster.
type Options struct {
	Name, InfraID string
	ResourceGroup string
	Location      string
	IssuerURL     string
	EnableKMS     bool
	Tags          map[string]string
	Roles         *RoleScopes // nil gives none

	every bool // also identities that are not made any more, or not for this cluster
}

// wants tells whether the identity is one of the cluster's.
func (o Options) wants(c identity.Component) bool {
	return o.every || !c.Unused() && (c.Key != "kms" || o.EnableKMS)
}

// Validate names the field that is missing.
func (o Options) Validate() error {
	if err := errors.Join(rules.Required(FieldName, o.Name), rules.Required(FieldInfraID, o.InfraID), rules.Required(FieldResourceGroup, o.ResourceGroup), rules.Required(FieldIssuerURL, o.IssuerURL)); err != nil {
		return err
	}
	return cmp.Or(rules.ClusterName(FieldName, o.Name), rules.InfraID(FieldInfraID, o.InfraID), rules.DerivedNames(FieldName, o.Name, FieldInfraID, o.InfraID),
		rules.Group(FieldResourceGroup, o.ResourceGroup), rules.IssuerURL(FieldIssuerURL, o.IssuerURL), rules.Tags(FieldTags, o.Tags), o.Roles.validate())
}

// Create makes the identities and their federated credentials: serial on one identity, parallel across.
func Create(ctx context.Context, s *azure.Session, o Options, progress func(stack.Event)) (*identity.WorkloadIdentities, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	out := &identity.WorkloadIdentities{}
	return out, stack.Create(ctx, guardedNodes(s, o, out), node.Options(progress))
}

// Plan says what CreateIAM would do.
func Plan(ctx context.Context, s *azure.Session, o Options) ([]stack.Step, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return stack.Plan(ctx, guardedNodes(s, o, &identity.WorkloadIdentities{}))
}

// guardedNodes are the nodes with what is asked before the first of them is written.
func guardedNodes(s *azure.Session, o Options, out *identity.WorkloadIdentities) []*stack.Node {
	return node.Guarded(s, o.Location, nodesOf(s, o, out), func() []*stack.Node { return nodesOf(s, o, &identity.WorkloadIdentities{}) })
}

// Destroy removes the roles of the identities, wherever they were given, the credentials and the identities; the group stays. A role
// that cannot be removed is reported, and does not hold up the rest: without its identity it gives nobody anything.
func Destroy(ctx context.Context, s *azure.Session, o Options, progress func(stack.Event)) error {
	roles, err := iamRoles(ctx, s, o)
	if err != nil {
		return err
	}
	o.every = true
	roleErr := stack.Destroy(ctx, roles, node.Options(progress))
	return errors.Join(roleErr, stack.Destroy(ctx, nodesOf(s, o, &identity.WorkloadIdentities{}), node.Options(progress)))
}

// PlanDestroy says what DestroyIAM would remove.
func PlanDestroy(ctx context.Context, s *azure.Session, o Options) ([]stack.Step, error) {
	roles, err := iamRoles(ctx, s, o)
	if err != nil {
		return nil, err
	}
	o.every = true
	return node.Deletions(append(roles, nodesOf(s, o, &identity.WorkloadIdentities{})...)), nil
}

func iamRoles(ctx context.Context, s *azure.Session, o Options) ([]*stack.Node, error) {
	known := []string{s.GroupID(node.MainGroup(o.Name, o.InfraID))}
	if o.Roles != nil {
		for _, group := range o.Roles.groups() {
			known = append(known, s.GroupID(group))
		}
		if o.Roles.VNetID != "" {
			known = append(known, o.Roles.VNetID)
		}
	}
	return roles.Left(ctx, s, o.InfraID, known)
}

func nodesOf(s *azure.Session, o Options, out *identity.WorkloadIdentities) []*stack.Node {
	nodes, who := NodesAndHolders(s, o, out)
	if o.Roles == nil {
		return nodes
	}
	nodes = append(nodes, o.Roles.nodes(s, o, who)...)
	node.Gate(nodes)
	return nodes
}

// NodesAndHolders are the nodes, and the identities that they make, for those who give them roles in the same run.
func NodesAndHolders(s *azure.Session, o Options, out *identity.WorkloadIdentities) ([]*stack.Node, map[string]roles.Holder) {
	var mu sync.Mutex
	principals, who := map[string]string{}, map[string]roles.Holder{}
	nodes := []*stack.Node{node.Group(s, "group", o.ResourceGroup, o.Location, o.Tags, true)}
	for _, c := range identity.Components {
		if !o.wants(c) {
			continue
		}
		name := o.Name + "-" + c.Part + "-" + o.InfraID
		id := identityID(s, o, c)
		nodes = append(nodes, node.Resource{Session: s, ID: id, API: node.APIIdentity,
			Body: func() azure.Resource {
				return azure.Resource{Location: o.Location, Tags: node.WithTag(o.Tags, node.StackTag("iam", o.InfraID))}
			},
			Found: func(r *azure.Resource) {
				mu.Lock()
				defer mu.Unlock()
				out.Set(c.Key, r.Property("clientId"))
				principals[c.Key] = r.Property("principalId")
			},
		}.Node(c.Key, "managed identity", name, "group"))
		for _, f := range c.Credentials {
			nodes = append(nodes, federated(s, o, id, c.Key, f))
		}
		who[c.Key] = roles.Holder{Node: c.Key, Principal: func(context.Context) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			return principals[c.Key], nil
		}}
	}
	return nodes, who
}

func identityID(s *azure.Session, o Options, c identity.Component) string {
	return s.ResourceID(o.ResourceGroup, node.TypeIdentity, o.Name+"-"+c.Part+"-"+o.InfraID)
}

func credentialID(identityID string, o Options, f identity.Credential) string {
	return identityID + "/federatedIdentityCredentials/" + o.Name + "-" + f.Suffix
}

func federated(s *azure.Session, o Options, identityID, key string, f identity.Credential) *stack.Node {
	n := identity.FederatedNode(s, credentialID(identityID, o, f), identity.GuestFederation(o.IssuerURL, f.Subject), f.Suffix, key)
	n.Name = o.Name + "-" + f.Suffix
	return n
}
