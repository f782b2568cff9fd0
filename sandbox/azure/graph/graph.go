// Package graph is the part of Microsoft Graph that deals with applications and service principals. Managed identities are visible as
// service principals, as in Azure.
package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Doc is a JSON object.
type Doc = store.Doc

// Service is the http.Handler of graph.microsoft.com. Who calls it needs app roles of Microsoft Graph; directory roles are not known.
type Service struct {
	store    *store.Store
	identity *entra.Service
	tenant   string
}

// New makes the service.
func New(s *store.Store, identity *entra.Service, tenant string) *Service {
	return &Service{store: s, identity: identity, tenant: tenant}
}

type graphError struct {
	status        int
	code, message string
}

func (e *graphError) Error() string { return e.code + ": " + e.message }

func missing(what string) error {
	return &graphError{http.StatusNotFound, "Request_ResourceNotFound", fmt.Sprintf("Resource '%s' does not exist or one of its queried reference-property objects are not present.", what)}
}

func invalid(format string, args ...any) error {
	return &graphError{http.StatusBadRequest, "Request_BadRequest", fmt.Sprintf(format, args...)}
}

// call is one request.
type call struct {
	*Service
	tx     *store.Tx
	req    *http.Request
	caller entra.Principal
	segs   []string // after the version: applications, id, addPassword
	body   Doc
}

// result of a call; a nil body means no content.
type result struct {
	status int
	body   any
}

func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("request-id", uuid.NewString())
	out, err := s.handle(r)
	if err != nil {
		e := &graphError{http.StatusInternalServerError, "InternalServerError", err.Error()}
		errors.As(err, &e)
		wire.JSON(w, e.status, Doc{"error": Doc{"code": e.code, "message": e.message, "innerError": Doc{"request-id": uuid.NewString(), "date": time.Now().UTC().Format(time.RFC3339)}}})
		return
	}
	if out.body == nil {
		w.WriteHeader(out.status)
		return
	}
	wire.JSON(w, out.status, out.body)
}

func (s *Service) handle(r *http.Request) (*result, error) {
	raw, ok := wire.Bearer(r)
	if !ok {
		return nil, &graphError{http.StatusUnauthorized, "InvalidAuthenticationToken", "Access token is empty."}
	}
	caller, err := s.identity.Verify(raw, entra.GraphAudiences, nil)
	if err != nil {
		return nil, &graphError{http.StatusUnauthorized, "InvalidAuthenticationToken", err.Error()}
	}
	access.SetPrincipal(r.Context(), caller.ClientID)
	segs := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(segs) < 2 || segs[0] != "v1.0" && segs[0] != "beta" {
		return nil, invalid("Resource not found for the segment '%s'.", r.URL.Path)
	}
	c := call{Service: s, req: r, caller: caller, segs: segs[1:], body: Doc{}}
	data, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return nil, invalid("reading the request: %v", err)
	}
	if len(data) > 0 && json.Unmarshal(data, &c.body) != nil {
		return nil, invalid("Unable to read JSON request payload.")
	}
	if c.body == nil { // null
		c.body = Doc{}
	}
	var out *result
	err = s.store.Update(func(tx *store.Tx) error {
		c.tx = tx
		var err error
		out, err = c.dispatch()
		return err
	})
	return out, err
}

func (c *call) dispatch() (*result, error) {
	if err := c.byAppID(); err != nil {
		return nil, err
	}
	switch strings.ToLower(c.segs[0]) {
	case "applications":
		return c.objects(store.Apps)
	case "serviceprincipals":
		return c.objects(store.Principals)
	case "directoryobjects":
		return c.directoryObjects()
	case "organization":
		if !c.has(wholeDirectory) {
			return nil, errDenied
		}
		return &result{http.StatusOK, Doc{"value": []any{Doc{"id": c.tenant, "displayName": "Sandbox"}}}}, nil
	case "users", "groups", "domains":
		if !c.has(wholeDirectory) {
			return nil, errDenied
		}
		if len(c.segs) == 1 {
			return &result{http.StatusOK, Doc{"value": []any{}}}, nil
		}
		return nil, missing(strings.Join(c.segs, "/"))
	}
	return nil, &graphError{wire.NotServedStatus, wire.NotServedCode, wire.NotServed("'" + strings.Join(c.segs, "/") + "' of Microsoft Graph")}
}

// byAppID turns applications(appId='...'), the other way to name an object, into the common one.
func (c *call) byAppID() error {
	collection, rest, ok := strings.Cut(c.segs[0], "(")
	if !ok {
		return nil
	}
	key, value, _ := strings.Cut(strings.TrimSuffix(rest, ")"), "=")
	tables := map[string]store.Table{"applications": store.Apps, "serviceprincipals": store.Principals}
	t, known := tables[strings.ToLower(collection)]
	if !known || !strings.EqualFold(key, "appId") {
		return missing(c.segs[0])
	}
	for _, d := range c.all(t) {
		if strings.EqualFold(wire.Text(d, "appId"), strings.Trim(value, "'")) {
			c.segs = append([]string{collection, wire.Text(d, "id")}, c.segs[1:]...)
			return nil
		}
	}
	return missing(c.segs[0])
}

