package stacks_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
	"github.com/hypershift-on-azure/hypershift/internal/provision"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/provision/roles"
	"github.com/hypershift-on-azure/hypershift/internal/provision/verify"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// whole is everything that a hosted cluster needs, in a world of its own.
type whole struct {
	*world
	s       *azure.Session
	options provision.PrerequisitesOptions
	out     *provision.Prerequisites
	handoff *handoff.File
}

func newWhole(t *testing.T) *whole {
	t.Helper()
	w := &whole{world: newWorld(t)}
	w.s = w.session(w.transport)
	w.options = provision.PrerequisitesOptions{
		Issuer: issuer.Options{Name: cluster, ResourceGroup: common, Location: location, PrivateKey: signer(t)},
		IAM:    iamOptions, DNS: dnsOptions(w.s),
		Infra: infra.Options{Name: cluster, InfraID: infraID, BaseDomain: domain, Location: location, AssignRoles: true},
	}
	w.again(t)
	return w
}

// again runs the creation, the first time or a further one, and has the hand-off tell of it.
func (w *whole) again(t *testing.T) {
	t.Helper()
	out, err := provision.CreatePrerequisites(t.Context(), w.s, w.options, nil)
	must(t, err)
	id, err := out.Issuer.KeyID()
	must(t, err)
	w.out = out
	w.handoff = &handoff.File{Name: cluster, InfraID: infraID, Identities: &handoff.Identities{ResourceGroup: common, Clients: out.Identities}, DNS: out.DNS,
		Issuer: &handoff.Issuer{URL: out.Issuer.URL, StorageAccount: out.Issuer.StorageAccount, Container: out.Issuer.Container, PrivateKeyPath: out.Issuer.PrivateKeyPath,
			KeyIDs: []string{id}}}
	w.handoff.EndInfra(w.options.Infra, out.Infra)
}

// failing are the areas and names of the checks that fail, with all that they say.
func (w *whole) failing(t *testing.T) (names []string, said string) {
	t.Helper()
	c, err := w.process(0, false, func(ctx context.Context, s *azure.Session) error {
		checks, err := verify.Run(ctx, s, w.handoff, verify.Options{Resolver: w.server.DNSAddr()})
		for _, check := range checks {
			if check.Status == verify.Fail {
				names = append(names, check.Area+": "+check.Name)
				said += strings.Join([]string{check.Name, check.Detail, check.Field, check.Remedy}, " | ") + "\n"
			}
		}
		return err
	})
	must(t, err)
	if len(c.writes) != 0 {
		t.Errorf("a look wrote %v", c.writes)
	}
	slices.Sort(names)
	return names, said
}

func (w *whole) identityID(part string) string {
	return w.s.ResourceID(common, "Microsoft.ManagedIdentity/userAssignedIdentities", "demo-"+part+"-demo-x")
}

// unassign takes a role from an identity, on a scope.
func (w *whole) unassign(t *testing.T, client, role, scope string) {
	t.Helper()
	principal, err := w.s.PrincipalOf(t.Context(), client)
	must(t, err)
	all, err := w.s.List(t.Context(), scope+"/providers/Microsoft.Authorization/roleAssignments", "2022-04-01", "atScope()")
	must(t, err)
	for _, a := range all {
		if a.Property("principalId") == principal && strings.HasSuffix(a.Property("roleDefinitionId"), role) && strings.EqualFold(a.Property("scope"), scope) {
			must(t, w.s.Unassign(t.Context(), azure.Assignment{Name: a.Name, Scope: scope}))
			return
		}
	}
	t.Fatalf("%s has no role %s on %s", client, role, scope)
}

func (w *whole) upload(t *testing.T, path string, content []byte) {
	t.Helper()
	must(t, w.s.UploadBlob(t.Context(), w.out.Issuer.StorageAccount, w.out.Issuer.Container, path, "application/json", content))
}

// publish puts keys into the place of those that are published.
func (w *whole) publish(t *testing.T, own bool, others ...string) {
	t.Helper()
	set := &signing.KeySet{}
	if own {
		others = append(others, w.options.Issuer.PrivateKey)
	}
	for _, path := range others {
		key, err := signing.ReadPrivate(path)
		must(t, err)
		set, err = set.With(&key.PublicKey)
		must(t, err)
	}
	raw, err := set.Encode()
	must(t, err)
	w.upload(t, issuer.KeysPath, raw)
}

