package azure_test

import (
	"testing"
)

// A deleted vault holds its name until it is purged, also when it went with its group, and can be taken back.
func TestDeletedVaultsHoldTheirNames(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	s.group("other")
	const sub = "/subscriptions/" + subscription
	in := func(group string) string {
		return sub + "/resourceGroups/" + group + "/providers/Microsoft.KeyVault/vaults/keeper"
	}
	body := `{"location":"eastus","properties":{"tenantId":"` + tenant + `","sku":{"family":"A","name":"standard"},"accessPolicies":[]}}`
	want := func(what string, got answer, status int, code string) {
		t.Helper()
		if got.status != status || got.code != code {
			t.Fatalf("%s: %d %s, want %d %s: %s", what, got.status, got.code, status, code, got.text)
		}
	}
	deleted := sub + "/providers/Microsoft.KeyVault/locations/eastus/deletedVaults/keeper"
	want("create", s.call("PUT", in("rg"), body), 201, "")
	want("the name again", s.call("PUT", in("other"), body), 409, "VaultAlreadyExists")
	want("not deleted", s.call("GET", deleted, ""), 404, "DeletedVaultNotFound")
	want("delete", s.call("DELETE", in("rg"), ""), 200, "")
	want("deleted", s.call("GET", deleted, ""), 200, "")
	want("create again", s.call("PUT", in("rg"), body), 409, "ConflictError")
	want("recover", s.call("PUT", in("rg"), `{"location":"eastus","properties":{"createMode":"recover","tenantId":"`+tenant+`","sku":{"family":"A","name":"standard"}}}`), 201, "")
	if got := s.call("GET", in("rg"), ""); got.body["properties"].(map[string]any)["tenantId"] != tenant {
		t.Errorf("recovered: %s", got.text)
	}
	want("delete the group", s.call("DELETE", sub+"/resourceGroups/rg", ""), 202, "")
	want("create in the other group", s.call("PUT", in("other"), body), 409, "ConflictError")
	s.restart()
	want("purge", s.call("POST", deleted+"/purge", ""), 202, "")
	want("create after the purge", s.call("PUT", in("other"), body), 201, "")
}
