// Package authorization is Microsoft.Authorization of the embedded Azure without policies: role definitions, role assignments and locks.
package authorization

import (
	"net/http"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/roles"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const typeRoleDefinition = "Microsoft.Authorization/roleDefinitions"

var assignmentName = &provider.NameRule{Pattern: provider.Pattern(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`), Code: "InvalidRoleAssignmentId", Demand: "The role assignment ID must be a GUID."}

// Spec is what the gateway serves of authorization.
var Spec = provider.Spec{Namespace: "Microsoft.Authorization",
	Kinds: []*provider.Kind{
		{Type: TypeLock, NoState: true, NoLocation: true, Put: putLock},
		{Type: typeRoleDefinition, Always201: true, DeleteBody: true, NoState: true, NoLocation: true, Put: putRoleDefinition, Guard: guardRoleDefinition},
		{Type: roles.AssignmentType, Missing: "RoleAssignmentNotFound", DeleteBody: true, NoState: true, NoLocation: true, Name: assignmentName,
			Keep: []string{"createdOn"}, Put: putRoleAssignment},
	},
	Scoped: []provider.ScopedRoute{
		{Type: "microsoft.authorization/permissions", Handle: permissions},
		{Type: "microsoft.authorization/denyassignments", Collection: true, Handle: denyAssignments},
		{Type: "microsoft.authorization/roledefinitions", CommonWrites: true, Handle: roleDefinitions},
		{Type: "microsoft.authorization/roleassignments", Collection: true, Handle: roleAssignments},
	}}

// known looks among service principals and managed identities, and tells since when there is one.
func known(c *provider.Call, objectID string) (created time.Time, exists bool) {
	if d := c.Tx.Get(store.Principals, strings.ToLower(objectID)); d != nil {
		return wire.Time(d, "createdDateTime"), true
	}
	for _, r := range c.Within("", entra.IdentityType) {
		if strings.EqualFold(wire.Text(wire.Props(r.Body), "principalId"), objectID) {
			return wire.Created(r.Body), true
		}
	}
	return time.Time{}, false
}

// roleDefinitions reads built-in and custom roles, visible from any scope.
func roleDefinitions(c *provider.Call) (*provider.Reply, error) {
	if !c.Path.Collection {
		if d, ok := roles.Lookup(c.Path.Name()); ok {
			return provider.Answer(http.StatusOK, d.Document(c.Subscription)), nil
		}
		for _, r := range c.Within("", typeRoleDefinition) {
			if strings.EqualFold(r.Name, c.Path.Name()) {
				return c.Show(http.StatusOK, r), nil
			}
		}
		return nil, provider.Failf(http.StatusNotFound, "RoleDefinitionDoesNotExist", "The specified role definition with ID '%s' does not exist.", c.Path.Name())
	}
	match := provider.ParseFilter(c.Req.URL.Query().Get("$filter"))
	out := []any{}
	for _, d := range roles.Builtin() {
		if r := provider.ResourceOf(d.Document(c.Subscription)); match(r) {
			out = append(out, r.Body)
		}
	}
	for _, r := range c.Within("", typeRoleDefinition) {
		if match(r) {
			out = append(out, c.View(r))
		}
	}
	return provider.Answer(http.StatusOK, wire.Doc{"value": out}), nil
}

// roleAssignments lists what applies at the scope and, without atScope(), what is beneath it.
func roleAssignments(c *provider.Call) (*provider.Reply, error) {
	filter := c.Req.URL.Query().Get("$filter")
	match := provider.ParseFilter(filter)
	atScope := strings.Contains(strings.ToLower(filter), "atscope()")
	at := provider.Key(c.Path.Scope)
	out := []any{}
	for _, r := range c.Within("", roles.AssignmentType) {
		scope := strings.TrimRight(strings.ToLower(wire.Text(wire.Props(r.Body), "scope")), "/")
		above := at == scope || strings.HasPrefix(at, scope+"/")
		below := !atScope && strings.HasPrefix(scope, strings.TrimRight(at, "/")+"/")
		if (above || below) && match(r) {
			out = append(out, c.View(r))
		}
	}
	return provider.Answer(http.StatusOK, wire.Doc{"value": out}), nil
}

// permissions are what the roles of the caller allow at the scope, one entry for each.
func permissions(c *provider.Call) (*provider.Reply, error) {
	out := []any{}
	for _, p := range roles.Of(c.Tx, c.Caller.ObjectID, c.Path.Scope, fault.Propagation(c.Req.Context(), fault.Role).Hides) {
		out = append(out, wire.Doc{"actions": append([]string{}, p.Actions...), "notActions": append([]string{}, p.NotActions...)})
	}
	return provider.Answer(http.StatusOK, wire.Doc{"value": out}), nil
}

// denyAssignments answers with an empty list: Azure makes them for managed applications and deployment stacks, which the sandbox does not have.
func denyAssignments(*provider.Call) (*provider.Reply, error) {
	return provider.Answer(http.StatusOK, wire.Doc{"value": []any{}}), nil
}
