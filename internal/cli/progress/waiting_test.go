package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// A person reads what is waited for and why, then now and then how long already.
func TestWaitingIsTold(t *testing.T) {
	n := &stack.Node{ID: "n", Kind: "role assignment", Name: "capz"}
	var w waiting
	at := func(seconds int, code string) string {
		return w.words(stack.Event{Node: n, Phase: stack.Waiting, Elapsed: time.Duration(seconds) * time.Second, Err: &failure.Error{Op: "create", Resource: "x", Code: code, Cause: "no"},
			Wait: stack.Wait{For: "Azure to spread the role", SoFar: time.Duration(seconds) * time.Second, Limit: 10 * time.Minute}})
	}
	var told []string
	for seconds := 0; seconds <= 40; seconds += 5 {
		told = append(told, at(seconds, "PrincipalNotFound"))
	}
	told = append(told, at(41, "Throttled"))
	got := strings.Join(told, "\n")
	want := strings.Join([]string{" for Azure to spread the role, 0 s so far, up to 10 min: create x: no (PrincipalNotFound)", "", "", " for Azure to spread the role, 15 s so far, up to 10 min", "", "",
		" for Azure to spread the role, 30 s so far, up to 10 min", "", "", " for Azure to spread the role, 41 s so far, up to 10 min: create x: no (Throttled)"}, "\n")
	if got != want {
		t.Errorf("told\n%s\nwant\n%s", got, want)
	}
}
