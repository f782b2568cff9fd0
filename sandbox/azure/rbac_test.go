package azure_test

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
)

const (
	reader         = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
	blobDataReader = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
)

// servicePrincipal is one without roles, and its credential.
func (s *sandbox) servicePrincipal(name string) (objectID string, credential azcore.TokenCredential) {
	s.t.Helper()
	app := s.graph("POST", "applications", map[string]any{"displayName": name})
	sp := s.graph("POST", "servicePrincipals", map[string]any{"appId": app["appId"]})
	return sp["id"].(string), s.secretOf(app["id"].(string))
}

// secretOf adds a secret to an application and makes a credential of it, which has asked for no token yet.
func (s *sandbox) secretOf(application string) azcore.TokenCredential {
	s.t.Helper()
	app := s.graph("GET", "applications/"+application, nil)
	pw := s.graph("POST", "applications/"+application+"/addPassword", map[string]any{})
	c, err := azidentity.NewClientSecretCredential(tenant, app["appId"].(string), pw["secretText"].(string), &azidentity.ClientSecretCredentialOptions{ClientOptions: s.options()})
	must(s.t, err)
	return c
}

// Each action is allowed by its own pattern, at its own scope, and not where NotActions take it away.
func TestRolesPerAction(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	s.group("other")
	shared := s.account("rg", "acct", false)
	_, err := shared.CreateContainer(t.Context(), "docs", nil)
	must(t, err)
	custom := inSub + "/providers/Microsoft.Authorization/roleDefinitions/00000000-0000-4000-8000-0000000000cc"
	if got := s.call("PUT", custom, `{"properties":{"roleName":"Network without deletions","assignableScopes":["`+inSub+`"],
		"permissions":[{"actions":["Microsoft.Network/*"],"notActions":["Microsoft.Network/*/delete","Microsoft.Network/virtualNetworks/write"]}]}}`); got.status != 201 {
		t.Fatalf("role: %d %s", got.status, got.text)
	}
	nsg := func(group string) string {
		return inSub + "/resourceGroups/" + group + "/providers/Microsoft.Network/networkSecurityGroups/nsg"
	}
	keys, roleAssignment := account+"/listKeys", inRG+"/providers/Microsoft.Authorization/roleAssignments/00000000-0000-4000-8000-0000000000dd"
	assign := `{"properties":{"principalId":"00000000-0000-4000-8000-0000000000bb","principalType":"ServicePrincipal","roleDefinitionId":"` + inSub + `/providers/Microsoft.Authorization/roleDefinitions/` + reader + `"}}`
	vnet := `{"location":"eastus","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]}}}`
	type request struct {
		method, path, body string
		allowed            bool
	}
	for name, c := range map[string]struct {
		role, scope string
		requests    []request
	}{
		"reader": {reader, inRG, []request{{"GET", inRG, "", true}, {"GET", account, "", true}, {"POST", keys, "", false}, {"PUT", nsg("rg"), `{"location":"eastus"}`, false},
			{"PATCH", inRG, `{"tags":{}}`, false}, {"GET", inSub + "/resourceGroups/other", "", false}}},
		"contributor": {contributor, inRG, []request{{"PUT", nsg("rg"), `{"location":"eastus"}`, true}, {"PUT", nsg("other"), `{"location":"eastus"}`, false}, {"POST", keys, "", true},
			{"PUT", roleAssignment, assign, false}, {"DELETE", nsg("rg"), "", true}}},
		"custom": {"00000000-0000-4000-8000-0000000000cc", inSub, []request{{"PUT", nsg("rg"), `{"location":"eastus"}`, true}, {"PUT", nsg("other"), `{"location":"eastus"}`, true},
			{"DELETE", nsg("rg"), "", false}, {"PUT", inRG + "/providers/Microsoft.Network/virtualNetworks/v1", vnet, false}, {"GET", account, "", false}}},
		"at the resource": {contributor, account, []request{{"POST", keys, "", true}, {"GET", account, "", true}, {"GET", inRG, "", false}, {"GET", nsg("rg"), "", false}}},
	} {
		id, credential := s.servicePrincipal(name)
		must(t, s.assign(c.scope, c.role, id))
		tok, err := credential.GetToken(t.Context(), managementScope())
		must(t, err)
		for _, r := range c.requests {
			got := s.request(r.method, "https://management.azure.com"+withVersion(r.path), r.body, "Authorization", "Bearer "+tok.Token)
			if refused := got.status == 403 && got.code == "AuthorizationFailed"; refused == r.allowed || r.allowed && got.status >= 300 {
				t.Errorf("%s: %s %s: %d %s", name, r.method, r.path, got.status, got.text)
			}
		}
	}

	// The content of blobs has roles of its own.
	id, credential := s.servicePrincipal("blobs")
	blobs, err := azblob.NewClient("https://acct.blob.core.windows.net/", credential, &azblob.ClientOptions{ClientOptions: s.options()})
	must(t, err)
	_, err = shared.UploadBuffer(t.Context(), "docs", "b", []byte("x"), nil)
	must(t, err)
	_, err = blobs.DownloadBuffer(t.Context(), "docs", "b", make([]byte, 1), nil)
	wantCode(t, err, 403, "AuthorizationPermissionMismatch")
	must(t, s.assign(account+"/blobServices/default/containers/docs", blobDataReader, id))
	_, err = blobs.DownloadBuffer(t.Context(), "docs", "b", make([]byte, 1), nil)
	must(t, err)
	_, err = blobs.UploadBuffer(t.Context(), "docs", "b", []byte("y"), nil)
	wantCode(t, err, 403, "AuthorizationPermissionMismatch")
}
