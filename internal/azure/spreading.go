package azure

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// Given is a role that the signed-in identity, or a group that it is in, has been given.
type Given struct {
	Scope string
	At    time.Time
	Allow Permissions
}

// Allows tells whether the role allows the action on the resource with the id.
func (g Given) Allows(action, id string) bool {
	within := strings.HasPrefix(strings.ToLower(id)+"/", strings.TrimRight(strings.ToLower(g.Scope), "/")+"/")
	return within && g.Allow.Allow(action)
}

// GivenSince are the roles that were given to the signed-in identity after a time, whether they are known everywhere or not. One that holds
// only under a condition is none of them: what it allows is not known here.
func (s *Session) GivenSince(ctx context.Context, after time.Time) ([]Given, error) {
	who, err := s.OwnPrincipal(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.List(ctx, "/subscriptions/"+s.SubscriptionID+"/providers/"+typeAssignment, authorizationAPI, "assignedTo('"+who.ObjectID+"')")
	if err != nil {
		return nil, err
	}
	var out []Given
	for i := range all {
		at, err := time.Parse(time.RFC3339Nano, all[i].Property("createdOn"))
		if err != nil || at.Before(after) || all[i].Property("condition") != "" {
			continue
		}
		var role struct {
			Properties struct {
				Permissions Permissions `json:"permissions"`
			} `json:"properties"`
		}
		if err := s.call(ctx, http.MethodGet, all[i].Property("roleDefinitionId"), authorizationAPI, &role); err != nil {
			return nil, err
		}
		out = append(out, Given{Scope: all[i].Property("scope"), At: at, Allow: role.Properties.Permissions})
	}
	return out, nil
}
