package stacks_test

import (
	"context"
	"crypto/rsa"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
	"github.com/hypershift-on-azure/hypershift/internal/provision/delegation"
	"github.com/hypershift-on-azure/hypershift/internal/provision/iam"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/provision/roles"
)

const (
	apiNetwork, apiDNS, apiGroups = "2023-11-01", "2018-05-01", "2021-04-01"
	denied                        = "AuthorizationFailed"
)

// intruder administers a hosted cluster: he has the guest's API server sign a token of whatever account he likes.
type intruder struct {
	t   *testing.T
	s   *azure.Session
	key *rsa.PrivateKey
	url string
	of  *identity.WorkloadIdentities
}

// as signs in as the identity with a token of its account.
func (i intruder) as(key string) *azure.Session {
	i.t.Helper()
	for _, c := range identity.Components {
		if c.Key != key {
			continue
		}
		f := identity.GuestFederation(i.url, c.Credentials[0].Subject)
		s, err := i.s.As(i.of.Get(key), func(context.Context) (string, error) {
			return signing.Token(i.key, jwt.Claims{Issuer: f.Issuer, Subject: f.Subject, Audience: jwt.Audience{f.Audience}}, time.Now(), time.Minute)
		})
		must(i.t, err)
		must(i.t, s.SignIn(i.t.Context()))
		return s
	}
	i.t.Fatalf("no identity %s", key)
	return nil
}

// clusterWithIdentities makes issuer, identities and infrastructure. One identity more is of former times: that of the control-plane-operator.
func clusterWithIdentities(t *testing.T, w *world, change func(*infra.Options)) (intruder, *infra.Output) {
	t.Helper()
	s := w.session(w.transport)
	path := signer(t)
	made, err := issuer.Create(t.Context(), s, issuer.Options{Name: cluster, ResourceGroup: common, Location: location, PrivateKey: path}, nil)
	must(t, err)
	key, err := signing.ReadPrivate(path)
	must(t, err)
	o := iamOptions
	o.IssuerURL = made.URL
	clients, err := iam.Create(t.Context(), s, o, nil)
	must(t, err)
	id := s.ResourceID(common, "Microsoft.ManagedIdentity/userAssignedIdentities", "demo-control-plane-operator-demo-x")
	former, err := s.Put(t.Context(), id, "2023-01-31", azure.Resource{Location: location})
	must(t, err)
	n := identity.FederatedNode(s, id+"/federatedIdentityCredentials/demo-cpo-fed-id", identity.GuestFederation(made.URL, "kube-system:control-plane-operator"), "f", "i")
	must(t, n.Apply(t.Context()))
	clients.Set("controlPlaneOperator", former.Property("clientId"))
	options := infra.Options{Name: cluster, InfraID: infraID, BaseDomain: domain, Location: location, AssignRoles: true, Identities: clients}
	if change != nil {
		change(&options)
	}
	out, err := infra.Create(t.Context(), s, options, nil)
	must(t, err)
	return intruder{t, s, key, made.URL, clients}, out
}

func address(ip string) azure.Resource {
	return azure.Resource{Properties: map[string]any{"TTL": 30, "ARecords": []any{map[string]any{"ipv4Address": ip}}}}
}

