package preflight_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/preflight/preflighttest"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

// TestRelease: each trouble of a payload, with the check that finds it and its word.
func TestRelease(t *testing.T) {
	registry, tally := releasetest.New(t), preflighttest.New()
	for _, tc := range []struct {
		title   string
		payload *releasetest.Payload
		answer  int
		change  func(*preflight.Payload)
		check   string
		status  preflight.Status
		word    string
	}{
		{title: "good", payload: &releasetest.Payload{Version: "4.21.3"}, check: "release version", status: preflight.Pass, word: "4.21.3"},
		{title: "kind", payload: &releasetest.Payload{Version: "4.21.0", With: releasetest.OpenShiftKeys}, check: "release payload", status: preflight.Pass, word: "kind OpenShift"},
		{title: "arch", payload: &releasetest.Payload{Version: "4.21.0", Architecture: "amd64"}, change: func(p *preflight.Payload) { p.Arch = "arm64" }, check: "release payload", status: preflight.Fail, word: "is for"},
		{title: "newer", payload: &releasetest.Payload{Version: "4.99.0"}, check: "release version", status: preflight.Fail, word: "the operator runs 4.20, 4.21"},
		{title: "operator", payload: &releasetest.Payload{Version: "4.21.0"}, change: func(p *preflight.Payload) { p.Minors, p.MinorsErr = nil, errors.New("no operator") }, check: "release version", status: preflight.Skip, word: "no operator"},
		{title: "absent", check: "release payload", status: preflight.Fail, word: "NotFound"},
		{title: "none", payload: &releasetest.Payload{References: "{"}, check: "release payload", status: preflight.Fail, word: "NotAPayload"},
		{title: "secret", answer: http.StatusUnauthorized, check: "pull secret", status: preflight.Fail, word: "Unauthorized"},
		{title: "broken", change: func(p *preflight.Payload) { p.Access.PullSecret = []byte("{") }, payload: &releasetest.Payload{Version: "4.21.0"}, check: "pull secret", status: preflight.Fail, word: "InvalidPullSecret"},
		{title: "away", answer: http.StatusTooManyRequests, check: "release payload", status: preflight.Warn, word: "Unreachable"},
	} {
		t.Run(tc.title, func(t *testing.T) {
			if tc.payload != nil {
				registry.PushPayload(t, tc.title, *tc.payload)
			}
			registry.Answer(tc.answer)
			defer registry.Answer(0)
			p := preflight.Payload{Image: registry.Reference(tc.title), Releases: release.Reader{}, Minors: []string{"4.20", "4.21"}, Arch: "amd64"}
			if tc.change != nil {
				tc.change(&p)
			}
			checks, found := preflight.Release(t.Context(), p)
			if (found != nil) != (len(checks) == 3) {
				t.Errorf("%v with %+v", found, checks)
			}
			told := false
			tally.Found(t, checks)
			for _, c := range checks {
				told = told || c.Name == tc.check && c.Status == tc.status && strings.Contains(c.Detail, tc.word)
			}
			if !told {
				t.Errorf("%+v, want %s to %s with %q", checks, tc.check, tc.status, tc.word)
			}
		})
	}
	tally.Complete(t, preflight.AtRelease)
}
