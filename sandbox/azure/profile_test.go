package azure_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/pace"
)

// realistic is an embedded Azure with the realistic profile: one in which nothing spreads while a test runs, or one in which all does soon.
func realistic(t *testing.T, scale float64) *sandbox {
	t.Helper()
	return newSandbox(t, func(c *azure.Config) { c.Profile, c.ProfileScale = pace.Realistic, scale })
}

const (
	never = 1000
	soon  = 0.02
)

// as sends a request with a token of somebody.
func (s *sandbox) as(credential azcore.TokenCredential, method, path, body string) answer {
	s.t.Helper()
	token, err := credential.GetToken(s.t.Context(), managementScope())
	must(s.t, err)
	return s.request(method, "https://management.azure.com"+withVersion(path), body, "Authorization", "Bearer "+token.Token)
}

func assignment(principal, typ string) string {
	if typ != "" {
		typ = `"principalType":"` + typ + `",`
	}
	return `{"properties":{` + typ + `"principalId":"` + principal + `","roleDefinitionId":"` + inSub + `/providers/Microsoft.Authorization/roleDefinitions/` + contributor + `"}}`
}

// What is new is not known everywhere: a principal without its type, an application, a role, a federated credential.
func TestNothingSpreadsAtOnce(t *testing.T) {
	s := realistic(t, never)
	s.group("rg")
	iss := s.issuer("rg")
	mi := s.identity("rg", "identity")
	roles := inRG + "/providers/Microsoft.Authorization/roleAssignments/"
	s.refusals([]refusal{{"PUT", roles + uuid.NewString(), assignment(*mi.Properties.PrincipalID, ""), 400, "PrincipalNotFound", "replication delay"}})
	s.good("PUT", roles+uuid.NewString(), assignment(*mi.Properties.PrincipalID, "ServicePrincipal"))
	_, err := s.federations().CreateOrUpdate(t.Context(), "rg", "identity", "fic", federation(iss.url, "sub"), nil)
	must(t, err)
	_, err = s.workload(*mi.Properties.ClientID, iss.token(t, "sub", "openshift", time.Now().Add(time.Hour))).GetToken(t.Context(), managementScope())
	wantAADSTS(t, err, "700016")
	_, credential := s.servicePrincipal("new")
	_, err = credential.GetToken(t.Context(), managementScope())
	wantAADSTS(t, err, "700016")
}

var numberRe = regexp.MustCompile(`AADSTS\d+`)

// eventually repeats what Azure promises to grant some time.
func eventually(t *testing.T, what string, try func() bool) {
	t.Helper()
	for !try() {
		select {
		case <-t.Context().Done():
			t.Fatal(what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// And each of them is known some time later, without anything being done again.
func TestEverythingSpreads(t *testing.T) {
	s := realistic(t, soon)
	s.group("rg")
	s.once = true
	iss := s.issuer("rg")
	mi := s.identity("rg", "identity")
	eventually(t, "the principal is never known", func() bool {
		got := s.call("PUT", inRG+"/providers/Microsoft.Authorization/roleAssignments/00000000-0000-4000-8000-0000000000a1", assignment(*mi.Properties.PrincipalID, ""))
		return got.status == 201
	})
	_, err := s.federations().CreateOrUpdate(t.Context(), "rg", "identity", "fic", federation(iss.url, "sub"), nil)
	must(t, err)
	refused := map[string]bool{}
	workload := s.workload(*mi.Properties.ClientID, iss.token(t, "sub", "openshift", time.Now().Add(time.Hour)))
	eventually(t, "no token is issued", func() bool {
		_, err := workload.GetToken(t.Context(), managementScope())
		if err != nil {
			refused[numberRe.FindString(err.Error())] = true
		}
		return err == nil
	})
	for n := range refused {
		if n != "AADSTS70021" && n != "AADSTS700016" {
			t.Errorf("%s meanwhile", n)
		}
	}
	eventually(t, "the role never grants anything", func() bool { return s.as(workload, "GET", inRG, "").status == 200 })
}

// An operation shows its state until it ends, and what is deleted is there until then.
func TestOperationsTakeTheirTime(t *testing.T) {
	s := realistic(t, never)
	s.good("PUT", inRG, `{"location":"eastus"}`)
	nsg := netRP + "networkSecurityGroups/nsg"
	state := func(path, want string) {
		t.Helper()
		got := s.good("GET", path, "")
		if p, _ := got.body["properties"].(map[string]any); p["provisioningState"] != want {
			t.Errorf("%s: %s, want %s", path, got.text, want)
		}
	}
	made := s.good("PUT", nsg, `{"location":"eastus"}`)
	if p, _ := made.body["properties"].(map[string]any); p["provisioningState"] != "Updating" || made.header.Get("Azure-AsyncOperation") == "" {
		t.Errorf("%d %s", made.status, made.text)
	}
	state(nsg, "Updating")
	if got := s.good("GET", strings.TrimPrefix(made.header.Get("Azure-AsyncOperation"), "https://management.azure.com"), ""); !strings.Contains(got.text, "InProgress") {
		t.Errorf("the operation: %s", got.text)
	}
	s.good("DELETE", nsg, "")
	state(nsg, "Deleting")
	s.restart()
	state(nsg, "Deleting")
	s.good("DELETE", nsg, "")
	s.refusals([]refusal{
		{"PUT", nsg, `{"location":"eastus"}`, 409, "AnotherOperationInProgress", nsg},
		{"PUT", nsg + "/securityRules/r", `{"properties":{}}`, 409, "AnotherOperationInProgress", "is being deleted"},
	})
	s.good("DELETE", inRG, "")
	state(inRG, "Deleting")
	s.refusals([]refusal{{"PUT", netRP + "networkSecurityGroups/second", `{"location":"eastus"}`, 409, "ResourceGroupBeingDeleted", "The resource group 'rg' is in deprovisioning state and cannot perform this operation."}})
}

func TestOperationsEnd(t *testing.T) {
	s := realistic(t, soon)
	s.group("rg")
	subnet := s.vnet("rg")
	s.vm("rg", "vm-1", s.nic("rg", "nic", subnet))
	_, err := s.network().NewInterfacesClient().BeginDelete(t.Context(), "rg", "nic", nil)
	wantCode(t, err, 400, "NicInUse")
	p, err := s.compute().NewVirtualMachinesClient().BeginDelete(t.Context(), "rg", "vm-1", nil)
	must(t, err)
	_, err = s.network().NewInterfacesClient().BeginDelete(t.Context(), "rg", "nic", nil)
	wantCode(t, err, 400, "NicInUse") // the machine is there until its deletion ends
	done(t, p, nil)
	_, err = s.compute().NewVirtualMachinesClient().Get(t.Context(), "rg", "vm-1", nil)
	wantCode(t, err, 404, "ResourceNotFound")
	q, err := s.network().NewInterfacesClient().BeginDelete(t.Context(), "rg", "nic", nil)
	done(t, q, err)
	s.good("DELETE", inRG, "")
	eventually(t, "the group never goes", func() bool { return s.call("GET", inRG, "").status == 404 })
	s.good("PUT", inRG, `{"location":"eastus"}`)
	if got := s.good("GET", inRG+"/resources", ""); len(got.body["value"].([]any)) != 0 {
		t.Errorf("left: %s", got.text)
	}
}
