package graph

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Any one of these app roles is enough, as the reference of each call says: https://learn.microsoft.com/graph/api/overview.
var (
	readers        = []string{entra.ReadApplications, entra.WriteOwn, entra.WriteApplications, entra.ReadDirectory, entra.WriteDirectory}
	writers        = []string{entra.WriteApplications, entra.WriteDirectory}
	assigners      = []string{entra.AssignAppRoles}
	wholeDirectory = []string{entra.ReadDirectory, entra.WriteDirectory}
)

var errDenied = &graphError{http.StatusForbidden, "Authorization_RequestDenied", "Insufficient privileges to complete the operation."}

// has tells whether the caller's token names one of the app roles. A role that is given later is in the next token.
func (c *call) has(roles []string) bool {
	return slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(c.caller.Roles, r) })
}

// authorize asks for the app role that a call on a collection, an object or what hangs below it needs. A program may read itself, and
// change what it owns where it may change anything.
func (c *call) authorize(t store.Table) error {
	reads := c.req.Method == http.MethodGet
	switch {
	case len(c.segs) > 2 && c.segs[2] == "appRoleAssignments" && !reads:
		return deny(c.has(assigners))
	case reads && c.has(readers), !reads && c.has(writers):
		return nil
	case len(c.segs) == 1:
		return deny(!reads && c.has([]string{entra.WriteOwn}) && (t == store.Apps || c.owns(c.application(wire.Text(c.body, "appId")))))
	}
	d := c.find(t, c.segs[1])
	if d == nil {
		return missing(c.segs[1])
	}
	if reads {
		return deny(strings.EqualFold(wire.Text(d, "appId"), c.caller.ClientID))
	}
	return deny(c.has([]string{entra.WriteOwn}) && c.owns(d))
}

func deny(unless bool) error {
	if unless {
		return nil
	}
	return errDenied
}

// owners is the member of a stored object that Graph shows only where it is asked for.
const owners = "owners"

func (c *call) owns(d Doc) bool {
	return slices.ContainsFunc(wire.Texts(d, owners), func(id string) bool { return strings.EqualFold(id, c.caller.ObjectID) })
}

// owners lists who owns an object, and adds an owner.
func (c *call) owners(t store.Table, id string) (*result, error) {
	if c.req.Method != http.MethodGet {
		d := c.tx.Edit(t, id)
		if d == nil || c.req.Method != http.MethodPost || len(c.segs) != 4 || c.segs[3] != "$ref" {
			return nil, invalid("An owner is added with a POST to owners/$ref of an application or its service principal.")
		}
		reference := wire.Text(c.body, "@odata.id")
		d[owners] = append(wire.List(d, owners), reference[strings.LastIndex(reference, "/")+1:])
		return &result{http.StatusNoContent, nil}, nil
	}
	out := []any{}
	for _, id := range wire.Texts(c.find(t, id), owners) {
		if o := c.find(store.Principals, id); o != nil {
			o = shown(o)
			o["@odata.type"] = "#microsoft.graph.servicePrincipal"
			out = append(out, o)
		}
	}
	return &result{http.StatusOK, Doc{"value": out}}, nil
}

// application finds one by its client id, nil when there is none.
func (c *call) application(appID string) Doc {
	for _, a := range c.all(store.Apps) {
		if strings.EqualFold(wire.Text(a, "appId"), appID) {
			return a
		}
	}
	return nil
}

// shown is an object without what only the directory itself needs.
func shown(d Doc) Doc {
	out := store.Clone(d)
	delete(out, owners)
	return out
}

// appRoleAssignments lists, gives and takes the app roles of a service principal.
func (c *call) appRoleAssignments(id string) (*result, error) {
	switch c.req.Method {
	case http.MethodPost:
		role := wire.Text(c.body, "appRoleId")
		known := func(of string) bool { return of == role }
		if wire.Text(c.body, "resourceId") != entra.GraphPrincipalID(c.tenant) || !anyRole(known) || !strings.EqualFold(wire.Text(c.body, "principalId"), id) {
			return nil, invalid("Permission being assigned was not found on application '%s'.", wire.Text(c.body, "resourceId"))
		}
		key, d := entra.AppRoleGrant(c.tenant, id, role)
		if c.tx.Get(store.AppRoles, key) != nil {
			return nil, invalid("Permission being assigned already exists on the object.")
		}
		c.tx.Put(store.AppRoles, key, d)
		return &result{http.StatusCreated, d}, nil
	case http.MethodDelete:
		if len(c.segs) != 4 || !strings.EqualFold(wire.Text(c.tx.Get(store.AppRoles, c.segs[3]), "principalId"), id) {
			return nil, missing(strings.Join(c.segs, "/"))
		}
		c.tx.Delete(store.AppRoles, c.segs[3])
		return &result{http.StatusNoContent, nil}, nil
	}
	out := []any{}
	for _, r := range c.tx.Scan(store.AppRoles, "") {
		if strings.EqualFold(wire.Text(r.Doc, "principalId"), id) {
			out = append(out, r.Doc)
		}
	}
	return &result{http.StatusOK, Doc{"value": out}}, nil
}

func anyRole(match func(id string) bool) bool {
	for _, id := range entra.AppRoles {
		if match(id) {
			return true
		}
	}
	return false
}

// graphPrincipal is the service principal of Microsoft Graph itself, whose app roles are given to others.
func graphPrincipal(tenant string) Doc {
	roles := []any{}
	for name, id := range entra.AppRoles {
		roles = append(roles, Doc{"id": id, "value": name, "displayName": name, "allowedMemberTypes": []any{"Application"}, "isEnabled": true})
	}
	return Doc{"id": entra.GraphPrincipalID(tenant), "appId": entra.GraphAppID, "displayName": "Microsoft Graph", "appDisplayName": "Microsoft Graph", "servicePrincipalType": "Application",
		"servicePrincipalNames": []any{entra.GraphAppID, "https://graph.microsoft.com"}, "accountEnabled": true, "appRoles": roles}
}
