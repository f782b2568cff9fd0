package azure_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v6"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/storage/armstorage"
	"github.com/google/uuid"

	azure "github.com/hypershift-on-azure/hypershift/sandbox/azure"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// fault adds a rule and removes it at the end of the test t.
func (s *sandbox) fault(t *testing.T, r fault.Rule) fault.Rule {
	t.Helper()
	out, err := s.server.Faults().Add(r)
	must(t, err)
	t.Cleanup(func() { _ = s.server.Faults().Clear() })
	return out[0]
}

func (s *sandbox) groups() *armresources.ResourceGroupsClient {
	c, err := armresources.NewResourceGroupsClient(subscription, s.user(), s.armOptions())
	must(s.t, err)
	return c
}

func (s *sandbox) getGroup(ctx context.Context, name string) error {
	_, err := s.groups().Get(ctx, name, nil)
	return err
}

func (s *sandbox) putGroup(ctx context.Context, name string) error {
	_, err := s.groups().CreateOrUpdate(ctx, name, armresources.ResourceGroup{Location: to.Ptr(location)}, nil)
	return err
}

func (s *sandbox) putGroupSecurity(ctx context.Context, name string) (*runtime.Poller[armnetwork.SecurityGroupsClientCreateOrUpdateResponse], error) {
	return s.network().NewSecurityGroupsClient().BeginCreateOrUpdate(ctx, "rg", name, armnetwork.SecurityGroup{Location: to.Ptr(location)}, nil)
}

func (s *sandbox) putAccount(ctx context.Context, name string) (bool, error) {
	c, err := armstorage.NewAccountsClient(subscription, s.user(), s.armOptions())
	must(s.t, err)
	p, err := c.BeginCreate(ctx, "rg", name, armstorage.AccountCreateParameters{Kind: to.Ptr(armstorage.KindStorageV2), Location: to.Ptr(location),
		SKU: &armstorage.SKU{Name: to.Ptr(armstorage.SKUNameStandardLRS)}, Properties: &armstorage.AccountPropertiesCreateParameters{AllowBlobPublicAccess: to.Ptr(true)}}, nil)
	if err != nil {
		return false, err
	}
	out, err := p.PollUntilDone(ctx, nil)
	return err == nil && *out.Properties.AllowBlobPublicAccess, err
}

func (s *sandbox) putVM(ctx context.Context, name string, nic *armnetwork.Interface) error {
	_, err := s.compute().NewVirtualMachinesClient().BeginCreateOrUpdate(ctx, "rg", name, armcompute.VirtualMachine{Location: to.Ptr(location),
		Properties: machineProperties(name, nic)}, nil)
	return err
}

