package azure

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

const (
	apiDenyAssignments = "2022-04-01"
	apiRestrictions    = "2022-03-01"
)

// Denial is a deny assignment: what it permits nobody of the principals to do, whatever roles they have.
type Denial struct {
	Name, Scope string
	// ScopeOnly: it does not reach what is beneath its scope.
	ScopeOnly            bool
	Permissions          Permissions
	Principals, Excluded []string
}

// DenyAssignments are those at a scope and above it.
func (s *Session) DenyAssignments(ctx context.Context, scope string) ([]Denial, error) {
	type principal struct{ ID string }
	var answer struct {
		Value []struct {
			Properties struct {
				Name              string `json:"denyAssignmentName"`
				Scope             string
				ScopeOnly         bool `json:"doNotApplyToChildScopes"`
				Permissions       Permissions
				Principals        []principal
				ExcludePrincipals []principal
			}
		}
	}
	query := url.Values{"$filter": {"atScope()"}}
	if err := s.callQuery(ctx, http.MethodGet, scope+"/providers/Microsoft.Authorization/denyAssignments", apiDenyAssignments, query, nil, &answer); err != nil {
		return nil, err
	}
	ids := func(of []principal) []string {
		var all []string
		for _, p := range of {
			all = append(all, strings.ToLower(p.ID))
		}
		return all
	}
	var out []Denial
	for _, v := range answer.Value {
		p := v.Properties
		out = append(out, Denial{Name: p.Name, Scope: p.Scope, ScopeOnly: p.ScopeOnly, Permissions: p.Permissions, Principals: ids(p.Principals), Excluded: ids(p.ExcludePrincipals)})
	}
	return out, nil
}

// PolicyRestrictions are the ids of the policy assignments that would deny a resource with this content, as Azure evaluates them at a
// subscription or a resource group. Nothing is written.
func (s *Session) PolicyRestrictions(ctx context.Context, scope string, content Resource) ([]string, error) {
	var answer struct {
		Result struct {
			Evaluations []struct {
				Info struct {
					Assignment string `json:"policyAssignmentId"`
				} `json:"policyInfo"`
				Result string `json:"evaluationResult"`
				Effect struct {
					Policy string `json:"policyEffect"`
				} `json:"effectDetails"`
			} `json:"policyEvaluations"`
		} `json:"contentEvaluationResult"`
	}
	body := map[string]any{"resourceDetails": map[string]any{"resourceContent": content}}
	if err := s.callQuery(ctx, http.MethodPost, scope+"/providers/Microsoft.PolicyInsights/checkPolicyRestrictions", apiRestrictions, url.Values{}, body, &answer); err != nil {
		return nil, err
	}
	var denying []string
	for _, e := range answer.Result.Evaluations {
		if e.Result == "NonCompliant" && (e.Effect.Policy == "" || strings.EqualFold(e.Effect.Policy, "deny")) {
			denying = append(denying, e.Info.Assignment)
		}
	}
	return denying, nil
}
