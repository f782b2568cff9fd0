package stacks_test

import (
	"context"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
)

// TestAWriteCostsNoMoreCallsThanItNeeds counts the calls of a write whose answer is the resource, and of a long-running one.
func TestAWriteCostsNoMoreCallsThanItNeeds(t *testing.T) {
	w := newWorld(t)
	id := func(s *azure.Session, kind, name string) string { return s.ResourceID(common, kind, name) }
	const identity, nsg = "Microsoft.ManagedIdentity/userAssignedIdentities", "Microsoft.Network/networkSecurityGroups"
	calls := func(work func(context.Context, *azure.Session) error) int {
		c, err := w.process(0, false, func(ctx context.Context, s *azure.Session) error {
			if err := s.SignIn(ctx); err != nil {
				return err
			}
			return work(ctx, s)
		})
		must(t, err)
		return c.calls
	}
	signIn := calls(func(context.Context, *azure.Session) error { return nil })
	for name, tc := range map[string]struct {
		most int
		work func(context.Context, *azure.Session) error
	}{
		"an identity is there with the answer": {1, func(ctx context.Context, s *azure.Session) error {
			made, err := s.Put(ctx, id(s, identity, "demo-disk"), "2023-01-31", azure.Resource{Location: location})
			if err == nil && made.Property("principalId") == "" {
				t.Error("the answer has no principal")
			}
			return err
		}},
		"an operation is asked for until it has ended": {2, func(ctx context.Context, s *azure.Session) error {
			return s.PutAway(ctx, id(s, nsg, "demo-a"), "2023-11-01", azure.Resource{Location: location})
		}},
		"its result is read once": {3, func(ctx context.Context, s *azure.Session) error {
			made, err := s.Put(ctx, id(s, nsg, "demo-b"), "2023-11-01", azure.Resource{Location: location})
			if err == nil && made.Property("provisioningState") != "Succeeded" {
				t.Errorf("the result is %v", made.Properties)
			}
			return err
		}},
		"one sign-in serves the own principal": {0, func(ctx context.Context, s *azure.Session) error {
			_, err := s.OwnPrincipal(ctx)
			return err
		}},
	} {
		if got := calls(tc.work) - signIn; got != tc.most {
			t.Errorf("%s: %d calls, want %d", name, got, tc.most)
		}
	}
}