// Each attempt of a guest's administrator with an identity of his cluster is refused; a control shows that the identity does its own work.
func TestWhatAGuestsAdministratorReaches(t *testing.T) {
	w := newWorld(t)
	he, out := clusterWithIdentities(t, w, nil)
	base := he.s.ResourceID(common, "Microsoft.Network/dnsZones", domain)
	victim := base + "/A/*.apps.victim"
	_, err := he.s.Put(t.Context(), victim, apiDNS, address("192.0.2.1"))
	must(t, err)
	in := func(kind, name string) string { return he.s.ResourceID(out.ResourceGroupName, kind, name) }
	nic := azure.Resource{Location: location, Properties: map[string]any{"ipConfigurations": []any{map[string]any{"name": "a",
		"properties": map[string]any{"subnet": map[string]any{"id": out.SubnetID}}}}}}
	put := func(id, api string, body azure.Resource) func(*azure.Session) error {
		return func(s *azure.Session) error {
			_, err := s.Put(t.Context(), id, api, body)
			return err
		}
	}
	get := func(id, api string) func(*azure.Session) error {
		return func(s *azure.Session) error {
			_, err := s.Get(t.Context(), id, api)
			return err
		}
	}
	drop := func(id, api string) func(*azure.Session) error {
		return func(s *azure.Session) error { return s.Delete(t.Context(), id, api) }
	}
	located := azure.Resource{Location: location}
	for _, tc := range []struct {
		identity, does string
		try            func(*azure.Session) error
		may            bool
	}{
		{"ingress", "write its applications' record", put(out.PublicZoneID+"/A/*", apiDNS, address("192.0.2.2")), true},
		{"ingress", "write another cluster's record", put(victim, apiDNS, address("192.0.2.2")), false},
		{"ingress", "delete another cluster's record", drop(victim, apiDNS), false},
		{"ingress", "write a new record of the base domain", put(base+"/A/login", apiDNS, address("192.0.2.2")), false},
		{"ingress", "turn its delegation", put(delegation.ID("apps.demo."+domain, base), apiDNS, azure.Resource{Properties: map[string]any{"TTL": 30}}), false},
		{"nodePoolManagement", "read its group", get(he.s.GroupID(out.ResourceGroupName), apiGroups), true},
		{"nodePoolManagement", "make an interface in the subnet", put(in("Microsoft.Network/networkInterfaces", "n"), apiNetwork, nic), true},
		{"nodePoolManagement", "delete the main group", drop(he.s.GroupID(out.ResourceGroupName), apiGroups), false},
		{"nodePoolManagement", "make a storage account", put(in("Microsoft.Storage/storageAccounts", "stolen"), "2023-01-01", located), false},
		{"nodePoolManagement", "make an identity", put(in("Microsoft.ManagedIdentity/userAssignedIdentities", "mine"), "2023-01-31", located), false},
		{"nodePoolManagement", "write the public zone", put(out.PublicZoneID+"/A/*", apiDNS, address("192.0.2.3")), false},
		{"nodePoolManagement", "rewrite the network", put(out.VNetID, apiNetwork, located), false},
		{"nodePoolManagement", "rewrite the subnet", put(out.SubnetID, apiNetwork, azure.Resource{}), false},
		{"nodePoolManagement", "open the security group", put(out.SecurityGroupID, apiNetwork, located), false},
		{"network", "read the network", get(out.VNetID, apiNetwork), true},
		{"network", "delete the network", drop(out.VNetID, apiNetwork), false},
		{"network", "open the security group", put(out.SecurityGroupID, apiNetwork, located), false},
		{"controlPlaneOperator", "read the main group", get(he.s.GroupID(out.ResourceGroupName), apiGroups), false},
		{"controlPlaneOperator", "read the network", get(out.VNetID, apiNetwork), false},
		{"controlPlaneOperator", "open the security group", put(out.SecurityGroupID, apiNetwork, located), false},
	} {
		err := tc.try(he.as(tc.identity))
		if tc.may && err != nil {
			t.Errorf("control: %s may not %s: %v", tc.identity, tc.does, err)
		}
		if !tc.may && failure.CodeOf(err) != denied {
			t.Errorf("%s may %s: %v", tc.identity, tc.does, err)
		}
	}
}

// The applications' zone is delegated by the zone of the base domain; a destroy takes both records back, whichever zone it is told of, and nothing
// of others.
func TestTheApplicationsHaveAZone(t *testing.T) {
	for name, of := range map[string]func(zoneID string) infra.DestroyOptions{
		"destroyed by the zone":           func(zoneID string) infra.DestroyOptions { return infra.DestroyOptions{PublicZoneID: zoneID} },
		"destroyed by the group of zones": func(string) infra.DestroyOptions { return infra.DestroyOptions{DNSZoneGroup: common} },
		"destroyed by its name alone":     func(string) infra.DestroyOptions { return infra.DestroyOptions{} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			made := infraStack(nil, infra.DestroyOptions{})
			must(t, made.prepare(t.Context(), w.session(w.transport)))
			before := w.dump()
			s := w.session(w.transport)
			must(t, made.create(t.Context(), s))
			base, zoneID := s.ResourceID(common, "Microsoft.Network/dnsZones", domain), s.ResourceID("demo-demo-x", "Microsoft.Network/dnsZones", "apps.demo."+domain)
			zone, err := s.Get(t.Context(), zoneID, apiDNS)
			must(t, err)
			set, err := s.Get(t.Context(), base+"/NS/apps.demo", apiDNS)
			must(t, err)
			if servers := delegation.ServersOf(zone); len(servers) == 0 || strings.Join(servers, " ") != strings.Join(delegation.LeadsTo(set), " ") {
				t.Errorf("the zone is served by %v, its parent leads to %v", servers, delegation.LeadsTo(set))
			}
			first := w.dump()
			must(t, made.create(t.Context(), w.session(w.transport)))
			if d := differences(first, w.dump()); d != "" {
				t.Errorf("the second run:\n%s", d)
			}
			must(t, infraStack(nil, of(zoneID)).destroy(t.Context(), s))
			if d := differences(before, w.dump()); d != "" {
				t.Errorf("after the destroy:\n%s", d)
			}
		})
	}
}

