package azure_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestNameRules(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	rg := "/subscriptions/" + subscription + "/resourceGroups/"
	for _, c := range []struct{ path, code string }{
		{rg + "ends.", "InvalidResourceGroup"},
		{rg + "a b", "InvalidResourceGroup"},
		{rg + strings.Repeat("a", 91), "InvalidResourceGroup"},
		{rg + "rg/providers/Microsoft.ManagedIdentity/userAssignedIdentities/mi", "InvalidResourceName"},
		{rg + "rg/providers/Microsoft.ManagedIdentity/userAssignedIdentities/has.dot", "InvalidResourceName"},
		{rg + "rg/providers/Microsoft.Network/virtualNetworks/v", "InvalidResourceName"},
		{rg + "rg/providers/Microsoft.Network/networkSecurityGroups/ends-", "InvalidResourceName"},
		{rg + "rg/providers/Microsoft.Network/loadBalancers/" + strings.Repeat("a", 81), "InvalidResourceName"},
		{rg + "rg/providers/Microsoft.Network/dnsZones/single", "BadRequest"},
		{rg + "rg/providers/Microsoft.Storage/storageAccounts/Upper", "AccountNameInvalid"},
		{rg + "rg/providers/Microsoft.KeyVault/vaults/1st", "VaultNameNotValid"},
		{rg + "rg/providers/Microsoft.Compute/virtualMachines/ends.", "InvalidParameter"},
		{rg + "rg/providers/Microsoft.Authorization/roleAssignments/no-guid", "InvalidRoleAssignmentId"},
	} {
		if code := s.put(c.path); code != c.code {
			t.Errorf("%s: %q", c.path, code)
		}
	}
	for _, path := range []string{rg + "a(b)_c.d-", rg + "rg/providers/Microsoft.Network/networkSecurityGroups/a",
		rg + "rg/providers/Microsoft.ManagedIdentity/userAssignedIdentities/a_b-", rg + "rg/providers/Microsoft.Network/dnsZones/a.b"} {
		if code := s.put(path); code != "" {
			t.Errorf("%s: %q", path, code)
		}
	}
}

// put sends a minimal document and returns the code of the refusal.
func (s *sandbox) put(path string) string {
	s.t.Helper()
	tok, err := s.user().GetToken(s.t.Context(), managementScope())
	must(s.t, err)
	req, err := http.NewRequestWithContext(s.t.Context(), "PUT", "https://management.azure.com"+withVersion(strings.ReplaceAll(path, " ", "%20")), strings.NewReader(`{"location":"eastus"}`))
	must(s.t, err)
	req.Header.Set("Authorization", "Bearer "+tok.Token)
	resp, err := s.http.Do(req)
	must(s.t, err)
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Header.Get("x-ms-error-code")
}
