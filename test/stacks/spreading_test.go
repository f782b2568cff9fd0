package stacks_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/iam"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// waited collects what a run waits for.
type waited struct {
	mu  sync.Mutex
	all []string
}

func (w *waited) progress(e stack.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Phase == stack.Waiting {
		w.all = append(w.all, e.Wait.For)
	}
}

// givenRole is a new principal's session, with a role on the subscription or none.
func (w *world) givenRole(role string) (*azure.Session, error) {
	ctx, s := context.Background(), w.session(w.transport)
	app, err := s.EnsureApplication(ctx, "somebody")
	if err != nil {
		return nil, err
	}
	password, err := s.AddPassword(ctx, app, "test", time.Hour)
	if err != nil {
		return nil, err
	}
	principal, err := s.PrincipalOf(ctx, app.ClientID)
	if err != nil {
		return nil, err
	}
	scope := "/subscriptions/" + w.subscription
	if err := s.Assign(ctx, azure.Assignment{Name: azure.AssignmentName("test", "somebody", scope), Scope: scope, RoleGUID: role, PrincipalID: principal}); err != nil {
		return nil, err
	}
	return s.WithSecret(app.ClientID, password)
}

// A role that the credentials were given a moment ago is waited for, though Azure shows nothing of it yet; one that does not allow the work
// is missing, and that is told at once.
func TestARoleOfTheCredentialsSpreads(t *testing.T) {
	const contributor, reader = "b24988ac-6180-42a0-ab88-20f7382dd24c", "acdd72a7-3385-48ef-bd42-f606fba81ae7"
	for name, tc := range map[string]struct {
		role   string
		spread float64 // seconds
		waits  bool
		tell   string // of the error, "" when there is none
	}{
		"just given":   {contributor, 2, true, ""},
		"without harm": {contributor, 0, false, ""},
		"too little":   {reader, 0, false, "lack a right"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s, err := w.givenRole(tc.role)
			must(t, err)
			if tc.spread > 0 {
				_, err := w.server.Faults().Add(fault.Rule{Preset: "role-delay", Seconds: tc.spread, Principal: s.ClientID})
				must(t, err)
			}
			var told waited
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err = iam.Create(ctx, s, iamOptions, told.progress)
			if (err == nil) != (tc.tell == "") || err != nil && !strings.Contains(err.Error(), tc.tell) {
				t.Errorf("it ended with %v", err)
			}
			if (len(told.all) > 0) != tc.waits {
				t.Errorf("it waited for %q", told.all)
			}
			for _, what := range told.all {
				if what != "Azure to spread the role of these credentials" {
					t.Errorf("it waited for %q", what)
				}
			}
		})
	}
}
