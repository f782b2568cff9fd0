// Package provision joins the stacks: everything that a hosted cluster needs as one graph, and the change of an issuer's key.
package provision

import (
	"context"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/iam"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// PrerequisitesOptions describe everything that a hosted cluster needs in Azure. The issuer, the identities and the zone share one
// persistent group; the identities trust the issuer, and get their roles in the same run.
type PrerequisitesOptions struct {
	Issuer issuer.Options
	IAM    iam.Options
	DNS    dns.Options // without a zone there is none
	Infra  infra.Options
}

// Validate names the field that is wrong, before any call.
func (o PrerequisitesOptions) Validate() error {
	// The outputs of one part are inputs of another and are not known yet.
	if o.IAM.IssuerURL == "" {
		o.IAM.IssuerURL = "https://" + o.Issuer.Name
	}
	if o.Infra.Identities == nil {
		o.Infra.Identities = &identity.WorkloadIdentities{}
	}
	checks := []error{o.Issuer.Validate(), o.IAM.Validate()}
	if o.DNS.Zone != "" {
		checks = append(checks, o.DNS.Validate())
	}
	for _, err := range append(checks, o.Infra.Validate()) {
		if err != nil {
			return err
		}
	}
	if o.DNS.Zone == "" {
		return nil
	}
	if domain := o.Infra.Name + "." + o.Infra.BaseDomain; strings.HasSuffix("."+strings.ToLower(domain), "."+strings.ToLower(o.DNS.Zone)) {
		return dns.FieldZone.Wrong("%s is not beside the cluster's domain %s but above it, where the cluster's private zone would hide its records; choose another zone",
			o.DNS.Zone, domain)
	}
	return nil
}

// Prerequisites is what exists once the stack is there.
type Prerequisites struct {
	Issuer     issuer.Issuer                `json:"issuer"`
	Identities *identity.WorkloadIdentities `json:"identities"`
	DNS        *dns.Output                  `json:"dns,omitempty"`
	Infra      *infra.Output                `json:"infra"`
}

// CreatePrerequisites makes the issuer, the identities, the zone and the infrastructure as one graph: what does not wait for each
// other is made at the same time.
func CreatePrerequisites(ctx context.Context, s *azure.Session, o PrerequisitesOptions, progress stack.Progress) (*Prerequisites, error) {
	p, err := preparePrerequisites(s, o)
	if err != nil {
		return nil, err
	}
	err = issuer.ExplainPublicAccess(p.out.Issuer, stack.Create(ctx, p.nodes, node.Options(progress)))
	p.out.Infra.KMSClientID = p.out.Identities.KMSClientID
	return p.out, err
}

// PlanPrerequisites says what CreatePrerequisites would do.
func PlanPrerequisites(ctx context.Context, s *azure.Session, o PrerequisitesOptions) ([]stack.Step, error) {
	p, err := preparePrerequisites(s, o)
	if err != nil {
		return nil, err
	}
	return stack.Plan(ctx, p.nodes)
}

type prerequisites struct {
	out   *Prerequisites
	nodes []*stack.Node
}

// sharedGroup is the id of the persistent group's node, which is one in the whole graph.
const sharedGroup = "group"

func preparePrerequisites(s *azure.Session, o PrerequisitesOptions) (*prerequisites, error) {
	o.IAM.IssuerURL = o.Issuer.Resolve(s).URL
	identities := &identity.WorkloadIdentities{}
	o.Infra.Identities = identities
	if err := o.Validate(); err != nil {
		return nil, err
	}
	of := o.Issuer.Resolve(s)
	key, err := o.Issuer.SigningKey(of)
	if err != nil {
		return nil, err
	}
	p := newPrerequisites(s, o, of, key)
	p.nodes = append(p.nodes, issuer.PublishedNode(s, o.Issuer, of, key))
	p.nodes = node.Guarded(s, o.Issuer.Location, p.nodes, func() []*stack.Node {
		fresh := o
		fresh.Infra.Identities = &identity.WorkloadIdentities{}
		return newPrerequisites(s, fresh, of, key.AsIs()).nodes
	}, infra.MachinesNamespace)
	return p, stack.Validate(p.nodes)
}

// newPrerequisites makes one graph of the stacks.
func newPrerequisites(s *azure.Session, o PrerequisitesOptions, of issuer.Issuer, key *issuer.SigningKey) *prerequisites {
	identities := o.Infra.Identities
	p := &prerequisites{out: &Prerequisites{Issuer: of, Identities: identities}}
	p.add(issuer.Stack, issuer.Nodes(s, o.Issuer, of, key))
	nodes, who := iam.NodesAndHolders(s, o.IAM, identities)
	p.add(iam.Stack, nodes)
	for key, h := range who {
		h.Node = iam.Stack + "/" + h.Node
		who[key] = h
	}
	if !o.Infra.AssignRoles {
		who = nil
	}
	nodes, p.out.Infra = infra.Nodes(s, o.Infra, who)
	p.add(infra.Stack, nodes)
	if o.DNS.Zone != "" {
		nodes, p.out.DNS = dns.Nodes(s, o.DNS)
		p.add(dns.Stack, nodes)
	}
	return p
}

// add puts the nodes of a stack into the graph under its name, so that a node's id tells of which stack it is.
func (p *prerequisites) add(stackName string, nodes []*stack.Node) {
	own := map[string]bool{}
	for _, n := range nodes {
		own[n.ID] = n.ID != sharedGroup
	}
	rename := func(id string) string {
		if own[id] {
			return stackName + "/" + id
		}
		return id
	}
	for _, n := range nodes {
		n.ID, n.Within = rename(n.ID), rename(n.Within)
		n.DependsOn = slices.Clone(n.DependsOn)
		for i := range n.DependsOn {
			n.DependsOn[i] = rename(n.DependsOn[i])
		}
		if n.ID != sharedGroup || !slices.ContainsFunc(p.nodes, func(have *stack.Node) bool { return have.ID == sharedGroup }) {
			p.nodes = append(p.nodes, n)
		}
	}
}
