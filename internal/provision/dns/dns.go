// Package dns is the stack of the zone for the hosted clusters' endpoints: its delegation, and the identity of ExternalDNS.
package dns

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/provision/delegation"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/provision/roles"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

const (
	// ZoneContributor is the built-in role that writes a zone's records.
	ZoneContributor = "befefa01-2a29-4197-83a8-272ff33ce314"

	// Subject is the service account that ExternalDNS runs as, and externalDNSAudience that of its tokens.
	Subject             = "system:serviceaccount:hypershift:external-dns"
	externalDNSAudience = contract.CloudTokenAudience

	passwordLife  = 365 * 24 * time.Hour
	passwordLabel = "external-dns" // of the secrets that are ours
)

// How ExternalDNS signs in.
const (
	ByWorkloadIdentity = "WorkloadIdentity"
	ByServicePrincipal = "ServicePrincipal"
)

// Stack is the name of the stack in an inventory.
const Stack = "dns"

// zoneStack carries what the nodes share. The zone's name servers and the client id are known once Azure has made them.
type zoneStack struct {
	Options
	s           *azure.Session
	mu          sync.Mutex
	out         Output
	principalID string // of ExternalDNS's identity
}

func newZoneStack(s *azure.Session, o Options) *zoneStack {
	d := &zoneStack{Options: o, s: s, out: Output{Zone: o.Zone, ZoneID: s.ResourceID(o.ResourceGroup, node.TypeDNS, o.Zone), ParentZoneID: o.ParentZoneID}}
	switch {
	case o.ManagementURL != "":
		d.out.ExternalDNS, d.out.ManagementURL, d.out.CredentialsPath = ByWorkloadIdentity, o.ManagementURL, o.CredentialsPath
	case o.ServicePrincipal != "":
		d.out.ExternalDNS, d.out.Application, d.out.CredentialsPath = ByServicePrincipal, o.ServicePrincipal, o.CredentialsPath
	}
	return d
}

// Expected is what is known of a zone before it is made.
func Expected(s *azure.Session, o Options) *Output { return &newZoneStack(s, o).out }

// Nodes are the nodes without what is asked before, and the output that they fill.
func Nodes(s *azure.Session, o Options) ([]*stack.Node, *Output) {
	d := newZoneStack(s, o)
	return d.nodes(), &d.out
}

// parentZone is the closest zone above the domain in the subscription, or "".
func parentZone(ctx context.Context, s *azure.Session, domain string) (string, error) {
	zones, err := s.List(ctx, "/subscriptions/"+s.SubscriptionID+"/providers/Microsoft.Network/dnszones", node.APIDNS, "")
	if err != nil {
		return "", err
	}
	best := azure.Resource{}
	for _, z := range zones {
		if strings.HasSuffix(strings.ToLower(domain), "."+strings.ToLower(z.Name)) && len(z.Name) > len(best.Name) {
			best = z
		}
	}
	return best.ID, nil
}

// Create makes the zone, its delegation and ExternalDNS's identity, and asks real DNS whether the delegation answers.
func Create(ctx context.Context, s *azure.Session, o Options, progress func(stack.Event)) (*Output, error) {
	d := newZoneStack(s, o)
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return &d.out, stack.Create(ctx, d.guardedNodes(), node.Options(progress))
}

// Plan says what CreateDNS would do.
func Plan(ctx context.Context, s *azure.Session, o Options) ([]stack.Step, error) {
	d := newZoneStack(s, o)
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return stack.Plan(ctx, d.guardedNodes())
}

// guardedNodes are the nodes with what is asked before the first of them is written.
func (d *zoneStack) guardedNodes() []*stack.Node {
	return node.Guarded(d.s, d.Location, d.nodes(), func() []*stack.Node { return newZoneStack(d.s, d.Options).nodes() })
}

func (d *zoneStack) nodes() []*stack.Node {
	nodes := []*stack.Node{node.Group(d.s, "group", d.ResourceGroup, d.Location, d.Tags, true), d.zoneNode()}
	if !d.SkipDelegation {
		record := d.delegationNode()
		// Nothing is written before the parent zone has been found.
		nodes[0].DependsOn, nodes[0].Ahead = []string{parentNode}, true
		nodes = append(nodes, record, d.answersNode(record.ID), d.parentNode(record))
	}
	if d.out.CredentialsPath != "" {
		nodes = append(nodes, d.ownFileNode())
	}
	switch d.out.ExternalDNS {
	case ByWorkloadIdentity:
		nodes = append(nodes, d.workloadIdentityNodes()...)
	case ByServicePrincipal:
		nodes = append(nodes, d.servicePrincipalNodes()...)
	}
	return nodes
}

