package azure

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"
)

const authorizationAPI = "2022-04-01"

// Assignment is one role given to one principal on one scope, under a name derived from what it is for.
type Assignment struct {
	Name        string // UUID
	Scope       string
	RoleGUID    string
	PrincipalID string
}

// AssignmentName is the deterministic name of a role assignment: a UUID version 5 in the DNS name space of
// "<infra>-<component>-<scope>".
func AssignmentName(infraID, component, scope string) string {
	return uuid.NewSHA1(uuid.NameSpaceDNS, []byte(infraID+"-"+component+"-"+scope)).String()
}

func (a Assignment) id() string {
	return a.Scope + "/providers/Microsoft.Authorization/roleAssignments/" + a.Name
}

func (s *Session) roleDefinition(guid string) string {
	return "/subscriptions/" + s.SubscriptionID + "/providers/Microsoft.Authorization/roleDefinitions/" + guid
}

// AssignmentState says what stands at the assignment's place.
type AssignmentState int

// What a look at an assignment finds.
const (
	AssignmentMissing AssignmentState = iota
	AssignmentPresent
	AssignmentStale // same name, other principal or role: left by an earlier cluster
)

// ObserveAssignment reads the assignment by its name, then looks whether the principal holds the role there under another one.
func (s *Session) ObserveAssignment(ctx context.Context, a Assignment) (AssignmentState, error) {
	found, err := s.Get(ctx, a.id(), authorizationAPI)
	switch {
	case err == nil && s.matches(found, a):
		return AssignmentPresent, nil
	case err == nil:
		return AssignmentStale, nil
	case !IsNotFound(err) && CodeOf(err) != "AuthorizationFailed":
		return AssignmentMissing, err
	}
	all, err := s.List(ctx, a.Scope+"/providers/Microsoft.Authorization/roleAssignments", authorizationAPI, "atScope()")
	if err != nil && CodeOf(err) != "AuthorizationFailed" && !IsNotFound(err) {
		return AssignmentMissing, err
	}
	for i := range all {
		if s.matches(&all[i], a) && strings.EqualFold(all[i].Property("scope"), a.Scope) {
			return AssignmentPresent, nil
		}
	}
	return AssignmentMissing, nil
}

func (s *Session) matches(r *Resource, a Assignment) bool {
	return strings.EqualFold(r.Property("principalId"), a.PrincipalID) &&
		strings.EqualFold(r.Property("roleDefinitionId"), s.roleDefinition(a.RoleGUID))
}

// Assign makes the assignment; one that another hand made meanwhile is success.
func (s *Session) Assign(ctx context.Context, a Assignment) error {
	_, err := s.Put(ctx, a.id(), authorizationAPI, Resource{Properties: map[string]any{
		"roleDefinitionId": s.roleDefinition(a.RoleGUID),
		"principalId":      a.PrincipalID,
		"principalType":    "ServicePrincipal",
	}})
	if CodeOf(err) == "RoleAssignmentExists" {
		return nil
	}
	return err
}

// Unassign removes the assignment by its name.
func (s *Session) Unassign(ctx context.Context, a Assignment) error {
	resp, err := s.do(ctx, http.MethodDelete, a.id(), authorizationAPI, nil, http.StatusOK, http.StatusNoContent)
	if err == nil {
		return resp.Body.Close()
	}
	if err = Wrap("delete", a.id(), err); IsNotFound(err) {
		return nil
	}
	return err
}
