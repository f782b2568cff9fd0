package stack

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

// What passes only by waiting is given up at some time, and the error says how long that was.
func TestPatienceEnds(t *testing.T) {
	errBusy := errors.New("busy")
	n := &Node{ID: "n", Delete: func(context.Context) error { return errBusy }}
	err := Destroy(context.Background(), []*Node{n}, Options{Judge: func(error, int, bool) Verdict { return Again }, Tries: 4,
		Sleep: func(context.Context, time.Duration) error { return nil }})
	if !errors.Is(err, errBusy) || !strings.Contains(err.Error(), "still so after 4 tries") || !strings.Contains(err.Error(), "run the command again") {
		t.Error(err)
	}
}

// A judge is told of what hangs on something that this run has made, and of nothing else.
func TestJudgeKnowsWhatIsFresh(t *testing.T) {
	c := newCloud()
	c.things["old"] = 1
	asked := map[string]bool{}
	var mu sync.Mutex
	failing := func(id, on string) *Node {
		n := c.node(id, []string{on})
		n.Apply = func(context.Context) error { return errors.New(id) }
		return n
	}
	o := Options{Judge: func(err error, _ int, fresh bool) Verdict {
		mu.Lock()
		defer mu.Unlock()
		asked[err.Error()] = fresh
		return Stop
	}}
	if Create(context.Background(), []*Node{c.node("old", nil), c.node("new", nil), failing("in old", "old"), failing("in new", "new")}, o) == nil {
		t.Fatal("no error")
	}
	if asked["in old"] || !asked["in new"] {
		t.Errorf("fresh: %v", asked)
	}
}
