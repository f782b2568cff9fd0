package provision

import (
	"context"
	"errors"
	"sync"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// IAMStack is the name of the stack in an inventory.
const IAMStack = "iam"

// IAMOptions describe the workload identities of one hosted cluster.
type IAMOptions struct {
	Name, InfraID string
	ResourceGroup string
	Location      string
	IssuerURL     string
	EnableKMS     bool
	Tags          map[string]string
	Roles         *RoleScopes // nil gives none
}

// Validate names the flag that is missing.
func (o IAMOptions) Validate() error {
	if err := errors.Join(required("--name", o.Name), required("--infra-id", o.InfraID), required("--resource-group-name", o.ResourceGroup), required("--oidc-issuer-url", o.IssuerURL)); err != nil {
		return err
	}
	return firstError(checkClusterName(o.Name), checkInfraID(o.InfraID), checkGroup("--resource-group-name", o.ResourceGroup),
		checkIssuerURL("--oidc-issuer-url", o.IssuerURL), checkTags("--tags", o.Tags), o.Roles.validate())
}

// CreateIAM makes the identities and their federated credentials: serial on one identity, parallel across.
func CreateIAM(ctx context.Context, s *azure.Session, o IAMOptions, progress func(stack.Event)) (*WorkloadIdentities, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	out := &WorkloadIdentities{}
	return out, stack.Create(ctx, guardedIAM(s, o, out), options(progress))
}

// PlanIAM says what CreateIAM would do.
func PlanIAM(ctx context.Context, s *azure.Session, o IAMOptions) ([]stack.Step, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return stack.Plan(ctx, guardedIAM(s, o, &WorkloadIdentities{}))
}

// guardedIAM are the nodes with what is asked before the first of them is written.
func guardedIAM(s *azure.Session, o IAMOptions, out *WorkloadIdentities) []*stack.Node {
	return guarded(s, o.Location, iamNodes(s, o, out), func() []*stack.Node { return iamNodes(s, o, &WorkloadIdentities{}) })
}

// DestroyIAM removes the roles of the identities, wherever they were given, the credentials and the identities; the group stays. A role
// that cannot be removed is reported, and does not hold up the rest: without its identity it gives nobody anything.
func DestroyIAM(ctx context.Context, s *azure.Session, o IAMOptions, progress func(stack.Event)) error {
	roles, err := iamRoles(ctx, s, o)
	if err != nil {
		return err
	}
	o.EnableKMS = true
	roleErr := stack.Destroy(ctx, roles, options(progress))
	return errors.Join(roleErr, stack.Destroy(ctx, iamNodes(s, o, &WorkloadIdentities{}), options(progress)))
}

// PlanDestroyIAM says what DestroyIAM would remove.
func PlanDestroyIAM(ctx context.Context, s *azure.Session, o IAMOptions) ([]stack.Step, error) {
	roles, err := iamRoles(ctx, s, o)
	if err != nil {
		return nil, err
	}
	o.EnableKMS = true
	return deletions(append(roles, iamNodes(s, o, &WorkloadIdentities{})...)), nil
}

func iamRoles(ctx context.Context, s *azure.Session, o IAMOptions) ([]*stack.Node, error) {
	known := []string{s.GroupID(MainGroup(o.Name, o.InfraID))}
	if o.Roles != nil {
		for _, group := range o.Roles.groups() {
			known = append(known, s.GroupID(group))
		}
	}
	return leftRoles(ctx, s, o.InfraID, known)
}

func iamNodes(s *azure.Session, o IAMOptions, out *WorkloadIdentities) []*stack.Node {
	nodes, who := iamNodesAndHolders(s, o, out)
	if o.Roles == nil {
		return nodes
	}
	nodes = append(nodes, o.Roles.nodes(s, o, who)...)
	gate(nodes)
	return nodes
}

// iamNodesAndHolders are the nodes, and the identities that they make, for those who give them roles in the same run.
func iamNodesAndHolders(s *azure.Session, o IAMOptions, out *WorkloadIdentities) ([]*stack.Node, map[string]holder) {
	var mu sync.Mutex
	principals, who := map[string]string{}, map[string]holder{}
	nodes := []*stack.Node{group(s, "group", o.ResourceGroup, o.Location, o.Tags, true)}
	for _, c := range components {
		if c.key == "kms" && !o.EnableKMS {
			continue
		}
		name := o.Name + "-" + c.part + "-" + o.InfraID
		id := identityID(s, o, c)
		nodes = append(nodes, resource{session: s, id: id, api: apiIdentity,
			body: func() azure.Resource {
				return azure.Resource{Location: o.Location, Tags: withTag(o.Tags, stackTag("iam", o.InfraID))}
			},
			found: func(r *azure.Resource) {
				mu.Lock()
				defer mu.Unlock()
				out.set(c.key, r.Property("clientId"))
				principals[c.key] = r.Property("principalId")
			},
		}.node(c.key, "managed identity", name, "group"))
		for _, f := range c.credentials {
			nodes = append(nodes, federated(s, o, id, c.key, f))
		}
		who[c.key] = holder{node: c.key, principal: func(context.Context) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			return principals[c.key], nil
		}}
	}
	return nodes, who
}

func identityID(s *azure.Session, o IAMOptions, c component) string {
	return s.ResourceID(o.ResourceGroup, typeIdentity, o.Name+"-"+c.part+"-"+o.InfraID)
}

func credentialID(identityID string, o IAMOptions, f credential) string {
	return identityID + "/federatedIdentityCredentials/" + o.Name + "-" + f.suffix
}

func federated(s *azure.Session, o IAMOptions, identityID, key string, f credential) *stack.Node {
	n := federatedNode(s, credentialID(identityID, o, f), guestFederation(o.IssuerURL, f.subject), f.suffix, key)
	n.Name = o.Name + "-" + f.suffix
	return n
}
