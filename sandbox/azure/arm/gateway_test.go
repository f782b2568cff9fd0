package arm

import (
	"cmp"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/pace"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/roles"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/schema"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// What the gateway does behind the door where tokens are checked: no HTTP server, no token, only a transaction.

const (
	subscriptionID = "5a2d0b0e-0000-4000-8000-000000000001"
	inSubscription = "/subscriptions/" + subscriptionID
	inGroup        = inSubscription + "/resourceGroups/rg"
	owner          = "00000000-0000-4000-8000-00000000000a"
	other          = "00000000-0000-4000-8000-00000000000b"
	ownerRole      = "8e3af657-a8ff-443c-a75c-2fe8c4bcb635"
	readerRole     = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
)

// gateway has a resource group, and an owner of the subscription.
func gateway(t testing.TB) *Server {
	t.Helper()
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	s := New(Options{Subscription: subscriptionID, Tenant: "t", Location: "westeurope", PublicIPs: netip.MustParsePrefix("203.0.113.0/24")}, st, nil)
	assign(t, s, owner, ownerRole, inSubscription)
	want(t, s, owner, http.MethodPut, inGroup, wire.Doc{"location": "westeurope"}, http.StatusCreated)
	return s
}

// assign writes a role assignment past all rules.
func assign(t testing.TB, s *Server, principal, role, scope string) {
	t.Helper()
	err := s.store.Update(func(tx *store.Tx) error {
		id := scope + "/providers/" + roles.AssignmentType + "/" + role + principal
		tx.Put(store.ARM, provider.Key(id), wire.Doc{"id": id, "type": roles.AssignmentType, "name": role + principal, "properties": wire.Doc{
			"principalId": principal, "scope": scope, "roleDefinitionId": inSubscription + "/providers/Microsoft.Authorization/roleDefinitions/" + role}})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// define writes a custom role past all rules.
func define(t testing.TB, s *Server, name string, permissions ...any) {
	t.Helper()
	err := s.store.Update(func(tx *store.Tx) error {
		id := inSubscription + "/providers/Microsoft.Authorization/roleDefinitions/" + name
		tx.Put(store.ARM, provider.Key(id), wire.Doc{"id": id, "type": "Microsoft.Authorization/roleDefinitions", "name": name, "properties": wire.Doc{"permissions": permissions}})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// send answers a request as the gateway does once it knows the caller. Headers are pairs of a name and a value.
func send(s *Server, as, method, path string, body wire.Doc, headers ...string) (status int, code string, doc wire.Doc) {
	target, query, _ := strings.Cut(path, "?")
	version := ""
	if p, err := provider.ParsePath(target); err == nil {
		version = cmp.Or(schema.Newest(p.Type), "2021-04-01")
	}
	req := httptest.NewRequest(method, "https://management.azure.com/?api-version="+version+"&"+query, http.NoBody)
	req.URL.Path = target
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	p, err := provider.ParsePath(target)
	if err != nil {
		return http.StatusNotFound, err.Error(), nil
	}
	c := s.call(req, p, store.Clone(body), entra.Principal{ObjectID: as, ClientID: as})
	var out *provider.Reply
	err = s.store.Update(func(tx *store.Tx) error {
		c.Tx = tx
		var err error
		if out, err = c.dispatch(); err == nil && c.Discard {
			err = errDiscarded
		}
		return err
	})
	if errors.Is(err, errDiscarded) {
		err = nil
	}
	var refused *provider.Error
	switch {
	case errors.As(err, &refused):
		return refused.Status, refused.Code, nil
	case err != nil:
		return http.StatusInternalServerError, err.Error(), nil
	}
	doc, _ = out.Body.(wire.Doc)
	return out.Status, "", doc
}

func want(t testing.TB, s *Server, as, method, path string, body wire.Doc, status int, headers ...string) wire.Doc {
	t.Helper()
	got, code, doc := send(s, as, method, path, body, headers...)
	if got != status {
		t.Fatalf("%s %s: %d %s, want %d", method, path, got, code, status)
	}
	return doc
}

// identityID is the id of a managed identity, the simplest kind there is.
func identityID(name string) string {
	return inGroup + "/providers/" + entra.IdentityType + "/" + name
}

var anywhere = wire.Doc{"location": "westeurope"}

func TestConditionalWrites(t *testing.T) {
	const gone, here = false, true
	id := inGroup + "/providers/Microsoft.Network/networkSecurityGroups/one" // a kind that has an etag
	for name, c := range map[string]struct {
		exists         bool
		method, header string
		value          string // "ETAG" is the current one
		want           int
	}{
		"a PUT of what must not be there":          {gone, http.MethodPut, "If-None-Match", "*", http.StatusCreated},
		"a PUT of what is there and must not":      {here, http.MethodPut, "If-None-Match", "*", http.StatusPreconditionFailed},
		"a PUT of what must be there":              {here, http.MethodPut, "If-Match", "*", http.StatusOK},
		"a PUT of what must be there and is not":   {gone, http.MethodPut, "If-Match", "*", http.StatusPreconditionFailed},
		"a PUT with the etag":                      {here, http.MethodPut, "If-Match", "ETAG", http.StatusOK},
		"a PUT with another etag":                  {here, http.MethodPut, "If-Match", `W/"old"`, http.StatusPreconditionFailed},
		"a PATCH with the etag":                    {here, http.MethodPatch, "If-Match", "ETAG", http.StatusOK},
		"a PATCH with another etag":                {here, http.MethodPatch, "If-Match", `W/"old"`, http.StatusPreconditionFailed},
		"a DELETE with the etag":                   {here, http.MethodDelete, "If-Match", "ETAG", http.StatusAccepted},
		"a DELETE with another etag":               {here, http.MethodDelete, "If-Match", `W/"old"`, http.StatusPreconditionFailed},
		"a DELETE of what is not there, any etag":  {gone, http.MethodDelete, "If-Match", `W/"old"`, http.StatusNoContent},
		"a DELETE ignores If-None-Match":           {here, http.MethodDelete, "If-None-Match", "*", http.StatusAccepted},
		"a PATCH of what is not there is no write": {gone, http.MethodPatch, "If-Match", "*", http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s, value := gateway(t), c.value
			before := wire.Doc{}
			if c.exists {
				before = want(t, s, owner, http.MethodPut, id, anywhere, http.StatusCreated)
			}
			if value == "ETAG" {
				value = wire.Text(before, "etag")
			}
			body := anywhere
			if c.method == http.MethodPatch {
				body = wire.Doc{"tags": wire.Doc{"a": "b"}}
			}
			want(t, s, owner, c.method, id, body, c.want, c.header, value)
			_, _, after := send(s, owner, http.MethodGet, id, nil)
			if c.want == http.StatusPreconditionFailed && wire.Text(after, "etag") != wire.Text(before, "etag") {
				t.Errorf("a refused write changed the etag from %q to %q", wire.Text(before, "etag"), wire.Text(after, "etag"))
			}
			if c.want == http.StatusOK && c.method != http.MethodDelete && wire.Text(after, "etag") == wire.Text(before, "etag") {
				t.Error("a write left the etag as it was: a second writer would not be noticed")
			}
		})
	}
}

func TestConflictsOfAWrite(t *testing.T) {
	s := gateway(t)
	want(t, s, owner, http.MethodPut, identityID("one"), anywhere, http.StatusCreated)
	want(t, s, owner, http.MethodPut, identityID("ONE"), anywhere, http.StatusOK) // ids ignore case
	for name, c := range map[string]struct {
		path, code string
		body       wire.Doc
		status     int
	}{
		"another region":           {identityID("one"), "InvalidResourceLocation", wire.Doc{"location": "northeurope"}, http.StatusConflict},
		"a group in another":       {inGroup, "InvalidResourceGroupLocation", wire.Doc{"location": "northeurope"}, http.StatusConflict},
		"no region":                {identityID("two"), "LocationRequired", wire.Doc{}, http.StatusBadRequest},
		"an unknown region":        {identityID("two"), "LocationNotAvailableForResourceType", wire.Doc{"location": "atlantis"}, http.StatusBadRequest},
		"a missing group":          {strings.Replace(identityID("two"), "/rg/", "/none/", 1), "ResourceGroupNotFound", anywhere, http.StatusNotFound},
		"a missing parent":         {identityID("none") + "/federatedIdentityCredentials/abc", "ParentResourceNotFound", wire.Doc{}, http.StatusNotFound},
		"a name that is not taken": {identityID("-"), "InvalidResourceName", anywhere, http.StatusBadRequest},
		"a collection":             {inGroup + "/providers/" + entra.IdentityType, "InvalidResourceName", anywhere, http.StatusBadRequest},
	} {
		status, code, _ := send(s, owner, http.MethodPut, c.path, c.body)
		if status != c.status || code != c.code {
			t.Errorf("%s: %d %s, want %d %s", name, status, code, c.status, c.code)
		}
	}
	// "West Europe" is westeurope: no other region, and no move.
	want(t, s, owner, http.MethodPut, identityID("one"), wire.Doc{"location": "West Europe"}, http.StatusOK)
}

// The answer to a creation shows that it is under way, a GET meanwhile that the resource is being changed, and one afterwards its end.
func TestOperationInProgress(t *testing.T) {
	s := gateway(t)
	var err error
	if s.Pace, err = pace.New(pace.Fast, time.Hour, 0); err != nil {
		t.Fatal(err)
	}
	network := inGroup + "/providers/Microsoft.Network/virtualNetworks/vnet"
	body := wire.Doc{"location": "westeurope", "properties": wire.Doc{"addressSpace": wire.Doc{"addressPrefixes": []any{"10.0.0.0/16"}}}}
	state := func(d wire.Doc) string { return wire.Text(wire.Props(d), "provisioningState") }
	if got := state(want(t, s, owner, http.MethodPut, network, body, http.StatusCreated)); got != "Updating" {
		t.Errorf("the answer shows %s", got)
	}
	if got := state(want(t, s, owner, http.MethodGet, network, nil, http.StatusOK)); got != "Updating" {
		t.Errorf("while the operation runs: %s", got)
	}
	if got := state(want(t, s, owner, http.MethodPut, network, body, http.StatusOK)); got != "Updating" {
		t.Errorf("the answer to an update shows %s", got)
	}
	s.Pace = pace.Profile{}
	want(t, s, owner, http.MethodPut, network, body, http.StatusOK)
	if got := state(want(t, s, owner, http.MethodGet, network, nil, http.StatusOK)); got != "Succeeded" {
		t.Errorf("after the operation: %s", got)
	}
	want(t, s, owner, http.MethodDelete, network, nil, http.StatusAccepted)
	want(t, s, owner, http.MethodGet, network, nil, http.StatusNotFound)
}

func TestPolls(t *testing.T) {
	const at = "https://management.azure.com" + inSubscription + "/providers/Microsoft.Network/locations/westeurope/"
	past, future := "1", "99999999999999"
	for name, c := range map[string]struct {
		method, what, query string
		status              int // 0: it is no poll
		state               string
	}{
		"running":             {http.MethodGet, "operations/o", "t=" + future, http.StatusOK, "InProgress"},
		"done":                {http.MethodGet, "operations/o", "t=" + past, http.StatusOK, "Succeeded"},
		"failed":              {http.MethodGet, "operations/o", "t=" + past + "&code=Broken&message=m", http.StatusOK, "Failed"},
		"fails later":         {http.MethodGet, "operations/o", "t=" + future + "&code=Broken&message=m", http.StatusOK, "InProgress"},
		"result, running":     {http.MethodGet, "operationResults/o", "t=" + future, http.StatusAccepted, ""},
		"result, done":        {http.MethodGet, "operationResults/o", "t=" + past, http.StatusNoContent, ""},
		"result, failed":      {http.MethodGet, "operationResults/o", "t=" + past + "&code=Broken&message=m", http.StatusConflict, ""},
		"result, fails later": {http.MethodGet, "operationResults/o", "t=" + future + "&code=Broken&message=m", http.StatusAccepted, ""},
		"no operation":        {http.MethodGet, "usages/o", "t=" + past, 0, ""},
		"no time":             {http.MethodGet, "operations/o", "", 0, ""},
		"no reading":          {http.MethodDelete, "operations/o", "t=" + past, 0, ""},
		"longer than a poll":  {http.MethodGet, "operations/o/x", "t=" + past, 0, ""},
		"the case is ignored": {http.MethodGet, "OPERATIONS/o", "t=" + past, http.StatusOK, "Succeeded"},
	} {
		t.Run(name, func(t *testing.T) {
			out := gateway(t).operation(httptest.NewRequest(c.method, at+c.what+"?api-version=2024-01-01&"+c.query, http.NoBody))
			if c.status == 0 {
				if out != nil {
					t.Errorf("answered %d", out.Status)
				}
				return
			}
			if out == nil || out.Status != c.status {
				t.Fatalf("got %+v, want %d", out, c.status)
			}
			if d, _ := out.Body.(wire.Doc); c.state != "" && d["status"] != c.state {
				t.Errorf("status %v, want %s", d["status"], c.state)
			}
			if more := c.state == "InProgress" || c.status == http.StatusAccepted; more != (out.Header.Get("Retry-After") != "") {
				t.Errorf("Retry-After is %q", out.Header.Get("Retry-After"))
			}
		})
	}
}

func TestOneWriteAtATime(t *testing.T) {
	s := gateway(t)
	kind := s.kinds.Of(entra.CredentialType)
	begin := func(method, path string) (func(), error) {
		p, err := provider.ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		return s.writes.begin(httptest.NewRequest(method, "https://management.azure.com/", http.NoBody), p, kind)
	}
	must := func(method, path string) func() {
		t.Helper()
		end, err := begin(method, path)
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	a, b := identityID("one")+"/federatedIdentityCredentials/a", identityID("one")+"/federatedIdentityCredentials/b"
	end := must(http.MethodPut, a)
	for _, path := range []string{a, b, strings.ToUpper(b[:len(b)-1]) + "c"} {
		var refused *provider.Error
		if _, err := begin(http.MethodDelete, path); !errors.As(err, &refused) || refused.Status != http.StatusConflict {
			t.Errorf("%s during a write: %v, want a conflict", path, err)
		}
	}
	must(http.MethodGet, a)() // to read is no write
	must(http.MethodPut, identityID("two")+"/federatedIdentityCredentials/a")()
	end()
	must(http.MethodPut, b)()
}
