package provision

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

const (
	// Built-in roles on the zone.
	roleReader             = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
	roleDNSZoneContributor = "befefa01-2a29-4197-83a8-272ff33ce314"

	// The service account that ExternalDNS runs as, and the audience of its tokens.
	externalDNSSubject  = "system:serviceaccount:hypershift:external-dns"
	externalDNSAudience = "api://AzureADTokenExchange"

	delegationTTL = 300
	passwordLife  = 365 * 24 * time.Hour
	passwordLabel = "external-dns" // of the secrets that are ours
)

// How ExternalDNS signs in.
const (
	ByWorkloadIdentity = "WorkloadIdentity"
	ByServicePrincipal = "ServicePrincipal"
)

// DNSStack is the name of the stack in an inventory.
const DNSStack = "dns"

// DNSOptions describe the zone that the hosted clusters' endpoints are published in.
type DNSOptions struct {
	Zone             string
	ResourceGroup    string // persistent group
	Location         string // of the group, where it must be made
	ParentZoneID     string // "" looks for it in the subscription
	SkipDelegation   bool   // the parent is not in Azure, or not ours
	ManagementURL    string // issuer of the management cluster's tokens: ExternalDNS by workload identity
	ServicePrincipal string // name of the application: ExternalDNS by service principal
	CredentialsPath  string // where its credentials, or the workload identity's settings, are written
	Resolver         string // HOST:PORT of the DNS server to ask; "" is the system's
	DelegationWait   time.Duration
	Tags             map[string]string
}

// Validate names the flag that is wrong.
func (o DNSOptions) Validate() error {
	switch {
	case !isDomain(o.Zone):
		return fmt.Errorf("--dns-zone-name %q is not a domain name such as clusters.example.com", o.Zone)
	case o.ResourceGroup == "":
		return errors.New("--resource-group-name is required: the persistent resource group")
	case o.ParentZoneID != "" && o.SkipDelegation:
		return errors.New("--parent-zone-id and --skip-delegation exclude each other")
	case o.ManagementURL != "" && o.ServicePrincipal != "":
		return errors.New("--management-issuer-url and --service-principal-name exclude each other: ExternalDNS signs in in one way")
	case o.ServicePrincipal != "" && o.CredentialsPath == "":
		return errors.New("--external-dns-credentials is required with --service-principal-name: the file to write")
	}
	if err := firstError(checkGroup("--resource-group-name", o.ResourceGroup), checkIssuerURL("--management-issuer-url", o.ManagementURL),
		checkResolver(o.Resolver), checkTags("--tags", o.Tags)); err != nil {
		return err
	}
	if o.ParentZoneID != "" {
		parent, err := azure.ParseID(o.ParentZoneID)
		if err != nil {
			return fmt.Errorf("--parent-zone-id: %w", err)
		}
		if !strings.HasSuffix(strings.ToLower(o.Zone), "."+strings.ToLower(parent.Name)) {
			return fmt.Errorf("--parent-zone-id: %s is not above %s", parent.Name, o.Zone)
		}
	}
	return nil
}

// dnsStack carries what the nodes share. The zone's name servers and the client id are known once Azure has made them.
type dnsStack struct {
	DNSOptions
	s           *azure.Session
	mu          sync.Mutex
	out         DNSHandoff
	principalID string // of ExternalDNS's identity
}

func newDNSStack(s *azure.Session, o DNSOptions) *dnsStack {
	d := &dnsStack{DNSOptions: o, s: s, out: DNSHandoff{Zone: o.Zone, ZoneID: s.ResourceID(o.ResourceGroup, typeDNS, o.Zone), ParentZoneID: o.ParentZoneID}}
	switch {
	case o.ManagementURL != "":
		d.out.ExternalDNS, d.out.ManagementURL, d.out.CredentialsPath = ByWorkloadIdentity, o.ManagementURL, o.CredentialsPath
	case o.ServicePrincipal != "":
		d.out.ExternalDNS, d.out.Application, d.out.CredentialsPath = ByServicePrincipal, o.ServicePrincipal, o.CredentialsPath
	}
	return d
}

// expectedDNS is what is known of a zone before it is made.
func expectedDNS(s *azure.Session, o DNSOptions) *DNSHandoff { return &newDNSStack(s, o).out }

// dnsNodes are the nodes without what is asked before, and the output that they fill.
func dnsNodes(s *azure.Session, o DNSOptions) ([]*stack.Node, *DNSHandoff) {
	d := newDNSStack(s, o)
	return d.nodes(), &d.out
}