// Each preset as the SDK sees it. The sandbox is shared: every test has its own names.
func TestFaultPresets(t *testing.T) {
	s := newSandbox(t)
	s.once = true
	s.group("rg")
	nic := s.nic("rg", "nic", s.vnet("rg"))
	refused := func(preset string, status int, code string, do func(context.Context) error) {
		t.Run(preset, func(t *testing.T) {
			s.fault(t, fault.Rule{Preset: preset})
			wantCode(t, do(t.Context()), status, code)
			must(t, s.server.Faults().Clear())
			must(t, do(t.Context()))
		})
	}
	vm := func(name string) func(context.Context) error {
		return func(ctx context.Context) error { return s.putVM(ctx, name, nic) }
	}
	refused("conflict", 409, "AnotherOperationInProgress", func(ctx context.Context) error { return s.putGroup(ctx, "rg") })
	refused("server-error", 503, "ServiceUnavailable", func(ctx context.Context) error {
		s.http.CloseIdleConnections()
		return s.plain(ctx, "GET", "https://management.azure.com/metadata/endpoints?api-version=2019-05-01")
	})
	refused("quota-exceeded", 409, "QuotaExceeded", vm("quota"))
	refused("policy-denied", 403, "RequestDisallowedByPolicy", func(ctx context.Context) error { return s.putGroup(ctx, "policy") })
	refused("name-taken", 409, "StorageAccountAlreadyTaken", func(ctx context.Context) error { _, err := s.putAccount(ctx, "taken"); return err })
	refused("sku-not-available", 409, "SkuNotAvailable", func(ctx context.Context) error {
		return s.putVM(ctx, "sku", s.nic("rg", "nic-sku", s.vnet("rg")))
	})
	refused("marketplace", 400, "MarketplacePurchaseEligibilityFailed", func(ctx context.Context) error {
		return s.putVM(ctx, "market", s.nic("rg", "nic-market", s.vnet("rg")))
	})
	t.Run("group-not-found", func(t *testing.T) {
		s.fault(t, fault.Rule{Preset: "group-not-found"})
		_, err := s.putGroupSecurity(t.Context(), "race")
		wantCode(t, err, 404, "ResourceGroupNotFound")
		p, err := s.putGroupSecurity(t.Context(), "race")
		done(t, p, err)
	})
	t.Run("public-access-disabled", func(t *testing.T) {
		s.fault(t, fault.Rule{Preset: "public-access-disabled"})
		public, err := s.putAccount(t.Context(), "private")
		must(t, err)
		if public {
			t.Error("the policy was not applied")
		}
		c, err := armstorage.NewBlobContainersClient(subscription, s.user(), s.armOptions())
		must(t, err)
		_, err = c.Create(t.Context(), "rg", "private", "docs", armstorage.BlobContainer{ContainerProperties: &armstorage.ContainerProperties{PublicAccess: to.Ptr(armstorage.PublicAccessBlob)}}, nil)
		wantCode(t, err, 409, "PublicAccessNotPermitted")
	})
	t.Run("latency", func(t *testing.T) {
		s.fault(t, fault.Rule{Preset: "latency", Plane: fault.ARM})
		began := time.Now()
		must(t, s.getGroup(t.Context(), "rg"))
		if d := time.Since(began); d < 100*time.Millisecond {
			t.Errorf("took %s", d)
		}
	})
}

// plain sends a request without a client library; an error has the form of the SDK's.
func (s *sandbox) plain(ctx context.Context, method, address string) error {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, address, nil)
	must(s.t, err)
	resp, err := s.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return runtime.NewResponseError(resp)
	}
	return nil
}

func TestThrottledClientWaits(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	r := s.fault(t, fault.Rule{Preset: "throttled", Plane: fault.ARM, Count: 2, RetryAfter: fault.Duration(60 * time.Millisecond)})
	began := time.Now()
	must(t, s.getGroup(t.Context(), "rg"))
	if d := time.Since(began); d < 120*time.Millisecond {
		t.Errorf("two refusals with Retry-After took %s", d)
	}
	if l := s.server.Faults().List(); l[0].Fired != 2 {
		t.Errorf("%+v", l)
	}
	var seen []string
	for _, e := range s.logged(2, func(e access.Entry) bool { return len(e.Faults) > 0 }) {
		seen = append(seen, fmt.Sprint(e.Plane, e.Status, e.Faults))
	}
	if want := "arm429 [" + r.ID + "]"; len(seen) != 2 || seen[0] != want {
		t.Errorf("the access log has %v", seen)
	}
}

// logged returns the entries of the access log that are asked for, once there are at least so many: a line is written when
// its request has ended, and a client may have its answer, or the end of its connection, before that.
func (s *sandbox) logged(n int, asked func(access.Entry) bool) []access.Entry {
	s.t.Helper()
	var out []access.Entry
	eventually(s.t, fmt.Sprintf("the access log has fewer than %d of the entries", n), func() bool {
		data, err := os.ReadFile(filepath.Join(s.cfg.Dir, "access.log"))
		must(s.t, err)
		out = nil
		for line := range strings.Lines(string(data)) {
			var e access.Entry
			if !strings.HasSuffix(line, "\n") {
				break
			}
			must(s.t, json.Unmarshal([]byte(line), &e))
			if asked(e) {
				out = append(out, e)
			}
		}
		return len(out) >= n
	})
	return out
}

