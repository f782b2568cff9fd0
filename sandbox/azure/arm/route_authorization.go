package arm

import (
	"net/http"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/roles"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// principal looks among service principals and managed identities, and tells since when there is one.
func (c *call) principal(objectID string) (created time.Time, exists bool) {
	if d := c.tx.Get(store.Principals, strings.ToLower(objectID)); d != nil {
		return wire.Time(d, "createdDateTime"), true
	}
	for _, r := range c.within("", entra.IdentityType) {
		if strings.EqualFold(wire.Text(wire.Props(r.Body), "principalId"), objectID) {
			return wire.Created(r.Body), true
		}
	}
	return time.Time{}, false
}

// scopeRoute answers what can be asked at any scope.
func scopeRoute(p Path) func(*call) (*reply, error) {
	switch typ := strings.ToLower(p.Type); {
	case typ == "microsoft.resources/tags":
		return (*call).tags
	case typ == "microsoft.authorization/permissions":
		return (*call).permissions
	case typ == "microsoft.authorization/roledefinitions":
		return (*call).roleDefinitions
	case typ == "microsoft.authorization/roleassignments" && p.Collection:
		return (*call).roleAssignments
	}
	return nil
}

// roleDefinitions reads built-in and custom roles, visible from any scope; writes go the common way.
func (c *call) roleDefinitions() (*reply, error) {
	switch c.req.Method {
	case http.MethodPut:
		return c.put()
	case http.MethodDelete:
		return c.delete()
	}
	if !c.path.Collection {
		if d, ok := roles.Lookup(c.path.Name()); ok {
			return answer(http.StatusOK, d.Document(c.Subscription)), nil
		}
		for _, r := range c.within("", typeRoleDefinition) {
			if strings.EqualFold(r.Name, c.path.Name()) {
				return c.show(http.StatusOK, r), nil
			}
		}
		return nil, failf(http.StatusNotFound, "RoleDefinitionDoesNotExist", "The specified role definition with ID '%s' does not exist.", c.path.Name())
	}
	match := parseFilter(c.req.URL.Query().Get("$filter"))
	out := []any{}
	for _, d := range roles.Builtin() {
		if r := resourceOf(d.Document(c.Subscription)); match(r) {
			out = append(out, r.Body)
		}
	}
	for _, r := range c.within("", typeRoleDefinition) {
		if match(r) {
			out = append(out, c.view(r))
		}
	}
	return answer(http.StatusOK, Doc{"value": out}), nil
}

// roleAssignments lists what applies at the scope and, without atScope(), what is beneath it.
func (c *call) roleAssignments() (*reply, error) {
	filter := c.req.URL.Query().Get("$filter")
	match := parseFilter(filter)
	atScope := strings.Contains(strings.ToLower(filter), "atscope()")
	at := key(c.path.Scope)
	out := []any{}
	for _, r := range c.within("", roles.AssignmentType) {
		scope := strings.TrimRight(strings.ToLower(wire.Text(wire.Props(r.Body), "scope")), "/")
		above := at == scope || strings.HasPrefix(at, scope+"/")
		below := !atScope && strings.HasPrefix(scope, strings.TrimRight(at, "/")+"/")
		if (above || below) && match(r) {
			out = append(out, c.view(r))
		}
	}
	return answer(http.StatusOK, Doc{"value": out}), nil
}

// permissions are what the roles of the caller allow at the scope, one entry for each.
func (c *call) permissions() (*reply, error) {
	out := []any{}
	for _, p := range roles.Of(c.tx, c.caller.ObjectID, c.path.Scope, fault.Propagation(c.req.Context(), fault.Role).Hides) {
		out = append(out, Doc{"actions": append([]string{}, p.Actions...), "notActions": append([]string{}, p.NotActions...)})
	}
	return answer(http.StatusOK, Doc{"value": out}), nil
}

// tags is the tags resource of any resource.
func (c *call) tags() (*reply, error) {
	r := c.get(c.path.Scope)
	if c.req.Method != http.MethodGet {
		r = c.edit(c.path.Scope)
	}
	if r == nil {
		p, err := ParsePath(c.path.Scope)
		if err != nil {
			return nil, badRequest("InvalidResourceId", "%v", err)
		}
		return nil, notFound(p)
	}
	given := wire.Sub(wire.Props(c.body), "tags")
	switch op := wire.Text(c.body, "operation"); {
	case c.req.Method == http.MethodGet:
	case c.req.Method == http.MethodDelete:
		delete(r.Body, "tags")
		return answer(http.StatusOK, nil), nil
	case c.req.Method == http.MethodPut, op == "Replace":
		r.Body["tags"] = given
	case op == "Delete":
		tags := wire.Sub(r.Body, "tags")
		for k := range given {
			delete(tags, k)
		}
	default:
		wire.Default(r.Body, "tags", Doc{})
		for k, v := range given {
			wire.Sub(r.Body, "tags")[k] = v
		}
	}
	return answer(http.StatusOK, Doc{"id": c.path.Raw, "name": "default", "type": "Microsoft.Resources/tags",
		"properties": Doc{"tags": wire.Sub(r.Body, "tags")}}), nil
}