// parentZone is the closest zone above the domain in the subscription, or "".
func parentZone(ctx context.Context, s *azure.Session, domain string) (string, error) {
	zones, err := s.List(ctx, "/subscriptions/"+s.SubscriptionID+"/providers/Microsoft.Network/dnszones", apiDNS, "")
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

// CreateDNS makes the zone, its delegation and ExternalDNS's identity, and asks real DNS whether the delegation answers.
func CreateDNS(ctx context.Context, s *azure.Session, o DNSOptions, progress func(stack.Event)) (*DNSHandoff, error) {
	d := newDNSStack(s, o)
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return &d.out, stack.Create(ctx, d.guardedNodes(), options(progress))
}

// PlanDNS says what CreateDNS would do.
func PlanDNS(ctx context.Context, s *azure.Session, o DNSOptions) ([]stack.Step, error) {
	d := newDNSStack(s, o)
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return stack.Plan(ctx, d.guardedNodes())
}

// guardedNodes are the nodes with what is asked before the first of them is written.
func (d *dnsStack) guardedNodes() []*stack.Node {
	return guarded(d.s, d.Location, d.nodes(), func() []*stack.Node { return newDNSStack(d.s, d.DNSOptions).nodes() })
}

func (d *dnsStack) nodes() []*stack.Node {
	nodes := []*stack.Node{group(d.s, "group", d.ResourceGroup, d.Location, d.Tags, true), d.zoneNode()}
	if !d.SkipDelegation {
		delegation := d.delegationNode()
		nodes = append(nodes, delegation, d.answersNode(delegation.ID))
		if d.out.ParentZoneID == "" {
			// Nothing is written before it has been found.
			nodes[0].DependsOn, nodes[0].Ahead = []string{parentNode}, true
			nodes = append(nodes, d.parentNode(delegation))
		}
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

// parentNode finds the zone that the delegation is made in.
func (d *dnsStack) parentNode(delegation *stack.Node) *stack.Node {
	return &stack.Node{ID: parentNode, Kind: "parent DNS zone", Name: "of " + d.Zone, Brought: true,
		Observe: func(ctx context.Context) (stack.State, error) {
			parent, err := parentZone(ctx, d.s, d.Zone)
			if err == nil && parent == "" {
				err = fmt.Errorf("no public DNS zone above %s in subscription %s; give --parent-zone-id, or --skip-delegation to make the NS records elsewhere", d.Zone, d.s.SubscriptionID)
			}
			if err != nil {
				return stack.Missing, err
			}
			d.out.ParentZoneID = parent
			delegation.Resource = d.delegationID()
			return stack.Current, nil
		}}
}

func (d *dnsStack) zoneNode() *stack.Node {
	return resource{session: d.s, id: d.out.ZoneID, api: apiDNS,
		body: func() azure.Resource {
			return azure.Resource{Location: "global", Tags: withTag(d.Tags, stackTag("dns", "zone"))}
		},
		found: func(r *azure.Resource) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.out.NameServers = nameServersOf(r)
		},
	}.node("zone", "DNS zone", d.Zone, "group")
}

func nameServersOf(zone *azure.Resource) []string {
	var names []string
	list, _ := zone.Properties["nameServers"].([]any)
	for _, entry := range list {
		if text, ok := entry.(string); ok {
			names = append(names, normalHost(text))
		}
	}
	sort.Strings(names)
	return names
}

func (d *dnsStack) nameServers() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.out.NameServers)
}

// delegationID is the NS record set of a zone in its parent; its name is what the zone adds to the parent's. It is "" without a parent.
func delegationID(zone, parentZoneID string) string {
	parent, err := azure.ParseID(parentZoneID)
	if err != nil {
		return ""
	}
	return parentZoneID + "/NS/" + zone[:len(zone)-len(parent.Name)-1]
}

func (d *dnsStack) delegationID() string { return delegationID(d.Zone, d.out.ParentZoneID) }

// delegationNode asks for the parent zone when it runs: the same run may find it.
func (d *dnsStack) delegationNode() *stack.Node {
	n := d.delegation().node("delegation", "NS record set", d.Zone, "zone")
	n.Observe = func(ctx context.Context) (stack.State, error) { return d.delegation().observe(ctx) }
	n.Apply = func(ctx context.Context) error { return d.delegation().apply(ctx) }
	return n
}

