package entra

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// program is a directory with an application, whose secret is "s3cret" until a time; the zero time is for ever.
func program(t *testing.T, principal bool, until time.Time) *Service {
	t.Helper()
	s := service(t, nil)
	err := s.store.Update(func(tx *store.Tx) error {
		tx.Put(store.Apps, "app", store.Doc{"id": "app", "appId": "Client"})
		if principal {
			tx.Put(store.Principals, "object", store.Doc{"id": "object", "appId": "Client"})
		}
		credential := store.Doc{"appId": "Client", "sha256": HashSecret("s3cret")}
		if !until.IsZero() {
			credential["endDateTime"] = until.Format(time.RFC3339)
		}
		tx.Put(store.Credentials, "key", credential)
		tx.Put(store.Credentials, "other", store.Doc{"appId": "another", "sha256": HashSecret("theirs")})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asked posts a form to a path of the token service.
func asked(s *Service, path string, form url.Values) (int, wire.Doc) {
	r := httptest.NewRequest(http.MethodPost, "https://login.microsoftonline.com/"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	d := wire.Doc{}
	_ = json.Unmarshal(w.Body.Bytes(), &d)
	return w.Code, d
}

const tokenPath = tenant + "/oauth2/v2.0/token"

func form(pairs ...string) url.Values {
	f := url.Values{"grant_type": {"client_credentials"}, "client_id": {"Client"}, "client_secret": {"s3cret"},
		"scope": {"https://management.azure.com/.default"}}
	for i := 0; i+1 < len(pairs); i += 2 {
		f.Set(pairs[i], pairs[i+1])
	}
	return f
}

// What the token endpoint refuses, and with which number: https://learn.microsoft.com/entra/identity-platform/reference-error-codes.
func TestGrants(t *testing.T) {
	forEver := time.Time{}
	for name, c := range map[string]struct {
		until     time.Time
		principal bool
		path      string
		form      url.Values
		status    int
		code      string
		number    string
	}{
		"a secret":                         {forEver, true, tokenPath, form(), 200, "", ""},
		"in capitals":                      {forEver, true, tokenPath, form("client_id", "CLIENT"), 200, "", ""},
		"by the name for any organization": {forEver, true, "organizations/oauth2/v2.0/token", form(), 200, "", ""},
		"for a resource, the former way": {forEver, true, tenant + "/oauth2/token", form("scope", "", "resource", "https://management.azure.com/"), 200,
			"", ""},
		"beside scopes of people":      {forEver, true, tokenPath, form("scope", "openid profile https://management.azure.com/.default"), 200, "", ""},
		"a secret that is not over":    {today.Add(time.Minute), true, tokenPath, form(), 200, "", ""},
		"a secret that is over":        {today, true, tokenPath, form(), 401, "invalid_client", "7000222"},
		"another secret":               {forEver, true, tokenPath, form("client_secret", "S3cret"), 401, "invalid_client", "7000215"},
		"the secret of another":        {forEver, true, tokenPath, form("client_secret", "theirs"), 401, "invalid_client", "7000215"},
		"nothing to prove it":          {forEver, true, tokenPath, form("client_secret", ""), 401, "invalid_client", "7000218"},
		"a client that is not":         {forEver, true, tokenPath, form("client_id", "none"), 400, "unauthorized_client", "700016"},
		"a client without a principal": {forEver, false, tokenPath, form(), 400, "unauthorized_client", "7000229"},
		"no client":                    {forEver, true, tokenPath, form("client_id", ""), 400, "invalid_request", "900144"},
		"no scope":                     {forEver, true, tokenPath, form("scope", ""), 400, "invalid_scope", "1002012"},
		"a scope of people": {forEver, true, tokenPath, form("scope", "https://management.azure.com/user_impersonation"), 400,
			"invalid_scope", "1002012"},
		"another way to ask":                {forEver, true, tokenPath, form("grant_type", "password"), 400, "unsupported_grant_type", "70003"},
		"another tenant":                    {forEver, true, "33333333-3333-4333-8333-333333333333/oauth2/v2.0/token", form(), 400, "invalid_request", "90002"},
		"an assertion that is none":         {forEver, true, tokenPath, form("client_secret", "", "client_assertion", "word"), 400, "invalid_client", "50027"},
		"a path that is not of the service": {forEver, true, tenant + "/oauth2/v2.0/devicecode", form(), 404, "not_found", ""},
	} {
		status, d := asked(program(t, c.principal, c.until), c.path, c.form)
		description := wire.Text(d, "error_description")
		if status != c.status || wire.Text(d, "error") != c.code || c.number != "" && !strings.HasPrefix(description, "AADSTS"+c.number+": ") {
			t.Errorf("%s: %d %s %s, want %d %s AADSTS%s", name, status, wire.Text(d, "error"), description, c.status, c.code, c.number)
		}
	}
}

// A token is what its reader needs to know: who it stands for, for whom it is, and until when.
func TestTokens(t *testing.T) {
	s := program(t, true, time.Time{})
	key, grant := AppRoleGrant(tenant, "OBJECT", AppRoles[ReadApplications])
	if err := s.store.Update(func(tx *store.Tx) error { tx.Put(store.AppRoles, key, grant); return nil }); err != nil {
		t.Fatal(err)
	}
	_, d := asked(s, tokenPath, form())
	if d["token_type"] != "Bearer" || wire.Number(d, "expires_in") != 3599 || d["resource"] != "https://management.azure.com" {
		t.Errorf("the answer: %v", d)
	}
	caller, err := s.Verify(wire.Text(d, "access_token"), ManagementAudiences, nil)
	if err != nil || caller.ObjectID != "object" || caller.ClientID != "Client" || len(caller.Roles) != 0 {
		t.Errorf("%+v, %v", caller, err)
	}
	if _, err := s.Verify(wire.Text(d, "access_token"), GraphAudiences, nil); err == nil {
		t.Error("a token for the resource manager is good for Microsoft Graph")
	}
	_, d = asked(s, tokenPath, form("scope", "https://graph.microsoft.com/.default"))
	if caller, err := s.Verify(wire.Text(d, "access_token"), GraphAudiences, nil); err != nil || len(caller.Roles) != 1 || caller.Roles[0] != ReadApplications {
		t.Errorf("for Microsoft Graph: %+v, %v", caller, err)
	}
}

// What clients read before they ask for a token: https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc.
func TestDiscovery(t *testing.T) {
	s := service(t, nil)
	get := func(path string) (int, wire.Doc) {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "https://login.microsoftonline.com/"+path, nil))
		d := wire.Doc{}
		_ = json.Unmarshal(w.Body.Bytes(), &d)
		return w.Code, d
	}
	for path, issuer := range map[string]string{tenant + "/v2.0/.well-known/openid-configuration": "https://login.microsoftonline.com/" + tenant + "/v2.0",
		tenant + "/.well-known/openid-configuration": "https://sts.windows.net/" + tenant + "/"} {
		if status, d := get(path); status != 200 || d["issuer"] != issuer || !strings.HasSuffix(wire.Text(d, "token_endpoint"), "/oauth2/v2.0/token") ||
			wire.Text(d, "jwks_uri") == "" {
			t.Errorf("%s: %d %v", path, status, d)
		}
	}
	if status, d := get("common/discovery/instance"); status != 200 || !strings.Contains(wire.Text(d, "tenant_discovery_endpoint"), tenant) {
		t.Errorf("instances: %d %v", status, d)
	}
	status, d := get(tenant + "/discovery/v2.0/keys")
	if keys := wire.Docs(d, "keys"); status != 200 || len(keys) != 1 || keys[0]["use"] != "sig" || keys[0]["d"] != nil {
		t.Errorf("keys: %d %v", status, d)
	}
	if status, _ := get("33333333-3333-4333-8333-333333333333/v2.0/.well-known/openid-configuration"); status != 400 {
		t.Errorf("another tenant: %d", status)
	}
	if status, _ := get(tokenPath); status != 404 {
		t.Errorf("a GET of the token endpoint: %d", status)
	}
}
