package azure

import (
	"context"
	"regexp"
	"slices"
	"strings"
)

const apiSubscription = "2022-12-01"

// Permissions are the rights of the session's principal on a scope: one entry for each role that it has there or above.
type Permissions []Permission

// Permission is what one role allows; wildcards may stand anywhere in an action.
type Permission struct {
	Actions    []string `json:"actions"`
	NotActions []string `json:"notActions"`
}

// Permissions asks Azure what the session's principal may do on the scope.
func (s *Session) Permissions(ctx context.Context, scope string) (Permissions, error) {
	var answer struct {
		Value Permissions `json:"value"`
	}
	err := s.call(ctx, "GET", scope+"/providers/Microsoft.Authorization/permissions", authorizationAPI, &answer)
	return answer.Value, err
}

// Allow tells whether some role allows the action.
func (p Permissions) Allow(action string) bool {
	return slices.ContainsFunc(p, func(one Permission) bool { return covers(one.Actions, action) && !covers(one.NotActions, action) })
}

func covers(patterns []string, action string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		expression := "(?i)^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$"
		matches, err := regexp.MatchString(expression, action)
		return err == nil && matches
	})
}

// Locations are the names of the subscription's regions.
func (s *Session) Locations(ctx context.Context) ([]string, error) {
	all, err := s.List(ctx, "/subscriptions/"+s.SubscriptionID+"/locations", apiSubscription, "")
	names := make([]string, 0, len(all))
	for i := range all {
		names = append(names, all[i].Name)
	}
	return names, err
}