func (d *dnsStack) delegation() resource {
	return resource{session: d.s, id: d.delegationID(), api: apiDNS,
		body: func() azure.Resource {
			var records []any
			for _, name := range d.nameServers() {
				records = append(records, map[string]any{"nsdname": name + "."})
			}
			return azure.Resource{Properties: map[string]any{"TTL": delegationTTL, "NSRecords": records,
				"metadata": map[string]any{zoneMetadata: strings.ToLower(d.Zone)}}}
		},
		current: func(r *azure.Resource) bool { return slices.Equal(delegatedTo(r), d.nameServers()) },
	}
}

// zoneMetadata marks the NS records that we made in a parent zone.
const zoneMetadata = "hypershift_zone"

func delegatedTo(r *azure.Resource) []string {
	var names []string
	list, _ := r.Properties["NSRecords"].([]any)
	for _, entry := range list {
		if record, ok := entry.(map[string]any); ok {
			text, _ := record["nsdname"].(string)
			names = append(names, normalHost(text))
		}
	}
	sort.Strings(names)
	return names
}

func identityName(zone string) string {
	return "external-dns-" + strings.ReplaceAll(strings.ToLower(zone), ".", "-")
}

func (d *dnsStack) identityName() string { return identityName(d.Zone) }

func (d *dnsStack) identityID() string {
	return d.s.ResourceID(d.ResourceGroup, typeIdentity, d.identityName())
}

// dnsCredentialID is the federated credential of ExternalDNS for a zone of a group.
func dnsCredentialID(s *azure.Session, group, zone string) string {
	return s.ResourceID(group, typeIdentity, identityName(zone)) + "/federatedIdentityCredentials/external-dns"
}

func (d *dnsStack) setClient(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out.ClientID = id
}

func (d *dnsStack) setPrincipal(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.principalID = id
}

// principal is the object id of ExternalDNS's identity; that of a service principal is asked for.
func (d *dnsStack) principal(ctx context.Context) (string, error) {
	d.mu.Lock()
	known := d.principalID
	d.mu.Unlock()
	if known != "" {
		return known, nil
	}
	return d.s.PrincipalOf(ctx, d.client())
}

func (d *dnsStack) client() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.out.ClientID
}

func (d *dnsStack) workloadIdentityNodes() []*stack.Node {
	account := resource{session: d.s, id: d.identityID(), api: apiIdentity,
		body: func() azure.Resource {
			return azure.Resource{Location: d.Location, Tags: withTag(d.Tags, stackTag("dns", "external-dns"))}
		},
		found: func(r *azure.Resource) {
			d.setClient(r.Property("clientId"))
			d.setPrincipal(r.Property("principalId"))
		},
	}.node("identity", "managed identity", d.identityName(), "group")
	credential := federatedNode(d.s, dnsCredentialID(d.s, d.ResourceGroup, d.Zone), externalDNSFederation(d.ManagementURL), "credential", "identity")
	nodes := []*stack.Node{account, credential,
		d.roleNode("role/zone", "DNS Zone Contributor", roleDNSZoneContributor, d.out.ZoneID, "identity"),
		// ExternalDNS lists the zones of the group.
		d.roleNode("role/group", "Reader", roleReader, d.s.GroupID(d.ResourceGroup), "identity")}
	if d.CredentialsPath != "" {
		nodes = append(nodes, d.settingsNode())
	}
	return nodes
}

func (d *dnsStack) servicePrincipalNodes() []*stack.Node {
	return []*stack.Node{d.applicationNode(),
		d.roleNode("role/reader", "Reader", roleReader, d.out.ZoneID, "application"),
		d.roleNode("role/contributor", "Contributor", roleContributor, d.out.ZoneID, "application")}
}

func (d *dnsStack) roleNode(nodeID, name, role, scope, principal string) *stack.Node {
	return assignment(d.s, nodeID, name, func(ctx context.Context) (azure.Assignment, error) {
		object, err := d.principal(ctx)
		return azure.Assignment{Name: azure.AssignmentName("external-dns", name, scope+"/"+d.Zone), Scope: scope, RoleGUID: role, PrincipalID: object}, err
	}, "zone", principal)
}

// externalDNSFederation accepts the tokens of ExternalDNS's service account in the management cluster.
func externalDNSFederation(issuerURL string) federation {
	return federation{issuer: issuerURL, subject: externalDNSSubject, audience: externalDNSAudience}
}

// DNSHandoff is the part of the zone and of ExternalDNS.
type DNSHandoff struct {
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

func checkResolver(resolver string) error {
	if resolver == "" {
		return nil
	}
	if host, port, err := net.SplitHostPort(resolver); err != nil || host == "" || port == "" {
		return fmt.Errorf("--dns-resolver %q is not HOST:PORT", resolver)
	}
	return nil
}