func TestResets(t *testing.T) {
	s := newSandbox(t)
	s.once = true
	s.fault(t, fault.Rule{Preset: "reset", Plane: fault.ARM, Method: "PUT", Count: 1})
	if err := s.putGroup(t.Context(), "before"); err == nil {
		t.Fatal("the connection was not reset")
	}
	wantCode(t, s.getGroup(t.Context(), "before"), 404, "ResourceGroupNotFound")
	s.fault(t, fault.Rule{Preset: "lost-reply", Count: 1})
	if err := s.putGroup(t.Context(), "after"); err == nil {
		t.Fatal("the answer was not lost")
	}
	must(t, s.getGroup(t.Context(), "after"))
	lost := s.logged(2, func(e access.Entry) bool { return e.Status == 0 && len(e.Faults) == 1 })
	if len(lost) != 2 {
		t.Errorf("the access log shows %d ended connections", len(lost))
	}
	// A client that retries converges.
	s.once = false
	s.fault(t, fault.Rule{Reset: fault.After, Method: "PUT", Count: 1})
	must(t, s.putGroup(t.Context(), "again"))
}

func TestOperations(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	ctx := t.Context()
	fast := &runtime.PollUntilDoneOptions{Frequency: 5 * time.Millisecond}
	s.fault(t, fault.Rule{Preset: "operation-failed", Code: "NetworkingInternalOperationError", Count: 1})
	must(t, s.putGroup(ctx, "other")) // no operation: it does not use the count up
	p, err := s.putGroupSecurity(ctx, "nsg")
	must(t, err)
	_, err = p.PollUntilDone(ctx, fast)
	wantCode(t, err, 200, "NetworkingInternalOperationError")
	got, err := s.network().NewSecurityGroupsClient().Get(ctx, "rg", "nsg", nil)
	must(t, err)
	if state := *got.Properties.ProvisioningState; state != "Failed" {
		t.Errorf("state %s", state)
	}
	p, err = s.putGroupSecurity(ctx, "nsg")
	if out := done(t, p, err); *out.Properties.ProvisioningState != "Succeeded" {
		t.Error("the second attempt must succeed")
	}

	must(t, s.server.Faults().Clear())
	s.fault(t, fault.Rule{Preset: "operation-failed", Method: "DELETE", Count: 2})
	d, err := s.network().NewSecurityGroupsClient().BeginDelete(ctx, "rg", "nsg", nil)
	must(t, err)
	if _, err = d.PollUntilDone(ctx, fast); err == nil {
		t.Error("the deletion did not fail")
	}
	_, err = s.network().NewSecurityGroupsClient().Get(ctx, "rg", "nsg", nil)
	must(t, err)
	g, err := s.groups().BeginDelete(ctx, "rg", nil)
	must(t, err)
	_, err = g.PollUntilDone(ctx, fast)
	wantCode(t, err, 409, "InternalExecutionError")
	must(t, s.getGroup(ctx, "rg"))

	s.fault(t, fault.Rule{Preset: "operation-slow", Seconds: 0.15, Count: 1})
	began := time.Now()
	p, err = s.putGroupSecurity(ctx, "slow")
	must(t, err)
	if p.Done() {
		t.Error("done at once")
	}
	done(t, p, nil)
	if took := time.Since(began); took < 150*time.Millisecond {
		t.Errorf("took %s", took)
	}
}

// delayed expects the refusal while a delay is long, and success once the delay is over.
func (s *sandbox) delayed(t *testing.T, r fault.Rule, do func() error, refused func(error)) {
	t.Helper()
	must(t, s.server.Faults().Clear())
	r.Seconds = 3600
	s.fault(t, r)
	for range 2 {
		refused(do())
	}
	if l := s.server.Faults().List(); l[0].Fired != 2 {
		t.Errorf("hits of %s: %d", r.Preset, l[0].Fired)
	}
	must(t, s.server.Faults().Clear())
	r.Seconds = 0.001
	s.fault(t, r)
	must(t, do())
}

