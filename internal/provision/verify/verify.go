// Package verify looks again at everything that a hand-off says was made.
package verify

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
	"github.com/hypershift-on-azure/hypershift/internal/provision/delegation"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/provision/roles"
)

// The outcomes of a check.
const (
	Pass = "pass"
	Fail = "fail"
	Skip = "skip"
)

// Check is one thing that verify looked at.
type Check struct {
	Area   string `json:"area"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Detail string `json:"detail,omitempty"`
	Field  string `json:"field,omitempty"` // the one that does not match, with what was expected and found
	Remedy string `json:"remedy,omitempty"`
	// spreads: Azure has it on record as it should be, and does not know it everywhere yet.
	spreads bool
}

// Spreading tells of a failure that passes by itself: Azure has it on record as it should be, and does not know it everywhere yet.
func (c Check) Spreading() bool { return c.Status == Fail && c.spreads }

// Options tell what cannot be read from the hand-off.
type Options struct {
	Resolver string // HOST:PORT of the DNS server to ask; "" is the system's
	// Wait is how long Azure may take to know everywhere what it has on record: roles, identities, credentials, keys.
	Wait time.Duration
	Say  func(format string, args ...any) // told what is waited for; nil is silent
	// Now and Sleep are real time when nil.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
}

// checksAtOnce bounds the checks under way.
const checksAtOnce = 8

// run looks again at everything the hand-off says was made, and exchanges a token for each identity. It changes nothing. The
// error tells that it could not look; what it found wrong is in the checks.
func run(ctx context.Context, s *azure.Session, h *handoff.File, o Options) ([]Check, error) {
	v := &verification{s: s, h: h, Options: o, directory: s.NewDirectory(), assignments: s.NewAssignments()}
	if h.Issuer != nil && h.Issuer.PrivateKeyPath != "" {
		var err error
		if v.key, err = signing.ReadPrivate(h.Issuer.PrivateKeyPath); err != nil {
			return nil, err
		}
	}
	if h.Identities != nil {
		var err error
		if v.identities, err = s.List(ctx, "/subscriptions/"+s.SubscriptionID+"/providers/"+node.TypeIdentity, node.APIIdentity, ""); err != nil {
			return nil, err
		}
	}
	todo := slices.Concat(v.issuerTasks(), v.identityTasks(), v.infraTasks(), v.dnsTasks())
	if len(todo) == 0 {
		return nil, errors.New("there is nothing to verify: the hand-off names neither issuer, identities, infrastructure nor DNS")
	}
	results := make([][]Check, len(todo))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(checksAtOnce)
	for i, work := range todo {
		group.Go(func() error {
			results[i] = work(ctx)
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(results...), nil
}

// Failed counts the checks that failed.
func Failed(checks []Check) int {
	n := 0
	for _, c := range checks {
		if c.Status == Fail {
			n++
		}
	}
	return n
}

type task func(context.Context) []Check

type verification struct {
	Options
	s           *azure.Session
	h           *handoff.File
	key         *rsa.PrivateKey // nil when the hand-off names none
	identities  []azure.Resource
	directory   *azure.Directory
	assignments *azure.Assignments
}

// give is the remedy for a field without a value.
func give(f field.Field) string { return "give " + f.String() }

// verdict is pass without an error. The remedy is the error's own where it has one.
func verdict(area, name, detail string, err error, remedy string) Check {
	if err == nil {
		return Check{Area: area, Name: name, Status: Pass, Detail: detail}
	}
	c := Check{Area: area, Name: name, Status: Fail, Detail: err.Error(), Remedy: remedy}
	var known *failure.Error
	if errors.As(err, &known) {
		c.Detail, c.Field = known.Cause, known.Field
		if known.Code != "" {
			c.Detail += " (" + known.Code + ")"
		}
		if known.Remedy != "" {
			c.Remedy = known.Remedy
		}
	}
	return c
}

func (v *verification) issuerTasks() []task {
	if v.h.Issuer == nil {
		return nil
	}
	const area = "issuer"
	remedy := "run `hypershift create oidc-issuer azure` again; where public blobs are forbidden, see its " + issuer.FieldURL.String()
	return []task{
		func(ctx context.Context) []Check {
			return []Check{verdict(area, "discovery document", v.h.Issuer.URL, v.checkDiscovery(ctx), remedy)}
		},
		func(ctx context.Context) []Check {
			if v.key == nil {
				return []Check{{Area: area, Name: "published key", Status: Skip, Detail: "no private key is named", Remedy: give(issuer.FieldSigner)}}
			}
			return []Check{verdict(area, "published key", v.h.Issuer.PrivateKeyPath, v.checkKeys(ctx), remedy)}
		},
		func(ctx context.Context) []Check { return []Check{v.auditKeys(ctx)} },
	}
}

func (v *verification) read(ctx context.Context, path string) ([]byte, error) {
	address := v.h.Issuer.URL + "/" + path
	raw, status, err := v.s.ReadPublic(ctx, address)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answers %d to anyone who has not signed in", address, status)
	}
	return raw, err
}

func (v *verification) checkDiscovery(ctx context.Context) error {
	raw, err := v.read(ctx, issuer.DiscoveryPath)
	if err != nil {
		return err
	}
	document, err := issuer.ParseDiscovery(raw)
	keys := v.h.Issuer.URL + "/" + issuer.KeysPath
	switch {
	case err != nil:
	case document.Issuer != v.h.Issuer.URL:
		err = fmt.Errorf("the document's issuer is %q, not %q", document.Issuer, v.h.Issuer.URL)
	case document.JWKSURI != keys:
		err = fmt.Errorf("the document has Azure read the keys at %q, not at %q: whoever publishes them there can sign in as every identity that trusts the issuer", document.JWKSURI, keys)
	}
	return err
}

func (v *verification) checkKeys(ctx context.Context) error {
	raw, err := v.read(ctx, issuer.KeysPath)
	if err != nil {
		return err
	}
	set, err := signing.ParseKeySet(raw)
	if err == nil && !set.Has(&v.key.PublicKey) {
		err = fmt.Errorf("%d keys are published and that of %s is not among them", len(set.IDs()), v.h.Issuer.PrivateKeyPath)
	}
	return err
}

func (v *verification) infraTasks() []task {
	if v.h.Infra == nil {
		return nil
	}
	out := v.h.Infra
	var tasks []task
	for _, r := range []struct{ name, id, api string }{
		{"resource group", v.s.GroupID(out.ResourceGroupName), node.APIGroups}, {"virtual network", out.VNetID, node.APINetwork}, {"subnet", out.SubnetID, node.APINetwork},
		{"network security group", out.SecurityGroupID, node.APINetwork}, {"private DNS zone", out.PrivateZoneID, node.APIPrivateDNS},
		{"public DNS zone", out.PublicZoneID, node.APIDNS},
	} {
		if r.id == "" {
			continue
		}
		tasks = append(tasks, func(ctx context.Context) []Check {
			_, err := v.s.Get(ctx, r.id, r.api)
			return []Check{verdict("infrastructure", r.name, r.id, err, "run `hypershift create infra azure` again")}
		})
	}
	if zone, err := azure.ParseID(out.PublicZoneID); err == nil && strings.EqualFold(zone.ResourceGroup, out.ResourceGroupName) {
		tasks = append(tasks, func(ctx context.Context) []Check {
			return []Check{verdict("infrastructure", "delegation of "+zone.Name, "by "+out.BaseDomain, v.checkDelegated(ctx, out), "run `hypershift create infra azure` again")}
		})
	}
	if v.h.RolesDNSZoneGroup == "" || out.WorkloadIdentities == nil {
		return tasks
	}
	return append(tasks, v.roleTasks(out)...)
}

// checkDelegated compares what the zone of the base domain says of the applications' zone with that zone.
func (v *verification) checkDelegated(ctx context.Context, out *infra.Output) error {
	zone, err := v.s.Get(ctx, out.PublicZoneID, node.APIDNS)
	if err != nil {
		return err
	}
	base, err := infra.PublicZone(ctx, v.s, out.BaseDomain)
	if err != nil {
		return err
	}
	set, err := v.s.Get(ctx, delegation.ID(zone.Name, base), node.APIDNS)
	if err == nil && !slices.Equal(delegation.LeadsTo(set), delegation.ServersOf(zone)) {
		err = fmt.Errorf("the zone of %s delegates to %s, the servers are %s", out.BaseDomain, strings.Join(delegation.LeadsTo(set), ", "), strings.Join(delegation.ServersOf(zone), ", "))
	}
	return err
}

// roleTasks look at every role that `create infra azure` gives, and read as the identity what it may.
func (v *verification) roleTasks(out *infra.Output) []task {
	groups := groups{roles.Main: out.ResourceGroupName}
	for scope, id := range map[roles.ScopeName]string{roles.VNet: out.VNetID, roles.NSG: out.SecurityGroupID} {
		if parsed, err := azure.ParseID(id); err == nil {
			groups[scope] = parsed.ResourceGroup
		}
	}
	if v.h.RolesDNSZoneGroup != handoff.NoDNSZoneGroup {
		groups[roles.DNS] = v.h.RolesDNSZoneGroup
	}
	var tasks []task
	for _, r := range roles.Grants {
		clientID := out.WorkloadIdentities.Get(r.Key)
		if clientID == "" {
			continue
		}
		tasks = append(tasks, func(ctx context.Context) []Check { return v.checkRoles(ctx, r, clientID, groups, out.VNetID) })
	}
	return tasks
}

func (v *verification) checkRoles(ctx context.Context, r roles.Grant, clientID string, groups groups, vnetID string) []Check {
	remedy := "run `hypershift create infra azure " + infra.FieldAssignRoles.String() + "` again"
	principal, err := v.directory.PrincipalOf(ctx, clientID)
	if err != nil {
		return []Check{verdict("role", r.Key, "", err, remedy)}
	}
	var checks []Check
	held := false // the role that is tried
	for _, scope := range r.Scopes {
		if groups[scope] == "" {
			continue
		}
		err := v.holdsRole(ctx, r, scope, groups[scope], vnetID, principal)
		held = held || err == nil && scope == roles.Main
		checks = append(checks, verdict("role", r.Key+" on "+groups[scope], "", err, remedy))
	}
	if r.RoleGUID == roles.Reader && v.key != nil && v.h.Issuer != nil {
		read, err := v.checkRead(ctx, r, clientID, groups[roles.Main])
		read.spreads = held && failure.CodeOf(err) == "AuthorizationFailed"
		checks = append(checks, read)
	}
	return checks
}

// holdsRole fails where the principal has the grant's role, or a wider one of former times, neither on the group nor, where that is enough, on the
// virtual network in it.
func (v *verification) holdsRole(ctx context.Context, r roles.Grant, scope roles.ScopeName, group, vnetID, principal string) error {
	at := []string{v.s.GroupID(group)}
	if scope == roles.VNet && r.OnVNet {
		at = append(at, vnetID)
	}
	for _, id := range at {
		for _, role := range append([]string{r.RoleGUID}, r.Before...) {
			state, err := v.assignments.Observe(ctx, azure.Assignment{Scope: id, RoleGUID: role, PrincipalID: principal})
			if err != nil || state == azure.AssignmentPresent {
				return err
			}
		}
	}
	return fmt.Errorf("the identity does not hold role %s on resource group %s", r.RoleGUID, group)
}

// checkRead reads the main group as an identity whose role surely allows it.
func (v *verification) checkRead(ctx context.Context, r roles.Grant, clientID, group string) (Check, error) {
	at := slices.IndexFunc(identity.Components, func(c identity.Component) bool { return c.Key == r.Key })
	f := identity.GuestFederation(v.h.Issuer.URL, identity.Components[at].Credentials[0].Subject)
	as, err := v.s.As(clientID, func(context.Context) (string, error) { return mintToken(v.key, f, time.Now()) })
	if err == nil {
		_, err = as.Get(ctx, v.s.GroupID(group), node.APIGroups)
	}
	return verdict("access", r.Key, "read resource group "+group, err, "roles take minutes to become active; try again"), err
}

func (v *verification) dnsTasks() []task {
	if v.h.DNS == nil {
		return nil
	}
	return []task{v.checkZone, v.checkExternalDNS}
}

func (v *verification) checkZone(ctx context.Context) []Check {
	const area, remedy = "DNS", "run `hypershift create dns azure` again"
	zone, err := v.s.Get(ctx, v.h.DNS.ZoneID, node.APIDNS)
	checks := []Check{verdict(area, "zone "+v.h.DNS.Zone, v.h.DNS.ZoneID, err, remedy)}
	if err != nil {
		return checks
	}
	servers := delegation.ServersOf(zone)
	if v.h.DNS.ParentZoneID != "" {
		set, err := v.s.Get(ctx, delegation.ID(v.h.DNS.Zone, v.h.DNS.ParentZoneID), node.APIDNS)
		if err == nil && !slices.Equal(delegation.LeadsTo(set), servers) {
			err = fmt.Errorf("the parent zone delegates to %s, not to %s", strings.Join(delegation.LeadsTo(set), ", "), strings.Join(servers, ", "))
		}
		checks = append(checks, verdict(area, "NS records in the parent zone", v.h.DNS.ParentZoneID, err, remedy))
	}
	names, err := dns.AskNameServers(ctx, v.Resolver, v.h.DNS.Zone)
	if err == nil && !slices.Equal(names, servers) {
		err = fmt.Errorf("DNS says %s, the zone's servers are %s", strings.Join(names, ", "), strings.Join(servers, ", "))
	}
	return append(checks, verdict(area, "delegation in DNS", strings.Join(servers, ", "), err,
		"delegate the zone in its parent; with split DNS "+give(dns.FieldResolver)+" HOST:PORT"))
}

// checkExternalDNS looks at the identity's credential, or signs in as the service principal, and at the roles on the zone.
func (v *verification) checkExternalDNS(ctx context.Context) []Check {
	const area, remedy = "ExternalDNS", "run `hypershift create dns azure` again"
	zone, err := azure.ParseID(v.h.DNS.ZoneID)
	if err != nil || v.h.DNS.ExternalDNS == "" {
		return nil
	}
	var checks []Check
	role := dns.ZoneContributor
	if v.h.DNS.ExternalDNS == dns.ByServicePrincipal {
		role = roles.Contributor
		checks = append(checks, verdict(area, "service principal", v.h.DNS.CredentialsPath, v.checkServicePrincipal(ctx), remedy))
	} else {
		credential, err := v.s.Get(ctx, dns.CredentialID(v.s, zone.ResourceGroup, v.h.DNS.Zone), node.APIIdentity)
		if err == nil {
			err = matchCredential([]azure.Resource{*credential}, dns.Federation(v.h.DNS.ManagementURL))
		}
		checks = append(checks, verdict(area, "federated credential", dns.Subject, err, remedy))
	}
	principal, err := v.directory.PrincipalOf(ctx, v.h.DNS.ClientID)
	if err == nil {
		var state azure.AssignmentState
		state, err = v.assignments.Observe(ctx, azure.Assignment{Scope: v.h.DNS.ZoneID, RoleGUID: role, PrincipalID: principal})
		if err == nil && state != azure.AssignmentPresent {
			err = fmt.Errorf("client %s may not write the zone", v.h.DNS.ClientID)
		}
	}
	return append(checks, verdict(area, "role on the zone", "", err, remedy))
}

func (v *verification) checkServicePrincipal(ctx context.Context) error {
	f, err := dns.ReadCredentials(v.h.DNS.CredentialsPath)
	if err != nil {
		return err
	}
	as, err := v.s.WithSecret(f.ClientID, f.ClientSecret)
	if err != nil {
		return err
	}
	_, err = as.Get(ctx, v.h.DNS.ZoneID, node.APIDNS)
	return err
}

// Sort puts the failures last, where a person looks.
func Sort(checks []Check) {
	sort.SliceStable(checks, func(i, j int) bool { return checks[i].Status != Fail && checks[j].Status == Fail })
}

// groups of one cluster by their role; some may be the same group.
type groups map[roles.ScopeName]string
