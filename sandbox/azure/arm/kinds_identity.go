package arm

import (
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/roles"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const (
	typeRoleDefinition = "Microsoft.Authorization/roleDefinitions"
	maxFederations     = 20
)

var resourceKinds = []*Kind{
	{Type: typeResourceGroup, asyncDelete: true, put: putResourceGroup},
	{Type: typeLock, noState: true, put: putLock},
	{Type: typeDeployment, async: true, started: "Accepted", put: putDeployment},
	{Type: typeRoleDefinition, always201: true, deleteBody: true, noState: true, put: putRoleDefinition, guard: guardRoleDefinition},
	{Type: roles.AssignmentType, deleteBody: true, noState: true, keep: []string{"createdOn"}, put: putRoleAssignment},
}

var identityKinds = []*Kind{
	{Type: entra.IdentityType, noState: true, keep: []string{"clientId", "principalId", "tenantId"}, put: putIdentity},
	{Type: entra.CredentialType, noState: true, put: putFederation},
}

func putResourceGroup(c *call, r *Resource, old Doc) error {
	at := wire.Text(r.Body, "location")
	if old != nil && wire.Text(old, "location") != at {
		return conflict("InvalidResourceGroupLocation", "Invalid resource group location '%s'. The Resource group already exists in location '%s'.", at, wire.Text(old, "location"))
	}
	return nil
}

func putIdentity(c *call, r *Resource, old Doc) error {
	wire.Stamp(r.Body, old)
	p := wire.EnsureProps(r.Body)
	wire.Default(p, "clientId", uuid.NewString())
	wire.Default(p, "principalId", uuid.NewString())
	wire.Default(p, "tenantId", c.Tenant)
	return nil
}

func putFederation(c *call, r *Resource, old Doc) error {
	wire.Stamp(r.Body, old)
	p := wire.EnsureProps(r.Body)
	for _, f := range []string{"issuer", "subject"} {
		if wire.Text(p, f) == "" {
			return badRequest("BadRequest", "The federated identity credential needs a value for '%s'.", f)
		}
	}
	if len(wire.Texts(p, "audiences")) != 1 {
		return badRequest("BadRequest", "The federated identity credential needs exactly one audience.")
	}
	identity := r.ID[:strings.LastIndex(strings.ToLower(r.ID), "/federatedidentitycredentials/")]
	others := c.within(identity, entra.CredentialType)
	if old == nil && len(others) > maxFederations {
		return badRequest("BadRequest", "Too many Federated Identity Credentials are configured on the identity: the limit is %d.", maxFederations)
	}
	for _, o := range others {
		q := wire.Props(o.Body)
		if o.ID != r.ID && q["issuer"] == p["issuer"] && q["subject"] == p["subject"] {
			return conflict("Conflict", "Issuer and subject combination already exists for this Managed Identity (credential '%s').", o.Name)
		}
	}
	return nil
}

// federationWrite is how long a write of a credential takes.
const federationWrite = 10 * time.Millisecond

// oneFederationAtATime refuses a write of a federated credential while another one of the same identity is being answered.
func (s *Server) oneFederationAtATime(r *http.Request, p Path) (release func(), err error) {
	if verbs[r.Method] == "read" || p.Collection || !strings.EqualFold(p.Type, entra.CredentialType) {
		return func() {}, nil
	}
	identity := p.Parent()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing[key(identity)] {
		return nil, conflict("ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity", "Too many concurrent writes of Federated Identity Credentials under the managed identity '%s'. Concurrent writes are not supported: please send them one after the other.", lastSegment(identity))
	}
	s.writing[key(identity)] = true
	took := federationWrite + fault.TakeOperation(r.Context()).Delay
	return func() {
		time.Sleep(took)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.writing, key(identity))
	}, nil
}

func putRoleDefinition(c *call, r *Resource, _ Doc) error {
	if _, builtin := roles.Lookup(r.Name); builtin {
		return badRequest("RoleDefinitionIsBuiltIn", "The role '%s' is a built-in role and cannot be changed.", r.Name)
	}
	p := wire.EnsureProps(r.Body)
	name := wire.Text(p, "roleName")
	if name == "" || len(wire.Docs(p, "permissions")) == 0 || len(wire.Texts(p, "assignableScopes")) == 0 {
		return badRequest("InvalidRoleDefinition", "A role definition needs roleName, permissions and assignableScopes.")
	}
	for _, o := range c.within("", typeRoleDefinition) {
		if o.ID != r.ID && strings.EqualFold(wire.Text(wire.Props(o.Body), "roleName"), name) {
			return conflict("RoleDefinitionWithSameNameExists", "A custom role with the same name '%s' already exists in this directory.", name)
		}
	}
	p["type"] = "CustomRole"
	return nil
}

