package graph

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const (
	tenant     = "22222222-2222-4222-8222-222222222222"
	identityID = "33333333-3333-4333-8333-333333333333"
)

// directory has a managed identity and nothing else.
func directory(t *testing.T) *Service {
	t.Helper()
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	err = st.Update(func(tx *store.Tx) error {
		tx.Put(store.ARM, "/mi", Doc{"id": "/mi", "name": "one", "type": entra.IdentityType,
			"properties": Doc{"principalId": identityID, "clientId": "client-of-one"}})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return New(st, nil, tenant)
}

// send asks as a program with app roles; it owns what it makes.
func send(t *testing.T, s *Service, roles []string, method, path, body string) (status int, code string, doc Doc) {
	t.Helper()
	path, query, _ := strings.Cut(path, "?")
	c := call{Service: s, segs: strings.Split(path, "/"), body: Doc{}, caller: entra.Principal{ObjectID: "me", ClientID: "my-client", Roles: roles}}
	c.req = httptest.NewRequest(method, "https://graph.microsoft.com/v1.0/x?"+query, http.NoBody)
	if body != "" {
		if err := json.Unmarshal([]byte(body), &c.body); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
	}
	var out *result
	err := s.store.Update(func(tx *store.Tx) error {
		c.tx = tx
		var err error
		out, err = c.dispatch()
		return err
	})
	var refused *graphError
	if errors.As(err, &refused) {
		return refused.status, refused.code, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	doc, _ = out.body.(Doc)
	return out.status, "", doc
}

var all = []string{entra.WriteApplications, entra.AssignAppRoles, entra.ReadDirectory}

func want(t *testing.T, s *Service, method, path, body string, status int, code string) Doc {
	t.Helper()
	got, gotCode, doc := send(t, s, all, method, path, body)
	if got != status || gotCode != code {
		t.Errorf("%s %s %s: %d %s, want %d %s", method, path, body, got, gotCode, status, code)
	}
	return doc
}

// application makes one with its service principal, and returns the object ids of both and the client id.
func application(t *testing.T, s *Service, name string) (app, principal, appID string) {
	t.Helper()
	d := want(t, s, http.MethodPost, "applications", `{"displayName":"`+name+`"}`, 201, "")
	appID = wire.Text(d, "appId")
	sp := want(t, s, http.MethodPost, "servicePrincipals", `{"appId":"`+appID+`"}`, 201, "")
	return wire.Text(d, "id"), wire.Text(sp, "id"), appID
}

const bad, gone, taken = "Request_BadRequest", "Request_ResourceNotFound", "Request_MultipleObjectsWithSameKeyValue"

// Applications: https://learn.microsoft.com/graph/api/resources/application.
func TestApplications(t *testing.T) {
	s := directory(t)
	want(t, s, http.MethodPost, "applications", `{}`, 400, bad)
	app, principal, appID := application(t, s, "one")
	if app == appID || app == principal {
		t.Error("the ids of an application, of its client and of its principal are three")
	}
	want(t, s, http.MethodPost, "servicePrincipals", `{"appId":"`+appID+`"}`, 409, taken)
	want(t, s, http.MethodPost, "servicePrincipals", `{"appId":"none"}`, 400, bad)
	for path, id := range map[string]string{"applications/" + app: app, "applications(appId='" + appID + "')": app,
		"servicePrincipals(appId='" + strings.ToUpper(appID) + "')": principal,
		"servicePrincipals/" + identityID:                           identityID, "servicePrincipals(appId='client-of-one')": identityID} {
		if d := want(t, s, http.MethodGet, path, "", 200, ""); wire.Text(d, "id") != id {
			t.Errorf("%s is %v", path, d["id"])
		}
	}
	for _, path := range []string{"applications/none", "applications(appId='none')", "applications(id='" + app + "')", "servicePrincipals/" + app,
		"applications/" + app + "/nothing", "users/none"} {
		want(t, s, http.MethodGet, path, "", 404, gone)
	}
	want(t, s, http.MethodPut, "applications", `{}`, 405, bad)
	want(t, s, http.MethodGet, "devices", "", 501, wire.NotServedCode)
	want(t, s, http.MethodPatch, "applications/"+app, `{"displayName":"two","tags":["x"]}`, 204, "")
	for _, fixed := range []string{"id", "appId", "createdDateTime"} {
		want(t, s, http.MethodPatch, "applications/"+app, `{"`+fixed+`":"mine"}`, 400, bad)
	}
	if d := want(t, s, http.MethodGet, "applications/"+app, "", 200, ""); d["displayName"] != "two" || d["appId"] != appID || d["owners"] != nil {
		t.Errorf("after the change: %v", d)
	}
	want(t, s, http.MethodDelete, "applications/"+app, "", 204, "")
	want(t, s, http.MethodGet, "servicePrincipals/"+principal, "", 404, gone) // goes with its application
	want(t, s, http.MethodDelete, "applications/"+app, "", 404, gone)
}

// Managed identities show as service principals, and are changed where they come from.
func TestManagedIdentitiesInTheDirectory(t *testing.T) {
	s := directory(t)
	d := want(t, s, http.MethodGet, "servicePrincipals/"+strings.ToUpper(identityID), "", 200, "")
	if d["servicePrincipalType"] != "ManagedIdentity" || d["displayName"] != "one" || d["appId"] != "client-of-one" {
		t.Errorf("an identity: %v", d)
	}
	at := "servicePrincipals/" + identityID
	for _, r := range [][3]string{{http.MethodPatch, at, `{"displayName":"other"}`}, {http.MethodDelete, at, ""}, {http.MethodPost, at + "/addPassword", `{}`},
		{http.MethodPost, at + "/removePassword", `{"keyId":"x"}`}, {http.MethodPost, at + "/federatedIdentityCredentials", `{"name":"f"}`}} {
		want(t, s, r[0], r[1], r[2], 400, bad)
	}
	want(t, s, http.MethodGet, at, "", 200, "")
}

// Secrets are told once: https://learn.microsoft.com/graph/api/application-addpassword.
func TestPasswords(t *testing.T) {
	s := directory(t)
	app, _, appID := application(t, s, "one")
	credentials := func() (n int) {
		s.store.View(func(tx *store.Tx) {
			for _, r := range tx.Scan(store.Credentials, "") {
				if wire.Text(r.Doc, "appId") == appID {
					n++
				}
			}
		})
		return n
	}
	first := want(t, s, http.MethodPost, "applications/"+app+"/addPassword",
		`{"passwordCredential":{"displayName":"ci","endDateTime":"2030-01-01T00:00:00Z"}}`, 200, "")
	second := want(t, s, http.MethodPost, "applications/"+app+"/addPassword", `{}`, 200, "")
	secret, key := wire.Text(first, "secretText"), wire.Text(first, "keyId")
	if len(secret) < 30 || secret == wire.Text(second, "secretText") || first["displayName"] != "ci" || first["endDateTime"] != "2030-01-01T00:00:00Z" ||
		!strings.HasPrefix(secret, wire.Text(first, "hint")) {
		t.Errorf("a secret: %v", first)
	}
	d := want(t, s, http.MethodGet, "applications/"+app, "", 200, "")
	if text, _ := json.Marshal(d); strings.Contains(string(text), secret) || len(wire.Docs(d, "passwordCredentials")) != 2 || credentials() != 2 {
		t.Errorf("the application afterwards: %s", text)
	}
	want(t, s, http.MethodPost, "applications/"+app+"/removePassword", `{"keyId":"none"}`, 400, bad)
	want(t, s, http.MethodPost, "applications/"+app+"/removePassword", `{"keyId":"`+key+`"}`, 204, "")
	if left := wire.Docs(want(t, s, http.MethodGet, "applications/"+app, "", 200, ""), "passwordCredentials"); len(left) != 1 ||
		wire.Text(left[0], "keyId") == key || credentials() != 1 {
		t.Errorf("left: %v", left)
	}
	want(t, s, http.MethodDelete, "applications/"+app, "", 204, "")
	if credentials() != 0 {
		t.Error("secrets outlive their application")
	}
}

// Credentials of applications: https://learn.microsoft.com/graph/api/application-post-federatedidentitycredentials.
func TestFederatedCredentials(t *testing.T) {
	s := directory(t)
	app, _, _ := application(t, s, "one")
	at := "applications/" + app + "/federatedIdentityCredentials"
	credential := func(name, issuer, subject, audiences string) string {
		return `{"name":"` + name + `","issuer":"` + issuer + `","subject":"` + subject + `","audiences":[` + audiences + `]}`
	}
	for _, body := range []string{credential("", "i", "s", `"a"`), credential("f", "", "s", `"a"`), credential("f", "i", "", `"a"`),
		credential("f", "i", "s", ""), credential("f", "i", "s", `"a","b"`)} {
		want(t, s, http.MethodPost, at, body, 400, bad)
	}
	made := want(t, s, http.MethodPost, at, credential("f", "i", "s", `"a"`), 201, "")
	want(t, s, http.MethodPost, at, credential("f", "j", "t", `"a"`), 409, taken)
	want(t, s, http.MethodPost, at, credential("g", "i", "s", `"b"`), 409, taken)
	want(t, s, http.MethodPost, at, credential("g", "i", "t", `"a"`), 201, "")
	if list := wire.Docs(want(t, s, http.MethodGet, at, "", 200, ""), "value"); len(list) != 2 || wire.Text(made, "id") == "" || list[0]["id"] != made["id"] {
		t.Errorf("made %v, listed %v", made, list)
	}
	want(t, s, http.MethodDelete, at+"/"+wire.Text(made, "id"), "", 204, "")
	want(t, s, http.MethodDelete, at+"/g", "", 204, "") // the name does as well as the id
	if list := wire.Docs(want(t, s, http.MethodGet, at, "", 200, ""), "value"); len(list) != 0 {
		t.Errorf("left: %v", list)
	}
}

// App roles are given and taken: https://learn.microsoft.com/graph/api/serviceprincipal-post-approleassignments.
func TestAppRoleAssignments(t *testing.T) {
	s := directory(t)
	_, one, _ := application(t, s, "one")
	_, two, _ := application(t, s, "two")
	graph, role := entra.GraphPrincipalID(tenant), entra.AppRoles[entra.ReadApplications]
	body := func(principal, resource, role string) string {
		return `{"principalId":"` + principal + `","resourceId":"` + resource + `","appRoleId":"` + role + `"}`
	}
	at := func(principal string) string { return "servicePrincipals/" + principal + "/appRoleAssignments" }
	for _, wrong := range []string{body(two, graph, role), body(one, one, role), body(one, graph, "none")} {
		want(t, s, http.MethodPost, at(one), wrong, 400, bad)
	}
	made := want(t, s, http.MethodPost, at(one), body(one, graph, role), 201, "")
	want(t, s, http.MethodPost, at(one), body(one, graph, role), 400, bad) // once is enough
	want(t, s, http.MethodPost, at(identityID), body(identityID, graph, role), 201, "")
	want(t, s, http.MethodDelete, at(two)+"/"+wire.Text(made, "id"), "", 404, gone) // it is not theirs
	if list := wire.Docs(want(t, s, http.MethodGet, at(one), "", 200, ""), "value"); len(list) != 1 || list[0]["appRoleId"] != role {
		t.Errorf("roles: %v", list)
	}
	want(t, s, http.MethodDelete, at(one)+"/"+wire.Text(made, "id"), "", 204, "")
	want(t, s, http.MethodDelete, at(one)+"/"+wire.Text(made, "id"), "", 404, gone)
}

// Who may what by app roles alone: https://learn.microsoft.com/graph/permissions-reference.
func TestAppRolesDecide(t *testing.T) {
	s := directory(t)
	others, _, _ := application(t, s, "others")
	err := s.store.Update(func(tx *store.Tx) error { tx.Edit(store.Apps, others)[owners] = []any{"somebody"}; return nil })
	if err != nil {
		t.Fatal(err)
	}
	own, _, ownID := application(t, s, "own")
	for name, c := range map[string]struct {
		role, method, path, body string
		status                   int
	}{
		"nothing: to list":                 {"", http.MethodGet, "applications", "", 403},
		"nothing: what is not there":       {"", http.MethodGet, "applications/none", "", 404},
		"nothing: to make":                 {"", http.MethodPost, "applications", `{"displayName":"x"}`, 403},
		"reader: to list":                  {entra.ReadApplications, http.MethodGet, "applications", "", 200},
		"reader: to make":                  {entra.ReadApplications, http.MethodPost, "applications", `{"displayName":"x"}`, 403},
		"reader: to change its own":        {entra.ReadApplications, http.MethodPatch, "applications/" + own, `{"tags":[]}`, 403},
		"directory reader: to list":        {entra.ReadDirectory, http.MethodGet, "servicePrincipals", "", 200},
		"directory reader: users":          {entra.ReadDirectory, http.MethodGet, "users", "", 200},
		"application reader: users":        {entra.ReadApplications, http.MethodGet, "users", "", 403},
		"owner: to make":                   {entra.WriteOwn, http.MethodPost, "applications", `{"displayName":"x"}`, 201},
		"owner: to change its own":         {entra.WriteOwn, http.MethodPatch, "applications/" + own, `{"tags":[]}`, 204},
		"owner: to change that of others":  {entra.WriteOwn, http.MethodPatch, "applications/" + others, `{"tags":[]}`, 403},
		"owner: to delete that of others":  {entra.WriteOwn, http.MethodDelete, "applications/" + others, "", 403},
		"owner: a secret for its own":      {entra.WriteOwn, http.MethodPost, "applications/" + own + "/addPassword", `{}`, 200},
		"owner: a secret for others":       {entra.WriteOwn, http.MethodPost, "applications/" + others + "/addPassword", `{}`, 403},
		"owner: a second principal":        {entra.WriteOwn, http.MethodPost, "servicePrincipals", `{"appId":"` + ownID + `"}`, 409},
		"owner: a principal of no one":     {entra.WriteOwn, http.MethodPost, "servicePrincipals", `{"appId":"none"}`, 403},
		"writer: to change that of others": {entra.WriteApplications, http.MethodPatch, "applications/" + others, `{"tags":[]}`, 204},
		"writer: to give roles":            {entra.WriteApplications, http.MethodPost, "servicePrincipals/" + identityID + "/appRoleAssignments", `{}`, 403},
		"assigner: to give a wrong role":   {entra.AssignAppRoles, http.MethodPost, "servicePrincipals/" + identityID + "/appRoleAssignments", `{}`, 400},
		"assigner: to change":              {entra.AssignAppRoles, http.MethodPatch, "applications/" + own, `{"tags":[]}`, 403},
	} {
		var roles []string
		if c.role != "" {
			roles = []string{c.role}
		}
		if status, code, _ := send(t, s, roles, c.method, c.path, c.body); status != c.status || (status == 403) != (code == "Authorization_RequestDenied") {
			t.Errorf("%s: %d %s, want %d", name, status, code, c.status)
		}
	}
}

// Owners: https://learn.microsoft.com/graph/api/application-post-owners.
func TestOwners(t *testing.T) {
	s := directory(t)
	app, _, _ := application(t, s, "one")
	at := "applications/" + app + "/owners"
	want(t, s, http.MethodPost, at+"/$ref", `{"@odata.id":"https://graph.microsoft.com/v1.0/directoryObjects/`+identityID+`"}`, 204, "")
	want(t, s, http.MethodPost, at, `{}`, 400, bad)
	if list := wire.Docs(want(t, s, http.MethodGet, at, "", 200, ""), "value"); len(list) != 1 || list[0]["id"] != identityID {
		t.Errorf("owners: %v", list)
	}
	want(t, s, http.MethodPatch, "applications/"+app, `{"owners":["thief"],"tags":[]}`, 204, "") // nobody becomes one by a change
	if list := wire.Docs(want(t, s, http.MethodGet, at, "", 200, ""), "value"); len(list) != 1 {
		t.Errorf("owners after a change: %v", list)
	}
	got := want(t, s, http.MethodPost, "directoryObjects/getByIds", `{"ids":["`+identityID+`","none"]}`, 200, "")
	if list := wire.Docs(got, "value"); len(list) != 1 || list[0]["@odata.type"] != "#microsoft.graph.servicePrincipal" {
		t.Errorf("by ids: %v", got)
	}
}

// Filters: https://learn.microsoft.com/graph/filter-query-parameter.
func TestFilters(t *testing.T) {
	s := directory(t)
	for _, name := range []string{"one", "One and two", "it's", "three or four"} {
		application(t, s, name)
	}
	for filter, names := range map[string]string{
		"": "one|One and two|it's|three or four", "displayName eq 'ONE'": "one", "startswith(displayName, 'one')": "one|One and two",
		"displayName eq 'it''s'":       "it's",
		"displayName eq 'One and two'": "One and two", "displayName eq 'three or four' or displayName eq 'one'": "one|three or four",
		"displayName eq 'one' and startswith(displayName,'t')": "", "startswith(displayName,'one') and displayName eq 'One and two'": "One and two",
		"displayName eq 'none'": "", "identifierUris/any(x:x eq 'api://none')": "",
	} {
		var got []string
		for _, d := range wire.Docs(want(t, s, http.MethodGet, "applications?$filter="+url.QueryEscape(filter), "", 200, ""), "value") {
			got = append(got, wire.Text(d, "displayName"))
		}
		if strings.Join(got, "|") != names {
			t.Errorf("%q selects %v, want %s", filter, got, names)
		}
	}
	for _, filter := range []string{"displayName ne 'one'", "displayName eq one", "contains(displayName,'one')", "displayName eq 'one' and"} {
		want(t, s, http.MethodGet, "applications?$filter="+url.QueryEscape(filter), "", 400, bad)
	}
	list := wire.Docs(want(t, s, http.MethodGet, "servicePrincipals?$filter="+url.QueryEscape("servicePrincipalNames/any(n:n eq 'client-of-one')"), "", 200,
		""), "value")
	if len(list) != 1 || list[0]["id"] != identityID {
		t.Errorf("by a name: %v", list)
	}
}
