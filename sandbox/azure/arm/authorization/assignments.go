package authorization

import (
	"net/http"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/roles"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

func putRoleDefinition(c *provider.Call, r *provider.Resource, _ wire.Doc) error {
	if _, builtin := roles.Lookup(r.Name); builtin {
		return provider.BadRequest("RoleDefinitionIsBuiltIn", "The role '%s' is a built-in role and cannot be changed.", r.Name)
	}
	p := wire.EnsureProps(r.Body)
	name := wire.Text(p, "roleName")
	if name == "" || len(wire.Docs(p, "permissions")) == 0 || len(wire.Texts(p, "assignableScopes")) == 0 {
		return provider.BadRequest("InvalidRoleDefinition", "A role definition needs roleName, permissions and assignableScopes.")
	}
	for _, o := range c.Within("", typeRoleDefinition) {
		if o.ID != r.ID && strings.EqualFold(wire.Text(wire.Props(o.Body), "roleName"), name) {
			return provider.Conflict("RoleDefinitionWithSameNameExists", "A custom role with the same name '%s' already exists in this directory.", name)
		}
	}
	p["type"] = "CustomRole"
	return nil
}

func guardRoleDefinition(c *provider.Call, r *provider.Resource) error {
	for _, a := range c.Within("", roles.AssignmentType) {
		if strings.EqualFold(provider.LastSegment(wire.Text(wire.Props(a.Body), "roleDefinitionId")), r.Name) {
			return provider.BadRequest("RoleDefinitionHasAssignments", "There are existing role assignments referencing role (code: RoleDefinitionHasAssignments): '%s'.", a.ID)
		}
	}
	return nil
}

func putRoleAssignment(c *provider.Call, r *provider.Resource, old wire.Doc) error {
	p := wire.EnsureProps(r.Body)
	scope := r.ID[:strings.Index(strings.ToLower(r.ID), "/providers/microsoft.authorization/roleassignments/")]
	principal, role := wire.Text(p, "principalId"), wire.Text(p, "roleDefinitionId")
	if principal == "" || role == "" {
		return provider.BadRequest("InvalidCreateRoleAssignmentRequest", "A role assignment needs principalId and roleDefinitionId.")
	}
	if sp, err := provider.ParsePath(scope); err == nil && sp.Scope != "" && c.Get(scope) == nil {
		return c.NotFound(sp)
	}
	if !roleExists(c, role) {
		return provider.Failf(http.StatusBadRequest, "RoleDefinitionDoesNotExist", "The specified role definition with ID '%s' does not exist.", provider.LastSegment(role))
	}
	if !principalSeen(c, p, principal) {
		return provider.BadRequest("PrincipalNotFound", "Principal %s does not exist in the directory %s. Check that you have the correct principal ID. If you are creating this principal and then immediately assigning a role, this error might be related to a replication delay. In this case, set the role assignment principalType property to a value, such as ServicePrincipal, User, or Group.", strings.ReplaceAll(principal, "-", ""), c.Tenant)
	}
	if err := matchesPrincipal(c, p, principal); err != nil {
		return err
	}
	if old != nil && !sameAssignment(old, p) {
		return provider.Conflict("RoleAssignmentUpdateNotPermitted", "Tenant ID, application ID, principal ID, and scope are not allowed to be updated.")
	}
	if err := assignedOnce(c, r, scope, p); err != nil {
		return err
	}
	if scope == "" {
		scope = "/"
	}
	p["scope"] = scope
	p["roleDefinitionId"] = "/subscriptions/" + c.Subscription + "/providers/" + typeRoleDefinition + "/" + provider.LastSegment(role)
	wire.Default(p, "principalType", "ServicePrincipal")
	now := time.Now().UTC().Format(time.RFC3339Nano)
	wire.Default(p, "createdOn", now)
	p["updatedOn"] = now
	p["createdBy"], p["updatedBy"] = c.Caller.ObjectID, c.Caller.ObjectID
	return nil
}

// assignedOnce refuses what another assignment says already.
func assignedOnce(c *provider.Call, r *provider.Resource, scope string, p wire.Doc) error {
	for _, o := range c.Within("", roles.AssignmentType) {
		if o.ID != r.ID && strings.EqualFold(wire.Text(wire.Props(o.Body), "scope"), scope) && sameAssignment(o.Body, p) {
			return provider.Conflict("RoleAssignmentExists", "The role assignment already exists. The ID of the existing role assignment is %s.", strings.ReplaceAll(o.Name, "-", ""))
		}
	}
	return nil
}

// principalSeen asks for the principal only when its type is not given, as Azure does; an injected delay hides a new one even then.
func principalSeen(c *provider.Call, p wire.Doc, principal string) bool {
	created, exists := known(c, principal)
	delay, typed := fault.Propagation(c.Req.Context(), fault.Identity), wire.Text(p, "principalType") != ""
	if exists && delay.Holds(created) {
		fault.Hit(c.Req.Context(), fault.Identity)
		return false
	}
	return typed || exists && !delay.Hides(created)
}

// matchesPrincipal compares the type that the caller gives with that of a principal that is known. The directory has no other type than one.
func matchesPrincipal(c *provider.Call, p wire.Doc, principal string) error {
	const typ = "ServicePrincipal"
	given := wire.Text(p, "principalType")
	if _, exists := known(c, principal); given == "" || !exists || strings.EqualFold(given, typ) {
		return nil
	}
	return provider.BadRequest("UnmatchedPrincipalType", "The PrincipalId '%s' has type '%s' , which is different from specified PrincipalType '%s'.", strings.ReplaceAll(principal, "-", ""), typ, given)
}

func sameAssignment(a, p wire.Doc) bool {
	q := wire.Props(a)
	return strings.EqualFold(wire.Text(q, "principalId"), wire.Text(p, "principalId")) &&
		strings.EqualFold(provider.LastSegment(wire.Text(q, "roleDefinitionId")), provider.LastSegment(wire.Text(p, "roleDefinitionId")))
}

func roleExists(c *provider.Call, id string) bool {
	if _, ok := roles.Lookup(id); ok {
		return true
	}
	for _, d := range c.Within("", typeRoleDefinition) {
		if strings.EqualFold(d.Name, provider.LastSegment(id)) {
			return true
		}
	}
	return false
}