const parentNode = "parent"

// parentNode finds the zone that the delegation is made in, unless it is named, and refuses to turn somebody else's.
func (d *zoneStack) parentNode(record *stack.Node) *stack.Node {
	return &stack.Node{ID: parentNode, Kind: "parent DNS zone", Name: "of " + d.Zone, Brought: true,
		Observe: func(ctx context.Context) (stack.State, error) {
			parent, err := d.findParent(ctx)
			if err != nil {
				return stack.Missing, err
			}
			d.out.ParentZoneID = parent
			record.Resource = d.delegationID()
			return stack.Current, d.delegatedElsewhere(ctx)
		}}
}

func (d *zoneStack) findParent(ctx context.Context) (string, error) {
	if d.Options.ParentZoneID != "" {
		_, err := d.s.Get(ctx, d.Options.ParentZoneID, node.APIDNS)
		if failure.IsNotFound(err) {
			err = FieldParentZoneID.Wrap(err)
		}
		return d.Options.ParentZoneID, err
	}
	parent, err := parentZone(ctx, d.s, d.Zone)
	if err == nil && parent == "" {
		err = field.Errorf(FieldParentZoneID, "no public DNS zone above %s in subscription %s; give %s, or %s to make the NS records elsewhere",
			d.Zone, d.s.SubscriptionID, FieldParentZoneID, FieldSkipDelegation)
	}
	return parent, err
}

// delegatedElsewhere refuses a delegation that is not ours, and one of ours that leads to another zone of this name: what is published there
// would be gone from the world. One that leads to this zone may be anybody's, and one of ours that leads nowhere is turned to it.
func (d *zoneStack) delegatedElsewhere(ctx context.Context) error {
	set, err := d.s.Get(ctx, d.delegationID(), node.APIDNS)
	if failure.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	zones, err := d.s.List(ctx, "/subscriptions/"+d.s.SubscriptionID+"/providers/"+node.TypeDNS, node.APIDNS, "")
	if err != nil {
		return err
	}
	servers := delegation.LeadsTo(set)
	for i := range zones {
		if !strings.EqualFold(zones[i].Name, d.Zone) || !slices.Equal(delegation.ServersOf(&zones[i]), servers) {
			continue
		}
		if strings.EqualFold(zones[i].ID, d.out.ZoneID) {
			return nil
		}
		return field.Errorf(FieldResourceGroup, "%s is delegated to zone %s already; give %s with its group, or choose another %s",
			d.Zone, zones[i].ID, FieldResourceGroup, FieldZone)
	}
	if set.Property("metadata", zoneMetadata) == strings.ToLower(d.Zone) {
		return nil
	}
	return field.Errorf(FieldZone, "the parent zone delegates %s to %s already, and `create dns azure` did not make that record; "+
		"delete it where it is left, choose another %s, or give %s and leave the record as it is",
		d.Zone, strings.Join(servers, ", "), FieldZone, FieldSkipDelegation)
}

func (d *zoneStack) zoneNode() *stack.Node {
	return node.Resource{Session: d.s, ID: d.out.ZoneID, API: node.APIDNS,
		Body: func() azure.Resource {
			return azure.Resource{Location: "global", Tags: node.WithTag(d.Tags, node.StackTag("dns", "zone"))}
		},
		Found: func(r *azure.Resource) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.out.NameServers = delegation.ServersOf(r)
		},
	}.Node("zone", "DNS zone", d.Zone, "group")
}

func (d *zoneStack) nameServers() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.out.NameServers)
}

func (d *zoneStack) delegationID() string { return delegation.ID(d.Zone, d.out.ParentZoneID) }

// delegationNode asks for the parent zone when it runs: the same run may find it.
func (d *zoneStack) delegationNode() *stack.Node {
	n := d.delegation().Node("delegation", "NS record set", d.Zone, "zone")
	n.Observe = func(ctx context.Context) (stack.State, error) { return d.delegation().Observe(ctx) }
	n.Apply = func(ctx context.Context) error { return d.delegation().Apply(ctx) }
	return n
}

