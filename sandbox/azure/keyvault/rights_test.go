package keyvault

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
)

const version = "0123456789abcdef0123456789abcdef"

// Each request needs one permission of keys or of secrets; the names are those of Microsoft's table of access policies.
func TestPermissionOfEveryRequest(t *testing.T) {
	every := []string{"get", "list", "create", "set", "update", "delete", "recover", "purge", "rotate", "encrypt", "decrypt", "wrapKey", "unwrapKey"}
	for request, needs := range map[[2]string][2]string{
		{http.MethodGet, "/keys"}:                              {"keys", "list"},
		{http.MethodGet, "/keys/k"}:                            {"keys", "get"},
		{http.MethodGet, "/keys/k/" + version}:                 {"keys", "get"},
		{http.MethodGet, "/keys/k/versions"}:                   {"keys", "list"},
		{http.MethodPost, "/keys/k/create"}:                    {"keys", "create"},
		{http.MethodPost, "/keys/k/rotate"}:                    {"keys", "rotate"},
		{http.MethodPatch, "/keys/k/" + version}:               {"keys", "update"},
		{http.MethodDelete, "/keys/k"}:                         {"keys", "delete"},
		{http.MethodPost, "/keys/k/encrypt"}:                   {"keys", "encrypt"},
		{http.MethodPost, "/keys/k/" + version + "/decrypt"}:   {"keys", "decrypt"},
		{http.MethodPost, "/keys/k/" + version + "/wrapkey"}:   {"keys", "wrapKey"},
		{http.MethodPost, "/keys/k/" + version + "/UNWRAPKEY"}: {"keys", "unwrapKey"},
		{http.MethodGet, "/deletedkeys"}:                       {"keys", "list"},
		{http.MethodPost, "/deletedkeys/k/recover"}:            {"keys", "recover"},
		{http.MethodDelete, "/deletedkeys/k"}:                  {"keys", "purge"},
		{http.MethodGet, "/secrets"}:                           {"secrets", "list"},
		{http.MethodGet, "/secrets/s"}:                         {"secrets", "get"},
		{http.MethodPut, "/secrets/s"}:                         {"secrets", "set"},
		{http.MethodPatch, "/secrets/s"}:                       {"secrets", "set"},
		{http.MethodDelete, "/secrets/s"}:                      {"secrets", "delete"},
		{http.MethodGet, "/deletedsecrets/s"}:                  {"secrets", "get"},
		{http.MethodDelete, "/deletedsecrets/s"}:               {"secrets", "purge"},
	} {
		c := &call{Service: &Service{}, req: httptest.NewRequest(request[0], "https://v.vault.azure.net"+request[1]+"?api-version=7.4", http.NoBody)}
		op, err := c.route()
		if err != nil {
			t.Errorf("%v: %v", request, err)
			continue
		}
		may := func(plural, objectID, permission string) bool {
			c.vault = Doc{"properties": Doc{"accessPolicies": []any{Doc{"objectId": "SOMEBODY", "permissions": Doc{plural: []any{permission}}}}}}
			return c.policies(op, entra.Principal{ObjectID: objectID}) == nil
		}
		for _, permission := range every {
			for _, plural := range []string{"keys", "secrets"} {
				if want := plural == needs[0] && permission == needs[1]; may(plural, "somebody", permission) != want {
					t.Errorf("%v with the permission %s of %s: allowed %v, want %v", request, permission, plural, !want, want)
				}
			}
		}
		if !may(needs[0], "somebody", "all") || may(needs[0], "another", "all") {
			t.Errorf("%v: all of %s is for whom the policy names, and for nobody else", request, needs[0])
		}
	}
}

func TestWhatAVaultDoesNotServe(t *testing.T) {
	for _, request := range [][2]string{{http.MethodPut, "/keys/k"}, {http.MethodGet, "/certificates"}, {http.MethodGet, "/"}, {http.MethodPost, "/keys/k/sign"}, {http.MethodDelete, "/secrets"}} {
		c := &call{Service: &Service{}, req: httptest.NewRequest(request[0], "https://v.vault.azure.net"+request[1]+"?api-version=7.4", http.NoBody)}
		if op, err := c.route(); err == nil {
			t.Errorf("%v is taken for an operation that needs %s", request, op.permission)
		}
	}
	if _, err := (&call{Service: &Service{}, req: httptest.NewRequest(http.MethodGet, "https://v.vault.azure.net/keys", http.NoBody)}).route(); err == nil {
		t.Error("no api-version")
	}
}
