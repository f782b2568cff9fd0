package stacks_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

const zoneName = "clusters." + domain

// baseZone is the zone above all of them, and clusterZone the one that is made beneath it.
func (w *world) baseZone() string {
	return w.group(common) + "/providers/Microsoft.Network/dnsZones/" + domain
}

func (w *world) clusterZone(group string) string {
	return w.group(group) + "/providers/Microsoft.Network/dnsZones/" + zoneName
}

// delegate makes an NS record set of the zone in that of the base domain.
func (w *world) delegate(s *azure.Session, metadata map[string]any, servers ...any) {
	w.t.Helper()
	var records []any
	for _, server := range servers {
		records = append(records, map[string]any{"nsdname": server})
	}
	_, err := s.Put(w.t.Context(), w.baseZone()+"/NS/clusters", apiDNS, azure.Resource{Properties: map[string]any{"TTL": 60, "NSRecords": records, "metadata": metadata}})
	must(w.t, err)
}

func (w *world) makeZone(change func(*dns.Options)) (*cutter, error) {
	return w.process(0, false, func(ctx context.Context, s *azure.Session) error {
		o := dnsOptions(s)
		if change != nil {
			change(&o)
		}
		_, err := dns.Create(ctx, s, o, nil)
		return err
	})
}

// refusedFor tells whether the error is for the field.
func refusedFor(err error, f field.Field) bool {
	var wrong *field.Error
	return errors.As(err, &wrong) && wrong.Field == f
}

// A delegation that `create dns azure` did not make, or that leads to another zone of the same name, stays as it is, and nothing is made: the
// names beneath it would be gone from the world.
func TestADelegationOfOthersIsNotTurned(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(*world, *azure.Session)
		change  func(*dns.Options)
		refused field.Field // "" is turned, or kept
		says    string
	}{
		{name: "to another provider", prepare: func(w *world, s *azure.Session) { w.delegate(s, nil, "ns1.example.net.", "ns2.example.net.") },
			refused: dns.FieldZone, says: "ns1.example.net, ns2.example.net"},
		{name: "the same, and the parent zone is named", prepare: func(w *world, s *azure.Session) { w.delegate(s, nil, "ns1.example.net.") },
			change:  func(o *dns.Options) { o.ParentZoneID = strings.TrimSuffix(o.ParentZoneID, "-") },
			refused: dns.FieldZone, says: "ns1.example.net"},
		{name: "to a zone of this name in another group", prepare: func(w *world, s *azure.Session) {
			_, err := w.makeZone(func(o *dns.Options) { o.ResourceGroup, o.ManagementURL = "theirs", "" })
			must(w.t, err)
		}, refused: dns.FieldResourceGroup, says: "/resourceGroups/theirs/"},
		{name: "ours, to a zone that is gone", prepare: func(w *world, s *azure.Session) {
			w.delegate(s, map[string]any{"hypershift_zone": zoneName}, "ns1.gone.example.net.")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			tc.prepare(w, w.session(w.transport))
			before := w.dump()
			_, err := w.makeZone(func(o *dns.Options) {
				if tc.change != nil {
					o.ParentZoneID = w.baseZone() + "-"
					tc.change(o)
				}
			})
			if tc.refused == "" {
				must(t, err)
				if !strings.Contains(w.dump()["arm "+strings.ToLower(w.baseZone()+"/NS/clusters")], "hypershift_zone") {
					t.Error("the record is not ours any more")
				}
				return
			}
			if !refusedFor(err, tc.refused) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v", err)
			}
			if d := differences(before, w.dump()); d != "" {
				t.Errorf("after the refusal:\n%s", d)
			}
		})
	}
}

