package node

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// Patience is for what is known to have been made a short time ago, and for what Azure calls busy; the rest is told at once.
func TestPatience(t *testing.T) {
	refused := func(code string, status int, kind failure.Kind) error {
		return fmt.Errorf("in a node: %w", &failure.Error{Code: code, Status: status, Kind: kind})
	}
	unresolved := failure.Wrap("upload", "x", &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}})
	for name, tc := range map[string]struct {
		err  error
		at   stack.Attempt
		want time.Duration
	}{
		"a principal that is not known yet":            {refused("PrincipalNotFound", 400, failure.Waiting), stack.Attempt{Try: 90}, 10 * time.Minute},
		"the role for blobs, just given":               {refused("AuthorizationPermissionMismatch", 403, failure.Waiting), stack.Attempt{Try: 90, Fresh: true}, 10 * time.Minute},
		"the role for blobs, given before":             {refused("AuthorizationPermissionMismatch", 403, failure.Waiting), stack.Attempt{Try: 90}, 5 * time.Minute},
		"a role that was given a short time ago":       {refused("AuthorizationFailed", 403, failure.Waiting), stack.Attempt{Try: 90}, 10 * time.Minute},
		"a role that is missing":                       {refused("AuthorizationFailed", 403, failure.Terminal), stack.Attempt{Try: 1, Fresh: true}, 0},
		"a group that was just made":                   {refused("ResourceGroupNotFound", 404, failure.Terminal), stack.Attempt{Try: 90, Fresh: true}, 5 * time.Minute},
		"a group that is missing":                      {refused("ResourceGroupNotFound", 404, failure.Terminal), stack.Attempt{Try: 1}, 0},
		"the name of an account that was just made":    {unresolved, stack.Attempt{Try: 90, Fresh: true}, 5 * time.Minute},
		"another operation is under way":               {refused("AnotherOperationInProgress", 409, failure.Waiting), stack.Attempt{Try: 90}, 5 * time.Minute},
		"a service that should be there again at once": {refused("ServiceUnavailable", 503, failure.Transient), stack.Attempt{Try: 4}, 5 * time.Minute},
		"a service that stays away":                    {refused("ServiceUnavailable", 503, failure.Transient), stack.Attempt{Try: 5}, 0},
		"a policy":                                     {refused("RequestDisallowedByPolicy", 403, failure.Terminal), stack.Attempt{Try: 1, Fresh: true}, 0},
		"anything else":                                {errors.New("no"), stack.Attempt{Try: 1, Fresh: true}, 0},
	} {
		if got := judge(tc.err, tc.at); got.Patience != tc.want {
			t.Errorf("%s: %+v, want %s", name, got, tc.want)
		}
	}
}