// Whatever somebody breaks of what was made, verify names it with what to do, and nothing else; a further run of the creation mends it, unless it
// is for a person to decide.
func TestWhatBreaksIsNamed(t *testing.T) {
	w := newWhole(t)
	const audience = "openshift"
	nsg, _, _, _ := w.ownNetwork()
	contributor := "5b7237c5-45e1-49d6-bc18-a1f62f400748" // of disks
	foreign := signer(t)
	credential := func(part, name string) string {
		return w.identityID(part) + "/federatedIdentityCredentials/demo-" + name
	}
	put := func(t *testing.T, id, api string, body azure.Resource) {
		_, err := w.s.Put(t.Context(), id, api, body)
		must(t, err)
	}
	federation := func(subject string) azure.Resource {
		return azure.Resource{Properties: map[string]any{"issuer": w.out.Issuer.URL, "subject": "system:serviceaccount:" + subject, "audiences": []string{audience}}}
	}
	for _, tc := range []struct {
		name    string
		damage  func(*testing.T)
		failing []string
		tokens  bool // none is taken then
		says    []string
		repair  func(*testing.T) // nil: a further run of the creation does
	}{
		{name: "nothing", damage: func(*testing.T) {}},
		{name: "an operation on the security group", damage: func(*testing.T) { w.fails(w.s, nsg) },
			failing: []string{"infrastructure: network security group"}, says: []string{"shows it as Failed", "create infra azure"}},
		{name: "a role", damage: func(t *testing.T) { w.unassign(t, w.out.Identities.Disk.ClientID, contributor, w.group("demo-demo-x")) },
			failing: []string{"role: disk on demo-demo-x"}, says: []string{contributor, "create infra azure"}},
		{name: "a role of ExternalDNS", damage: func(t *testing.T) { w.unassign(t, w.out.DNS.ClientID, dns.ZoneContributor, w.out.DNS.ZoneID) },
			failing: []string{"ExternalDNS: role on the zone"}, says: []string{"may not write the zone", "create dns azure"}},
		{name: "the subject of a credential", damage: func(t *testing.T) {
			put(t, credential("ingress", "ingress-fed-id"), "2023-01-31", federation("openshift-ingress:router"))
		}, failing: []string{"federated credential: openshift-ingress-operator:ingress-operator", "token: openshift-ingress-operator:ingress-operator"},
			says: []string{"expected 'system:serviceaccount:openshift-ingress-operator:ingress-operator'", "found 'system:serviceaccount:openshift-ingress:router'", "create iam azure"}},
		{name: "a credential", damage: func(t *testing.T) {
			must(t, w.s.Delete(t.Context(), credential("network", "network-fed-id"), "2023-01-31"))
		}, failing: []string{"federated credential: openshift-cloud-network-config-controller:cloud-network-config-controller",
			"token: openshift-cloud-network-config-controller:cloud-network-config-controller"}, says: []string{"found none"}},
		{name: "the credential of ExternalDNS", damage: func(t *testing.T) {
			put(t, dns.CredentialID(w.s, common, w.out.DNS.Zone), "2023-01-31", federation("hypershift:external-dns"))
		}, failing: []string{"ExternalDNS: federated credential"}, says: []string{"issuer", "https://issuer.example.com"}},
		{name: "the delegation of the applications", damage: func(t *testing.T) {
			put(t, w.baseZone()+"/NS/apps.demo", apiDNS, azure.Resource{Properties: map[string]any{"TTL": 60, "NSRecords": []any{map[string]any{"nsdname": "ns.gone.example."}},
				"metadata": map[string]any{"hypershift_infra_id": infraID}}})
		}, failing: []string{"infrastructure: delegation of apps.demo." + domain}, says: []string{"ns.gone.example"}, repair: func(t *testing.T) {
			must(t, w.s.Delete(t.Context(), w.baseZone()+"/NS/apps.demo", apiDNS))
			w.again(t)
		}},
		{name: "the discovery document", damage: func(t *testing.T) {
			w.upload(t, issuer.DiscoveryPath, []byte(`{"issuer":"`+w.out.Issuer.URL+`","jwks_uri":"https://evil.example.com/keys"}`))
		}, tokens: true, failing: []string{"issuer: discovery document"}, says: []string{"https://evil.example.com/keys", "whoever publishes them there"}},
		{name: "a key beside ours", damage: func(t *testing.T) { w.publish(t, true, foreign) },
			failing: []string{"issuer: no other key"}, says: []string{"can sign in as every identity", "az storage blob list"}, repair: func(t *testing.T) { w.publish(t, true) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.damage(t)
			got, said := w.failing(t)
			if tc.tokens {
				got = slices.DeleteFunc(got, func(name string) bool {
					return strings.HasPrefix(name, "token: ") || strings.HasPrefix(name, "access: ")
				})
			}
			if slices.Sort(tc.failing); !slices.Equal(got, tc.failing) {
				t.Errorf("failing are %q, want %q\n%s", got, tc.failing, said)
			}
			for _, word := range tc.says {
				if !strings.Contains(said, word) {
					t.Errorf("%q is not said:\n%s", word, said)
				}
			}
			if tc.repair != nil {
				tc.repair(t)
			} else {
				w.again(t)
			}
			if got, said := w.failing(t); len(got) != 0 {
				t.Errorf("after the repair fail %q\n%s", got, said)
			}
		})
	}
}

