// Package rights decides what the caller of a request may do, by the role assignments in its transaction.
package rights

import (
	"net/http"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/roles"
)

// Action names the RBAC action of a request and the scope it is checked at.
func Action(method string, p provider.Path) (action, scope string) {
	typ := p.Type
	if strings.EqualFold(typ, provider.TypeResourceGroup) {
		typ = "Microsoft.Resources/subscriptions/resourceGroups"
	}
	scope = p.Raw
	switch {
	case p.Collection && p.Depth() > 1:
		scope = p.Up()
	case p.Collection && p.Scope != "":
		scope = p.Scope
	case p.Collection:
		scope = p.Up()
	}
	// An assignment or a lock is checked at what it is put on.
	if !p.Collection && strings.HasPrefix(strings.ToLower(typ), "microsoft.authorization/") {
		scope = p.Scope
	}
	return typ + "/" + provider.Verbs[method], scope
}

// Authorize checks the role assignments of the caller. Reading what describes the subscription itself needs any role in it.
func Authorize(c *provider.Call) error {
	action, scope := Action(c.Req.Method, c.Path)
	if Allowed(c, action, scope) {
		return nil
	}
	if provider.Verbs[c.Req.Method] == "read" && readableFromBelow(c, action) {
		return nil
	}
	return provider.Failf(http.StatusForbidden, "AuthorizationFailed", "The client '%s' with object id '%s' does not have authorization to perform action '%s' over scope '%s' or the scope is invalid. If access was recently granted, please refresh your credentials.", c.Caller.ClientID, c.Caller.ObjectID, action, scope)
}

// Allowed tells whether the caller may do something at a scope. It leaves out role assignments that have not spread, where an injected fault delays them.
func Allowed(c *provider.Call, action, scope string) bool {
	if !roles.Allowed(c.Tx, roles.Management, c.Caller.ObjectID, action, scope) {
		return false
	}
	delay := fault.Propagation(c.Req.Context(), fault.Role)
	if delay.None() || roles.Allowed(c.Tx, roles.Management, c.Caller.ObjectID, action, scope, delay.Hides) {
		return true
	}
	fault.Hit(c.Req.Context(), fault.Role)
	return false
}

// AllowedBelow tells whether the caller may do something anywhere in a scope; the action "" is any.
func AllowedBelow(c *provider.Call, action, scope string) bool {
	return roles.AllowedBelow(c.Tx, c.Caller.ObjectID, action, scope, fault.Propagation(c.Req.Context(), fault.Role).Hides)
}

func readableFromBelow(c *provider.Call, action string) bool {
	segs := strings.Split(strings.ToLower(c.Path.Raw[1:]), "/")
	if segs[0] == "tenants" || segs[0] == "providers" {
		return true
	}
	if segs[0] != "subscriptions" {
		return false
	}
	if len(segs) <= 2 { // the list of subscriptions, and one of them
		return len(segs) == 1 || AllowedBelow(c, "", c.Path.Raw)
	}
	return listableFromBelow(c, action, segs)
}

// listableFromBelow is readableFromBelow for the lists of a subscription.
func listableFromBelow(c *provider.Call, action string, segs []string) bool {
	root := "/" + segs[0] + "/" + segs[1]
	switch {
	case segs[2] == "resourcegroups" && len(segs) == 3, segs[2] == "resources":
		return AllowedBelow(c, "", root)
	case segs[2] == "locations", segs[2] == "providers" && len(segs) <= 4:
		return AllowedBelow(c, "", root)
	case segs[2] == "providers" && (segs[4] == "skus" || segs[4] == "locations"):
		return AllowedBelow(c, "", root)
	case segs[2] == "providers" && len(segs) == 5: // a collection over the whole subscription
		return AllowedBelow(c, action, root)
	case segs[2] == "resourcegroups" && len(segs) == 7 && segs[4] == "providers": // one over a resource group
		return AllowedBelow(c, action, root+"/"+segs[2]+"/"+segs[3])
	}
	return false
}

// Visible filters what a list shows to callers whose role is beneath the list's scope.
func Visible(c *provider.Call, r *provider.Resource) bool {
	p, err := provider.ParsePath(r.ID)
	if err != nil {
		return false
	}
	action, scope := Action(http.MethodGet, p)
	return Allowed(c, action, scope)
}