func TestPropagation(t *testing.T) {
	s := newSandbox(t)
	s.once = true
	s.group("rg")
	iss := s.issuer("rg")
	group := "/subscriptions/" + subscription + "/resourceGroups/rg"
	mi := s.identity("rg", "slow")
	_, err := s.federations().CreateOrUpdate(t.Context(), "rg", "slow", "fic", federation(iss.url, "sub"), nil)
	must(t, err)

	assignments, err := armauthorization.NewRoleAssignmentsClient(subscription, s.user(), s.armOptions())
	must(t, err)
	name := uuid.NewString()
	assign := func() error { // a given principal type does not help against an injected delay
		_, err := assignments.Create(t.Context(), group, name, armauthorization.RoleAssignmentCreateParameters{Properties: &armauthorization.RoleAssignmentProperties{
			PrincipalID: mi.Properties.PrincipalID, PrincipalType: to.Ptr(armauthorization.PrincipalTypeServicePrincipal),
			RoleDefinitionID: to.Ptr("/subscriptions/" + subscription + "/providers/Microsoft.Authorization/roleDefinitions/" + contributor)}}, nil)
		return err
	}
	s.delayed(t, fault.Rule{Preset: "principal-not-found"}, assign, func(err error) { wantCode(t, err, 400, "PrincipalNotFound") })

	cred := s.workload(*mi.Properties.ClientID, iss.token(t, "sub", "openshift", time.Now().Add(time.Hour)))
	groups, err := armresources.NewResourceGroupsClient(subscription, cred, s.armOptions())
	must(t, err)
	s.delayed(t, fault.Rule{Preset: "role-delay"}, func() error { _, err := groups.Get(t.Context(), "rg", nil); return err },
		func(err error) { wantCode(t, err, 403, "AuthorizationFailed") })
}

// A new federated credential is not known at first, and who asks too early is refused for as long again.
func TestRefusalIsRemembered(t *testing.T) {
	s := newSandbox(t)
	s.once = true
	s.group("rg")
	iss := s.issuer("rg")
	mi := s.identity("rg", "early")
	login := func(subject string) error {
		_, err := s.workload(*mi.Properties.ClientID, iss.token(t, subject, "openshift", time.Now().Add(time.Hour))).GetToken(t.Context(), managementScope())
		return err
	}
	s.fault(t, fault.Rule{Preset: "federation-delay", Seconds: 3600, Code: "700213"})
	wantAADSTS(t, login("early"), "70025")
	must(t, s.server.Faults().Clear())
	for _, subject := range []string{"early", "late"} {
		_, err := s.federations().CreateOrUpdate(t.Context(), "rg", "early", "fic-"+subject, federation(iss.url, subject), nil)
		must(t, err)
	}
	s.fault(t, fault.Rule{Preset: "federation-delay", Seconds: 0.001, Code: "700213"})
	wantAADSTS(t, login("early"), "700213")
	must(t, login("late"))
	must(t, s.server.Faults().Clear())
	s.fault(t, fault.Rule{Preset: "federation-delay", Seconds: 3600})
	_, err := s.federations().CreateOrUpdate(t.Context(), "rg", "early", "fic-new", federation(iss.url, "new"), nil)
	must(t, err)
	wantAADSTS(t, login("new"), "70021")
}

func TestClock(t *testing.T) {
	s := newSandbox(t)
	s.once = true
	s.group("rg")
	iss := s.issuer("rg")
	mi := s.identity("rg", "clock")
	_, err := s.federations().CreateOrUpdate(t.Context(), "rg", "clock", "fic", federation(iss.url, "sub"), nil)
	must(t, err)
	old := s.groups()
	_, err = old.Get(t.Context(), "rg", nil)
	must(t, err)
	s.fault(t, fault.Rule{Preset: "clock"})
	_, err = s.workload(*mi.Properties.ClientID, iss.token(t, "sub", "openshift", time.Now().Add(time.Hour))).GetToken(t.Context(), managementScope())
	wantAADSTS(t, err, "700024")
	_, err = old.Get(t.Context(), "rg", nil)
	wantCode(t, err, 401, "ExpiredAuthenticationToken")
	must(t, s.getGroup(t.Context(), "rg")) // a token of the new time is good
}