// What the user names wrongly is found before anything is made.
func TestADNSZoneIsRefusedBeforeAnyWrite(t *testing.T) {
	w := newWorld(t)
	theirs := filepath.Join(t.TempDir(), "theirs.json")
	must(t, os.WriteFile(theirs, []byte(`{"tenantId":"somebody's","aadClientSecret":"precious"}`), 0o600))
	broken := filepath.Join(t.TempDir(), "broken.json")
	must(t, os.WriteFile(broken, []byte("not JSON"), 0o600))
	before := w.dump()
	for name, tc := range map[string]struct {
		change func(*dns.Options)
		field  field.Field
	}{
		"a parent zone that is not there": {func(o *dns.Options) { o.ParentZoneID = w.baseZone()[:strings.LastIndex(w.baseZone(), "/")] + "/test" }, dns.FieldParentZoneID},
		"no zone above it":                {func(o *dns.Options) { o.Zone = "clusters.example.org" }, dns.FieldParentZoneID},
		"a file of something else":        {func(o *dns.Options) { o.CredentialsPath = theirs }, dns.FieldCredentialsPath},
		"a file that is no such file":     {func(o *dns.Options) { o.CredentialsPath = broken }, dns.FieldCredentialsPath},
		"the same, for a service principal": {func(o *dns.Options) {
			o.ManagementURL, o.ServicePrincipal, o.CredentialsPath = "", "ExternalDNS", theirs
		}, dns.FieldCredentialsPath},
		"no file for a service principal": {func(o *dns.Options) { o.ManagementURL, o.ServicePrincipal = "", "ExternalDNS" }, dns.FieldCredentialsPath},
		"two ways to sign in":             {func(o *dns.Options) { o.ServicePrincipal, o.CredentialsPath = "ExternalDNS", "f" }, dns.FieldManagementURL},
		"a slash after the issuer":        {func(o *dns.Options) { o.ManagementURL += "/" }, dns.FieldManagementURL},
		"a zone whose identity has no name": {func(o *dns.Options) {
			o.Zone = strings.Repeat("a", 60) + "." + strings.Repeat("b", 60) + "." + domain
		}, dns.FieldZone},
	} {
		c, err := w.makeZone(tc.change)
		if !refusedFor(err, tc.field) || len(c.writes) != 0 {
			t.Errorf("%s: written %v, error %v", name, c.writes, err)
		}
		if err != nil && strings.Contains(err.Error(), "precious") {
			t.Errorf("%s: the error tells the secret of the file", name)
		}
	}
	if d := differences(before, w.dump()); d != "" {
		t.Errorf("written:\n%s", d)
	}
	if raw, err := os.ReadFile(theirs); err != nil || !strings.Contains(string(raw), "precious") {
		t.Errorf("the file of something else is %s, %v", raw, err)
	}
}

// A plan writes neither Azure nor files, and tells of each step what a run would do; a plan of a destroy names what goes.
func TestAPlanOfAZoneWritesNothing(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	s := w.session(w.transport)
	o := dnsOptions(s)
	o.ManagementURL, o.ServicePrincipal, o.CredentialsPath = "", "ExternalDNS", filepath.Join(dir, "azure_mgmt.json")
	before := w.dump()
	steps, err := dns.Plan(t.Context(), s, o)
	must(t, err)
	actions := map[string]string{}
	for _, step := range steps {
		actions[step.Kind+" "+step.Name] = step.Action
	}
	for what, want := range map[string]string{"resource group " + common: "keep", "DNS zone " + zoneName: "create", "NS record set " + zoneName: "create",
		"service principal ExternalDNS": "create", "parent DNS zone of " + zoneName: "use"} {
		if actions[what] != want {
			t.Errorf("%s: %q, want %s", what, actions[what], want)
		}
	}
	_, err = dns.Create(t.Context(), s, o, nil)
	must(t, err)
	whole := w.dump()
	if steps, err = dns.PlanDestroy(t.Context(), s, o, false); err != nil || len(steps) < 4 {
		t.Errorf("the plan of the destroy: %v, %v", steps, err)
	}
	if d := differences(whole, w.dump()); d != "" {
		t.Errorf("after the plan of the destroy:\n%s", d)
	}
	must(t, dns.Destroy(t.Context(), s, o, false, nil))
	if d := differences(before, w.dump()); d != "" {
		t.Errorf("after the destroy:\n%s", d)
	}
}