func guardRoleDefinition(c *call, r *Resource) error {
	for _, a := range c.within("", roles.AssignmentType) {
		if strings.EqualFold(lastSegment(wire.Text(wire.Props(a.Body), "roleDefinitionId")), r.Name) {
			return badRequest("RoleDefinitionHasAssignments", "There are existing role assignments referencing role (code: RoleDefinitionHasAssignments): '%s'.", a.ID)
		}
	}
	return nil
}

func putRoleAssignment(c *call, r *Resource, old Doc) error {
	p := wire.EnsureProps(r.Body)
	scope := r.ID[:strings.Index(strings.ToLower(r.ID), "/providers/microsoft.authorization/roleassignments/")]
	principal, role := wire.Text(p, "principalId"), wire.Text(p, "roleDefinitionId")
	if principal == "" || role == "" {
		return badRequest("InvalidCreateRoleAssignmentRequest", "A role assignment needs principalId and roleDefinitionId.")
	}
	if sp, err := ParsePath(scope); err == nil && sp.Scope != "" && c.get(scope) == nil {
		return notFound(sp)
	}
	if !c.roleExists(role) {
		return failf(http.StatusBadRequest, "RoleDefinitionDoesNotExist", "The specified role definition with ID '%s' does not exist.", lastSegment(role))
	}
	if !c.principalSeen(p, principal) {
		return badRequest("PrincipalNotFound", "Principal %s does not exist in the directory %s. Check that you have the correct principal ID. If you are creating this principal and then immediately assigning a role, this error might be related to a replication delay. In this case, set the role assignment principalType property to a value, such as ServicePrincipal, User, or Group.", strings.ReplaceAll(principal, "-", ""), c.Tenant)
	}
	if err := c.matchesPrincipal(p, principal); err != nil {
		return err
	}
	if old != nil && !sameAssignment(old, p) {
		return conflict("RoleAssignmentUpdateNotPermitted", "Tenant ID, application ID, principal ID, and scope are not allowed to be updated.")
	}
	for _, o := range c.within("", roles.AssignmentType) {
		if o.ID != r.ID && strings.EqualFold(wire.Text(wire.Props(o.Body), "scope"), scope) && sameAssignment(o.Body, p) {
			return conflict("RoleAssignmentExists", "The role assignment already exists. The ID of the existing role assignment is %s.", strings.ReplaceAll(o.Name, "-", ""))
		}
	}
	if scope == "" {
		scope = "/"
	}
	p["scope"] = scope
	p["roleDefinitionId"] = "/subscriptions/" + c.Subscription + "/providers/" + typeRoleDefinition + "/" + lastSegment(role)
	wire.Default(p, "principalType", "ServicePrincipal")
	now := time.Now().UTC().Format(time.RFC3339Nano)
	wire.Default(p, "createdOn", now)
	p["updatedOn"] = now
	p["createdBy"], p["updatedBy"] = c.caller.ObjectID, c.caller.ObjectID
	return nil
}

// principalSeen asks for the principal only when its type is not given, as Azure does; an injected delay hides a new one even then.
func (c *call) principalSeen(p Doc, principal string) bool {
	created, exists := c.principal(principal)
	if exists && fault.Propagation(c.req.Context(), fault.Identity).Hides(created) {
		fault.Hit(c.req.Context(), fault.Identity)
		return false
	}
	return exists || wire.Text(p, "principalType") != ""
}

// matchesPrincipal compares the type that the caller gives with that of a principal that is known. The directory has no other type than one.
func (c *call) matchesPrincipal(p Doc, principal string) error {
	const typ = "ServicePrincipal"
	given := wire.Text(p, "principalType")
	if _, exists := c.principal(principal); given == "" || !exists || strings.EqualFold(given, typ) {
		return nil
	}
	return badRequest("UnmatchedPrincipalType", "The PrincipalId '%s' has type '%s' , which is different from specified PrincipalType '%s'.", strings.ReplaceAll(principal, "-", ""), typ, given)
}

func sameAssignment(a, p Doc) bool {
	q := wire.Props(a)
	return strings.EqualFold(wire.Text(q, "principalId"), wire.Text(p, "principalId")) &&
		strings.EqualFold(lastSegment(wire.Text(q, "roleDefinitionId")), lastSegment(wire.Text(p, "roleDefinitionId")))
}

func (c *call) roleExists(id string) bool {
	if _, ok := roles.Lookup(id); ok {
		return true
	}
	for _, d := range c.within("", typeRoleDefinition) {
		if strings.EqualFold(d.Name, lastSegment(id)) {
			return true
		}
	}
	return false
}
