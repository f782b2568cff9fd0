package azure

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
)

const (
	authorizationAPI = "2022-04-01"
	typeAssignment   = "Microsoft.Authorization/roleAssignments"
)

// Assignment is one role given to one principal on one scope, under a name derived from what it is for.
type Assignment struct {
	Name        string // UUID
	Scope       string
	RoleGUID    string
	PrincipalID string
	// PrincipalType is "" for a service principal, which managed identities are as well.
	PrincipalType string
}

// AssignmentName is the deterministic name of a role assignment: a UUID version 5 in the DNS name space of
// "<infra>-<component>-<scope>".
func AssignmentName(infraID, component, scope string) string {
	return uuid.NewSHA1(uuid.NameSpaceDNS, []byte(infraID+"-"+component+"-"+scope)).String()
}

// ID is the assignment's ARM id.
func (a Assignment) ID() string {
	return a.Scope + "/providers/" + typeAssignment + "/" + a.Name
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

// Assignments looks at role assignments. One listing of a scope serves all questions about it in a run; what another hand
// changes after that shows when Assign writes.
type Assignments struct {
	session *Session
	mu      sync.Mutex
	at      map[string][]Resource // lower-cased scope
	refused map[string]error      // lower-cased scopes that may not be listed
}

// NewAssignments makes a view that has listed nothing yet.
func (s *Session) NewAssignments() *Assignments {
	return &Assignments{session: s, at: map[string][]Resource{}, refused: map[string]error{}}
}

// Refused is why the assignments of a scope may not be read, which Observe has taken for none; nil where they may.
func (l *Assignments) Refused(scope string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused[strings.ToLower(scope)]
}

// Observe tells whether the principal holds the role on the scope, under the assignment's name or another one.
func (l *Assignments) Observe(ctx context.Context, a Assignment) (AssignmentState, error) {
	all, err := l.list(ctx, a.Scope)
	if err != nil {
		return AssignmentMissing, err
	}
	state := AssignmentMissing
	for i := range all {
		switch {
		case !strings.EqualFold(all[i].Property("scope"), a.Scope):
		case l.session.matches(&all[i], a):
			return AssignmentPresent, nil
		case strings.EqualFold(all[i].Name, a.Name):
			state = AssignmentStale
		}
	}
	return state, nil
}

// list takes a scope that may not be listed for an empty one: whoever may write assignments need not be able to read them.
func (l *Assignments) list(ctx context.Context, scope string) ([]Resource, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := strings.ToLower(scope)
	if all, ok := l.at[key]; ok {
		return all, nil
	}
	all, err := l.session.List(ctx, scope+"/providers/"+typeAssignment, authorizationAPI, "atScope()")
	if err != nil && failure.CodeOf(err) != "AuthorizationFailed" && !failure.IsNotFound(err) {
		return nil, err
	}
	if failure.CodeOf(err) == "AuthorizationFailed" {
		l.refused[key] = err
	}
	l.at[key] = all
	return all, nil
}

// AssignmentsBelow lists every role assignment of the subscription.
func (s *Session) AssignmentsBelow(ctx context.Context) ([]Assignment, error) {
	all, err := s.List(ctx, "/subscriptions/"+s.SubscriptionID+"/providers/"+typeAssignment, authorizationAPI, "")
	if err != nil {
		return nil, err
	}
	out := make([]Assignment, 0, len(all))
	for i := range all {
		out = append(out, Assignment{Name: all[i].Name, Scope: all[i].Property("scope"), PrincipalID: all[i].Property("principalId")})
	}
	return out, nil
}

func (s *Session) matches(r *Resource, a Assignment) bool {
	return strings.EqualFold(r.Property("principalId"), a.PrincipalID) &&
		strings.EqualFold(r.Property("roleDefinitionId"), s.roleDefinition(a.RoleGUID))
}

// Assign makes the assignment. One that another hand made meanwhile is success; one of the same name for another principal or
// role was left by an earlier cluster, and as Azure refuses to change it, it is replaced.
func (s *Session) Assign(ctx context.Context, a Assignment) error {
	err := s.assign(ctx, a)
	if failure.CodeOf(err) != "RoleAssignmentUpdateNotPermitted" {
		return err
	}
	if err := s.Unassign(ctx, a); err != nil {
		return err
	}
	return s.assign(ctx, a)
}

func (s *Session) assign(ctx context.Context, a Assignment) error {
	_, err := s.Put(ctx, a.ID(), authorizationAPI, Resource{Properties: map[string]any{
		"roleDefinitionId": s.roleDefinition(a.RoleGUID),
		"principalId":      a.PrincipalID,
		"principalType":    cmp.Or(a.PrincipalType, typeServicePrincipal),
	}})
	if failure.CodeOf(err) == "RoleAssignmentExists" && s.holds(ctx, a) {
		return nil
	}
	return err
}

// holds tells whether the principal has the role on the scope under another name. Who may not look takes Azure's word.
func (s *Session) holds(ctx context.Context, a Assignment) bool {
	all, err := s.List(ctx, a.Scope+"/providers/"+typeAssignment, authorizationAPI, "atScope()")
	for i := range all {
		if s.matches(&all[i], a) && strings.EqualFold(all[i].Property("scope"), a.Scope) {
			return true
		}
	}
	return err != nil
}

// Unassign removes the assignment by its name.
func (s *Session) Unassign(ctx context.Context, a Assignment) error {
	resp, err := s.do(ctx, http.MethodDelete, a.ID(), authorizationAPI, nil, http.StatusOK, http.StatusNoContent)
	if err == nil {
		return resp.Body.Close()
	}
	if err = failure.Wrap("delete", a.ID(), err); failure.IsNotFound(err) {
		return nil
	}
	return err
}