func TestPagingAndIDCase(t *testing.T) {
	s := newSandbox(t)
	for n := range 5 {
		s.group(fmt.Sprintf("rg%d", n))
	}
	s.fault(t, fault.Rule{Preset: "paging"})
	pages, names := 0, map[string]bool{}
	for p := s.groups().NewListPager(nil); p.More(); pages++ {
		out, err := p.NextPage(t.Context())
		must(t, err)
		for _, g := range out.Value {
			names[*g.Name] = true
		}
		if pages == 1 { // a nextLink stays good without the rule
			must(t, s.server.Faults().Clear())
		}
	}
	if pages != 3 || len(names) != 5 {
		t.Errorf("%d pages with %v", pages, names)
	}
	s.fault(t, fault.Rule{PageSize: 1, Plane: fault.Graph})
	if list := s.graph("GET", "servicePrincipals", nil); len(list["value"].([]any)) != 1 {
		t.Errorf("Graph answered %v", list)
	}

	must(t, s.server.Faults().Clear())
	s.fault(t, fault.Rule{Preset: "id-case"})
	mi := s.identity("rg1", "Mixed")
	if want := "/subscriptions/" + subscription + "/resourcegroups/RG1/providers/microsoft.managedidentity/userassignedidentities/Mixed"; *mi.ID != want {
		t.Errorf("id %s", *mi.ID)
	}
	must(t, s.getGroup(t.Context(), "RG1"))
}

func TestEntraAndBlobFaults(t *testing.T) {
	s := newSandbox(t)
	s.once = true
	s.group("rg")
	s.fault(t, fault.Rule{Plane: fault.Entra, Method: "POST", Principal: clientID, Status: 400, Code: "AADSTS700016", Count: 1})
	_, err := s.user().GetToken(t.Context(), managementScope())
	wantAADSTS(t, err, "700016")
	_, err = s.user().GetToken(t.Context(), managementScope())
	must(t, err)
	blobs := s.account("rg", "acct", true)
	s.fault(t, fault.Rule{Plane: fault.Blob, Path: "/acct/**", Status: 503, Code: "ServerBusy", Count: 1})
	_, err = blobs.CreateContainer(t.Context(), "c12", nil)
	wantCode(t, err, 503, "ServerBusy")
	_, err = blobs.CreateContainer(t.Context(), "c12", nil)
	must(t, err)
}

func TestFaultsOfAFileAndTheSocket(t *testing.T) {
	s := newSandbox(t, func(c *azure.Config) {
		must(t, os.MkdirAll(c.Dir, 0o700))
		must(t, os.WriteFile(filepath.Join(c.Dir, "faults.json"), []byte(`{"rules":[{"id":"start","plane":"arm","status":500,"code":"FromFile","count":1}]}`), 0o600))
	})
	s.once = true
	wantCode(t, s.putGroup(t.Context(), "rg"), 500, "FromFile")
	c := fault.NewClient(filepath.Join(s.cfg.Dir, "admin.sock"))
	added, err := c.Add(t.Context(), fault.Rule{Preset: "throttled", Plane: fault.ARM})
	must(t, err)
	if _, err := c.Add(t.Context(), fault.Rule{Status: 200}); err == nil {
		t.Error("the socket takes a bad rule")
	}
	s.restart()
	wantCode(t, s.putGroup(t.Context(), "rg"), 429, "TooManyRequests")
	list, err := c.List(t.Context())
	must(t, err)
	if len(list) != 2 || list[0].Fired != 1 || list[1].ID != added[0].ID {
		t.Errorf("after a restart: %+v", list)
	}
	must(t, c.Clear(t.Context(), added[0].ID))
	must(t, s.putGroup(t.Context(), "rg"))
	must(t, c.Clear(t.Context()))
	if l := s.server.Faults().List(); len(l) != 0 {
		t.Errorf("left: %+v", l)
	}
}

func TestStartIsQuick(t *testing.T) {
	s := newSandbox(t)
	s.unmanaged = true
	s.fault(t, fault.Rule{Preset: "latency"})
	best := time.Hour
	for range 3 { // what else this machine does is not the point
		s.stop()
		began := time.Now()
		s.start()
		best = min(best, time.Since(began))
	}
	if best > 300*time.Millisecond {
		t.Errorf("a start took %s", best)
	}
}