// A hand-off that tells too little has checks skipped with what to give, one that tells nothing is an error, and one whose key file is gone too:
// nothing passes for want of a look.
func TestWhatAHandoffDoesNotTellIsSkipped(t *testing.T) {
	w := newWhole(t)
	for name, tc := range map[string]struct {
		change func(*handoff.File)
		skips  []string
		fails  []string
		err    string
	}{
		"no private key":          {change: func(h *handoff.File) { h.Issuer.PrivateKeyPath = "" }, skips: []string{issuer.FieldSigner.String()}},
		"no key at all on record": {change: func(h *handoff.File) { h.Issuer.PrivateKeyPath, h.Issuer.KeyIDs = "", nil }, skips: []string{issuer.FieldSigner.String()}},
		"no issuer":               {change: func(h *handoff.File) { h.Issuer = nil }, skips: []string{issuer.FieldTrustedURL.String()}},
		"nothing":                 {change: func(h *handoff.File) { *h = handoff.File{} }, err: "there is nothing to verify"},
		"a key file that is gone": {change: func(h *handoff.File) { h.Issuer.PrivateKeyPath = filepath.Join(t.TempDir(), "gone") }, err: "gone"},
		"an identity that is gone": {change: func(h *handoff.File) { h.Identities.Clients.Set("disk", "11111111-2222-4333-8444-555555555555") },
			fails: []string{"11111111-2222-4333-8444-555555555555", "create iam azure"}},
		"a resource that is gone": {change: func(h *handoff.File) { h.Infra.PrivateZoneID += "x" }, fails: []string{"private DNS zone", "create infra azure"}},
	} {
		w.again(t)
		tc.change(w.handoff)
		checks, err := verify.Run(t.Context(), w.s, w.handoff, verify.Options{Resolver: w.server.DNSAddr()})
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: error %v", name, err)
			}
			continue
		}
		must(t, err)
		said := map[string]string{}
		for _, check := range checks {
			said[check.Status] += check.Name + " " + check.Detail + " " + check.Remedy + "\n"
		}
		for status, words := range map[string][]string{verify.Skip: tc.skips, verify.Fail: tc.fails} {
			for _, word := range words {
				if !strings.Contains(said[status], word) {
					t.Errorf("%s: %s does not say %q:\n%s", name, status, word, said[status])
				}
			}
			if len(words) == 0 && said[status] != "" {
				t.Errorf("%s: %s: %s", name, status, said[status])
			}
		}
	}
	w.again(t)
	checks := []verify.Check{{Name: "a", Status: verify.Fail}, {Name: "b", Status: verify.Pass}, {Name: "c", Status: verify.Skip}}
	if verify.Sort(checks); checks[2].Name != "a" || verify.Failed(checks) != 1 {
		t.Errorf("%+v", checks)
	}
}

// Who may not read the record of roles is told so for each role, and nothing is taken for granted.
func TestARoleThatCannotBeReadFails(t *testing.T) {
	w := newWhole(t)
	_, err := w.server.Faults().Add(fault.Rule{Plane: fault.ARM, Method: "GET", Path: "**/Microsoft.Authorization/roleAssignments", Status: 403, Code: denied, Message: "No."})
	must(t, err)
	names, said := w.failing(t)
	for _, g := range roles.Grants {
		if client := w.out.Identities.Get(g.Key); client != "" && !slices.Contains(names, "role: "+g.Key+" on demo-demo-x") {
			t.Errorf("%s passes:\n%s", g.Key, said)
		}
	}
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "token") || strings.HasPrefix(name, "issuer") }) || !strings.Contains(said, denied) {
		t.Errorf("failing are %q:\n%s", names, said)
	}
	if trusting, err := identity.Trusting(t.Context(), w.s, w.out.Issuer.URL+"/"); err != nil || len(trusting) != 8 {
		t.Errorf("%d identities trust the issuer, %v", len(trusting), err)
	}
}