// The file of the service principal is its user's alone, its secret is told to nobody else, and a further run makes no second one.
func TestTheSecretOfExternalDNSIsInItsFileAlone(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "azure_mgmt.json")
	var told strings.Builder
	s := w.session(w.transport)
	o := dnsOptions(s)
	o.ManagementURL, o.ServicePrincipal, o.CredentialsPath = "", "ExternalDNS", file
	out, err := dns.Create(t.Context(), s, o, nil)
	must(t, err)
	info, err := os.Stat(file)
	must(t, err)
	f, err := dns.ReadCredentials(file)
	must(t, err)
	if info.Mode().Perm() != 0o600 || f.ClientSecret == "" || f.ClientID != out.ClientID || f.ResourceGroup != common || f.WorkloadIdentity {
		t.Errorf("mode %v, for client %s of group %s, without a secret: %v", info.Mode(), f.ClientID, f.ResourceGroup, f.ClientSecret == "")
	}
	raw, err := json.Marshal(out)
	must(t, err)
	told.Write(raw)
	again, err := dns.Create(t.Context(), s, o, func(e stack.Event) { told.WriteString(string(e.Phase) + e.Node.Name) })
	must(t, err)
	kept, err := dns.ReadCredentials(file)
	must(t, err)
	if kept != f || again.ClientID != out.ClientID || strings.Contains(told.String(), f.ClientSecret) {
		t.Errorf("a further run changed the secret, or told it: %v", kept != f)
	}
	must(t, os.Remove(file))
	_, err = dns.Create(t.Context(), s, o, nil)
	must(t, err)
	if kept, err = dns.ReadCredentials(file); err != nil || kept.ClientSecret == f.ClientSecret || !strings.Contains(w.dump()["apps ExternalDNS"], "one with 1 secrets") {
		t.Errorf("a lost file: %v; %s", err, w.dump()["apps ExternalDNS"])
	}
}

// Settings for a workload identity hold no secret, follow the identity when it is made anew, and are nobody else's to read.
func TestTheSettingsOfExternalDNS(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "azure_mgmt.json")
	withFile := func(o *dns.Options) { o.CredentialsPath = file }
	_, err := w.makeZone(withFile)
	must(t, err)
	f, err := dns.ReadCredentials(file)
	must(t, err)
	info, err := os.Stat(file)
	must(t, err)
	if !f.WorkloadIdentity || f.ClientSecret != "" || !azure.IsUUID(f.ClientID) || f.SubscriptionID != w.subscription || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v: %+v", info.Mode(), f)
	}
	c, err := w.makeZone(withFile)
	must(t, err)
	if len(c.writes) != 0 {
		t.Errorf("a further run wrote %v", c.writes)
	}
	f.ClientID = "" // as a file of an earlier version, which did not name it
	raw, err := json.Marshal(f)
	must(t, err)
	must(t, os.WriteFile(file, raw, 0o600))
	_, err = w.makeZone(withFile)
	must(t, err)
	if f, err = dns.ReadCredentials(file); err != nil || !azure.IsUUID(f.ClientID) {
		t.Errorf("%+v, %v", f, err)
	}
}