// objects serves a collection, its members and their actions.
func (c *call) objects(t store.Table) (*result, error) {
	if err := c.authorize(t); err != nil {
		return nil, err
	}
	delete(c.body, owners)
	if len(c.segs) == 1 {
		switch c.req.Method {
		case http.MethodGet:
			return c.listObjects(t)
		case http.MethodPost:
			return c.create(t)
		}
		return nil, &graphError{http.StatusMethodNotAllowed, "Request_BadRequest", "Specified HTTP method is not allowed for the request target."}
	}
	id := strings.ToLower(c.segs[1])
	if len(c.segs) == 2 {
		return c.object(t, id)
	}
	if c.find(t, id) == nil {
		return nil, missing(c.segs[1])
	}
	return c.member(t, id, c.segs[2])
}

func (c *call) listObjects(t store.Table) (*result, error) {
	match, err := parseFilter(c.req.URL.Query().Get("$filter"))
	if err != nil {
		return nil, err
	}
	out := []any{}
	for _, d := range c.all(t) {
		if match(d) {
			out = append(out, shown(d))
		}
	}
	return &result{http.StatusOK, Doc{"@odata.context": "https://graph.microsoft.com/v1.0/$metadata#" + c.segs[0], "value": out}}, nil
}

// all lists a table; service principals include the managed identities.
func (c *call) all(t store.Table) []Doc {
	var out []Doc
	for _, r := range c.tx.Scan(t, "") {
		out = append(out, r.Doc)
	}
	if t != store.Principals {
		return out
	}
	out = append(out, graphPrincipal(c.tenant))
	for _, r := range c.tx.Scan(store.ARM, "") {
		if r.Doc["type"] == entra.IdentityType {
			p := wire.Props(r.Doc)
			out = append(out, Doc{"id": p["principalId"], "appId": p["clientId"], "displayName": r.Doc["name"], "servicePrincipalType": "ManagedIdentity",
				"servicePrincipalNames": []any{p["clientId"]}, "alternativeNames": []any{"isExplicit=True", r.Doc["id"]}, "accountEnabled": true})
		}
	}
	return out
}

func (c *call) find(t store.Table, id string) Doc {
	for _, d := range c.all(t) {
		if strings.EqualFold(wire.Text(d, "id"), id) {
			return d
		}
	}
	return nil
}

func (c *call) object(t store.Table, id string) (*result, error) {
	d := c.find(t, id)
	if d == nil {
		return nil, missing(c.segs[1])
	}
	switch c.req.Method {
	case http.MethodGet:
		return &result{http.StatusOK, shown(d)}, nil
	case http.MethodPatch:
		e := c.tx.Edit(t, id)
		if e == nil {
			return nil, invalid("Managed identities are changed through the resource manager.")
		}
		for _, fixed := range []string{"id", "appId", "createdDateTime"} {
			if _, given := c.body[fixed]; given {
				return nil, invalid("Property '%s' is read-only and cannot be set.", fixed)
			}
		}
		wire.Merge(e, c.body)
		return &result{http.StatusNoContent, nil}, nil
	case http.MethodDelete:
		if c.tx.Get(t, id) == nil {
			return nil, invalid("Managed identities are changed through the resource manager.")
		}
		c.remove(t, id, wire.Text(d, "appId"))
		return &result{http.StatusNoContent, nil}, nil
	}
	return nil, invalid("method %s", c.req.Method)
}

// remove takes the service principal and the secrets of an application along.
func (c *call) remove(t store.Table, id, appID string) {
	c.tx.Delete(t, id)
	if t != store.Apps {
		return
	}
	for _, table := range []store.Table{store.Principals, store.Credentials} {
		for _, r := range c.tx.Scan(table, "") {
			if strings.EqualFold(wire.Text(r.Doc, "appId"), appID) {
				c.tx.Delete(table, r.Key)
			}
		}
	}
}

func (c *call) directoryObjects() (*result, error) {
	if len(c.segs) != 2 || !strings.EqualFold(c.segs[1], "getByIds") {
		return nil, missing(strings.Join(c.segs, "/"))
	}
	if !c.has(wholeDirectory) {
		return nil, errDenied
	}
	out := []any{}
	for _, id := range wire.Texts(c.body, "ids") {
		if d := c.find(store.Principals, id); d != nil {
			d = shown(d)
			d["@odata.type"] = "#microsoft.graph.servicePrincipal"
			out = append(out, d)
		}
	}
	return &result{http.StatusOK, Doc{"value": out}}, nil
}