func (d *zoneStack) delegation() node.Resource {
	return node.Resource{Session: d.s, ID: d.delegationID(), API: node.APIDNS,
		Body: func() azure.Resource {
			return delegation.RecordSet(d.nameServers(), zoneMetadata, strings.ToLower(d.Zone))
		},
		Current: func(r *azure.Resource) bool { return slices.Equal(delegation.LeadsTo(r), d.nameServers()) },
	}
}

// zoneMetadata marks the NS records that we made in a parent zone.
const zoneMetadata = "hypershift_zone"

func identityName(zone string) string {
	return "external-dns-" + strings.ReplaceAll(strings.ToLower(zone), ".", "-")
}

func (d *zoneStack) identityName() string { return identityName(d.Zone) }

func (d *zoneStack) identityID() string {
	return d.s.ResourceID(d.ResourceGroup, node.TypeIdentity, d.identityName())
}

// CredentialID is the federated credential of ExternalDNS for a zone of a group.
func CredentialID(s *azure.Session, group, zone string) string {
	return s.ResourceID(group, node.TypeIdentity, identityName(zone)) + "/federatedIdentityCredentials/external-dns"
}

func (d *zoneStack) setClient(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out.ClientID = id
}

func (d *zoneStack) setPrincipal(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.principalID = id
}

// principal is the object id of ExternalDNS's identity; that of a service principal is asked for.
func (d *zoneStack) principal(ctx context.Context) (string, error) {
	d.mu.Lock()
	known := d.principalID
	d.mu.Unlock()
	if known != "" {
		return known, nil
	}
	return d.s.PrincipalOf(ctx, d.client())
}

func (d *zoneStack) client() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.out.ClientID
}

func (d *zoneStack) workloadIdentityNodes() []*stack.Node {
	account := node.Resource{Session: d.s, ID: d.identityID(), API: node.APIIdentity,
		Body: func() azure.Resource {
			return azure.Resource{Location: d.Location, Tags: node.WithTag(d.Tags, node.StackTag("dns", "external-dns"))}
		},
		Found: func(r *azure.Resource) {
			d.setClient(r.Property("clientId"))
			d.setPrincipal(r.Property("principalId"))
		},
	}.Node("identity", "managed identity", d.identityName(), "group")
	credential := identity.FederatedNode(d.s, CredentialID(d.s, d.ResourceGroup, d.Zone), Federation(d.ManagementURL), "credential", "identity")
	nodes := []*stack.Node{account, credential,
		d.roleNode("role/zone", "DNS Zone Contributor", ZoneContributor, d.out.ZoneID, "identity"),
		// ExternalDNS lists the zones of the group.
		d.roleNode("role/group", "Reader", roles.Reader, d.s.GroupID(d.ResourceGroup), "identity")}
	if d.CredentialsPath != "" {
		nodes = append(nodes, d.settingsNode())
	}
	return nodes
}

func (d *zoneStack) servicePrincipalNodes() []*stack.Node {
	return []*stack.Node{d.applicationNode(),
		d.roleNode("role/reader", "Reader", roles.Reader, d.out.ZoneID, "application"),
		d.roleNode("role/contributor", "Contributor", roles.Contributor, d.out.ZoneID, "application")}
}

func (d *zoneStack) roleNode(nodeID, name, role, scope, principal string) *stack.Node {
	return node.Assignment(d.s, nodeID, name, func(ctx context.Context) (azure.Assignment, error) {
		object, err := d.principal(ctx)
		return azure.Assignment{Name: azure.AssignmentName("external-dns", name, scope+"/"+d.Zone), Scope: scope, RoleGUID: role, PrincipalID: object}, err
	}, "zone", principal)
}

// Federation accepts the tokens of ExternalDNS's service account in the management cluster.
func Federation(issuerURL string) identity.Federation {
	return identity.Federation{Issuer: issuerURL, Subject: Subject, Audience: externalDNSAudience}
}

// Output is the part of the zone and of ExternalDNS.
type Output struct {
	Zone            string   `json:"zone"`
	ZoneID          string   `json:"zoneID"`
	NameServers     []string `json:"nameServers,omitempty"`
	ParentZoneID    string   `json:"parentZoneID,omitempty"` // "" when the delegation is made elsewhere
	ExternalDNS     string   `json:"externalDNS,omitempty"`  // WorkloadIdentity, ServicePrincipal or ""
	ClientID        string   `json:"clientID,omitempty"`
	ManagementURL   string   `json:"managementIssuerURL,omitempty"`
	Application     string   `json:"application,omitempty"`
	CredentialsPath string   `json:"credentialsPath,omitempty"`
}