// A destroy leaves a zone of the user's, a zone in use, an identity that only has the name of ours, and a delegation of somebody else's.
func TestADestroyOfAZoneKeepsWhatIsAnothers(t *testing.T) {
	identity := func(w *world) string {
		return w.group(common) + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/external-dns-clusters-hypershift-test"
	}
	for _, tc := range []struct {
		name    string
		change  func(*world, *azure.Session)
		refused string // "" destroys what is ours
		stays   func(*world) string
	}{
		{"a zone that the user made", func(w *world, s *azure.Session) {
			_, err := s.Put(w.t.Context(), w.clusterZone(common), apiDNS, azure.Resource{Location: "global", Tags: map[string]string{"mine": "yes"}})
			must(w.t, err)
		}, "was not made by", func(w *world) string { return w.clusterZone(common) }},
		{"a zone with records", func(w *world, s *azure.Session) {
			_, err := s.Put(w.t.Context(), w.clusterZone(common)+"/A/api-demo", apiDNS, address("192.0.2.1"))
			must(w.t, err)
		}, "still has records (api-demo)", func(w *world) string { return w.clusterZone(common) + "/A/api-demo" }},
		{"an identity that another made", func(w *world, s *azure.Session) {
			_, err := s.Put(w.t.Context(), identity(w), "2023-01-31", azure.Resource{Location: location, Tags: map[string]string{"mine": "yes"}})
			must(w.t, err)
		}, "", identity},
		{"a delegation that leads elsewhere", func(w *world, s *azure.Session) { w.delegate(s, nil, "ns1.example.net.") }, "",
			func(w *world) string { return w.baseZone() + "/NS/clusters" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			_, err := w.makeZone(nil)
			must(t, err)
			s := w.session(w.transport)
			tc.change(w, s)
			before := w.dump()
			err = dns.Destroy(t.Context(), s, dnsOptions(s), false, nil)
			if tc.refused != "" {
				if !refusedFor(err, dns.FieldForce) || !strings.Contains(err.Error(), tc.refused) || differences(before, w.dump()) != "" {
					t.Errorf("error %v:\n%s", err, differences(before, w.dump()))
				}
				must(t, dns.Destroy(t.Context(), s, dnsOptions(s), true, nil))
				if _, left := w.dump()["arm "+strings.ToLower(tc.stays(w))]; left {
					t.Error("it is left though it was forced")
				}
				return
			}
			must(t, err)
			key := "arm " + strings.ToLower(tc.stays(w))
			if w.dump()[key] == "" || w.dump()[key] != before[key] {
				t.Errorf("%s was %s and is %s", key, before[key], w.dump()[key])
			}
			if _, left := w.dump()["arm "+strings.ToLower(w.clusterZone(common))]; left {
				t.Error("the zone is left")
			}
		})
	}
}

// Without the right in the directory the remedy is told, no file is written, and a run with the right goes on from there.
func TestAServicePrincipalNeedsTheDirectory(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "azure_mgmt.json")
	byPrincipal := func(o *dns.Options) { o.ManagementURL, o.ServicePrincipal, o.CredentialsPath = "", "ExternalDNS", file }
	_, err := w.server.Faults().Add(fault.Rule{Plane: fault.Graph, Method: "POST", Path: "**", Status: 403, Code: "Authorization_RequestDenied", Message: "Insufficient privileges."})
	must(t, err)
	_, err = w.makeZone(byPrincipal)
	if err == nil || !strings.Contains(err.Error(), "Application.ReadWrite.OwnedBy") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file: %v", err)
	}
	must(t, w.server.Faults().Clear())
	_, err = w.server.Faults().Add(fault.Rule{Preset: "throttled", Plane: fault.Graph, Count: 2, RetryAfter: fault.Duration(retryAfter)})
	must(t, err)
	_, err = w.makeZone(byPrincipal)
	must(t, err)
	if f, err := dns.ReadCredentials(file); err != nil || f.ClientSecret == "" {
		t.Errorf("the file: %v", err)
	}
}

// Where the parent is not in Azure, its records are told and nothing of other zones is written.
func TestAZoneWhoseDelegationIsMadeElsewhere(t *testing.T) {
	w := newWorld(t)
	s := w.session(w.transport)
	o := dnsOptions(s)
	o.Zone, o.SkipDelegation, o.Resolver = "clusters.example.org", true, "127.0.0.1:1" // nobody is asked
	out, err := dns.Create(t.Context(), s, o, nil)
	must(t, err)
	if len(out.NameServers) == 0 || out.ParentZoneID != "" {
		t.Errorf("%+v", out)
	}
	for key := range w.dump() {
		if strings.Contains(key, "/ns/") && !strings.HasSuffix(key, "/ns/@") {
			t.Errorf("%s is there", key)
		}
	}
}
