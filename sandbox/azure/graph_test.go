package azure_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
)

// graphAs calls Microsoft Graph with a token of somebody.
func (s *sandbox) graphAs(credential azcore.TokenCredential, method, path, body string) answer {
	s.t.Helper()
	token, err := credential.GetToken(s.t.Context(), policy.TokenRequestOptions{Scopes: []string{"https://graph.microsoft.com/.default"}})
	must(s.t, err)
	return s.request(method, "https://graph.microsoft.com/v1.0/"+path, body, "Authorization", "Bearer "+token.Token)
}

// Without an app role of Microsoft Graph nobody reads or writes the directory, but for what is about himself; who may write what he owns
// touches nothing else.
func TestGraphRights(t *testing.T) {
	s := newSandbox(t, func(c *azure.Config) {
		c.ServicePrincipal.GraphRoles = []string{entra.WriteOwn, entra.AssignAppRoles}
	})
	s.group("rg")
	mi := s.identity("rg", "identity")
	id, stranger := s.servicePrincipal("stranger")
	self := s.graph("GET", "servicePrincipals/"+id, nil)
	app := s.graph("GET", "applications?$filter=displayName%20eq%20'stranger'", nil)["value"].([]any)[0].(map[string]any)["id"].(string)
	denied := func(who string, got answer) {
		t.Helper()
		if got.status != 403 || got.code != "Authorization_RequestDenied" || !strings.Contains(got.text, "Insufficient privileges to complete the operation.") {
			t.Errorf("%s: %d %s", who, got.status, got.text)
		}
	}
	for _, r := range [][3]string{
		{"GET", "servicePrincipals?$filter=appId%20eq%20'" + *mi.Properties.ClientID + "'", ""},
		{"GET", "applications", ""},
		{"GET", "servicePrincipals/" + *mi.Properties.PrincipalID, ""},
		{"POST", "applications", `{"displayName":"mine"}`},
		{"POST", "servicePrincipals", fmt.Sprintf(`{"appId":"%s"}`, self["appId"])},
		{"POST", "applications/" + app + "/addPassword", "{}"},
		{"POST", "applications/" + app + "/federatedIdentityCredentials", `{"name":"f"}`},
		{"PATCH", "applications/" + app, `{"displayName":"other"}`},
		{"DELETE", "servicePrincipals/" + id, ""},
		{"POST", "directoryObjects/getByIds", `{"ids":[]}`},
		{"GET", "users", ""},
		{"POST", "servicePrincipals/" + id + "/appRoleAssignments", "{}"},
	} {
		denied(r[0]+" "+r[1], s.graphAs(stranger, r[0], r[1], r[2]))
	}
	if got := s.graphAs(stranger, "GET", "servicePrincipals/"+id, ""); got.status != 200 || strings.Contains(got.text, `"owners"`) {
		t.Errorf("itself: %d %s", got.status, got.text)
	}

	// A role that is given is in the next token.
	resource := s.graph("GET", "servicePrincipals?$filter=appId%20eq%20'"+entra.GraphAppID+"'", nil)["value"].([]any)[0].(map[string]any)["id"]
	grant, err := json.Marshal(map[string]any{"principalId": id, "resourceId": resource, "appRoleId": entra.AppRoles[entra.ReadApplications]})
	must(t, err)
	old, err := stranger.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{"https://graph.microsoft.com/.default"}})
	must(t, err)
	if got := s.graphAs(s.user(), "POST", "servicePrincipals/"+id+"/appRoleAssignments", string(grant)); got.status != 201 {
		t.Fatalf("grant: %d %s", got.status, got.text)
	}
	denied("with the former token", s.request("GET", "https://graph.microsoft.com/v1.0/applications", "", "Authorization", "Bearer "+old.Token))
	renewed := s.secretOf(app)
	if got := s.graphAs(renewed, "GET", "applications", ""); got.status != 200 {
		t.Errorf("with the role: %d %s", got.status, got.text)
	}
	denied("a reader writes", s.graphAs(renewed, "POST", "applications", `{"displayName":"mine"}`))

	// The user owns what it made, not its own application, nor what others made.
	own := s.graph("GET", "applications?$filter=appId%20eq%20'"+clientID+"'", nil)["value"].([]any)[0].(map[string]any)["id"].(string)
	denied("its own application", s.graphAs(s.user(), "POST", "applications/"+own+"/addPassword", "{}"))
	denied("an identity", s.graphAs(s.user(), "DELETE", "servicePrincipals/"+*mi.Properties.PrincipalID, ""))
	s.graph("DELETE", "applications/"+app, nil)
}