// A cluster whose record lies in the zone of the base domain keeps it there: with a delegation nobody would see it any more. Somebody else's
// delegation is not turned.
func TestARecordOfTheBaseDomainStays(t *testing.T) {
	for name, tc := range map[string]struct {
		record string
		body   azure.Resource
		choose string
		refuse string
	}{
		"a record":                  {record: "/A/*.apps.demo", body: address("192.0.2.1")},
		"shared by choice":          {choose: infra.AppsZoneShared},
		"another one's delegation":  {record: "/NS/apps.demo", body: delegation.RecordSet([]string{"ns.example.com"}, "a", "b"), refuse: "delegates apps.demo." + domain + " to ns.example.com already"},
		"shared beside a delegator": {record: "/NS/apps.demo", body: delegation.RecordSet([]string{"ns.example.com"}, "a", "b"), choose: infra.AppsZoneShared},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.session(w.transport)
			base := s.ResourceID(common, "Microsoft.Network/dnsZones", domain)
			if tc.record != "" {
				_, err := s.Put(t.Context(), base+tc.record, apiDNS, tc.body)
				must(t, err)
			}
			clients, err := iam.Create(t.Context(), s, iamOptions, nil)
			must(t, err)
			before := w.dump()
			out, err := infra.Create(t.Context(), s, infra.Options{Name: cluster, InfraID: infraID, BaseDomain: domain, Location: location, AssignRoles: true,
				Identities: clients, AppsZone: tc.choose}, nil)
			if tc.refuse != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refuse) {
					t.Errorf("error %v", err)
				}
				if d := differences(before, w.dump()); d != "" {
					t.Errorf("made before it was refused:\n%s", d)
				}
				return
			}
			must(t, err)
			if !strings.EqualFold(out.PublicZoneID, base) {
				t.Errorf("the record lies in %s", out.PublicZoneID)
			}
			if d := differences(before, w.dump()); strings.Contains(d, "apps.demo") {
				t.Errorf("made beside it:\n%s", d)
			}
			assigned := azure.Assignment{Scope: s.GroupID(common), Name: azure.AssignmentName(infraID, "ingress", s.GroupID(common))}
			if _, err := s.Get(t.Context(), assigned.ID(), "2022-04-01"); err != nil {
				t.Errorf("the ingress identity may not write the record: %v", err)
			}
		})
	}
}

// What an earlier version gave is narrowed where it is run again, and goes with a destroy.
func TestFormerRolesAreNarrowed(t *testing.T) {
	w := newWorld(t)
	before := w.dump()
	he, out := clusterWithIdentities(t, w, nil)
	main := he.s.GroupID(out.ResourceGroupName)
	principalOf := func(key string) string {
		principal, err := he.s.NewDirectory().PrincipalOf(t.Context(), he.of.Get(key))
		must(t, err)
		return principal
	}
	for component, key := range map[string]string{"capz": "nodePoolManagement", "cpo": "controlPlaneOperator"} {
		a := azure.Assignment{Scope: main, Name: azure.AssignmentName(infraID, component, main)}
		must(t, he.s.Unassign(t.Context(), a))
		a.RoleGUID, a.PrincipalID = roles.Contributor, principalOf(key)
		must(t, he.s.Assign(t.Context(), a))
	}
	_, err := infra.Create(t.Context(), he.s, infra.Options{Name: cluster, InfraID: infraID, BaseDomain: domain, Location: location, AssignRoles: true, Identities: he.of}, nil)
	must(t, err)
	got, err := he.s.Get(t.Context(), azure.Assignment{Scope: main, Name: azure.AssignmentName(infraID, "capz", main)}.ID(), "2022-04-01")
	must(t, err)
	if role := got.Property("roleDefinitionId"); !strings.HasSuffix(role, "/"+roles.MachineProvider) {
		t.Errorf("the machine provider holds %s", role)
	}
	must(t, infra.Destroy(t.Context(), he.s, infra.DestroyOptions{Name: cluster, InfraID: infraID}, nil))
	if d := differences(before, w.dump()); strings.Contains(d, "roleAssignments") {
		t.Errorf("after the destroy:\n%s", d)
	}
}
