package stack

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

// patient repeats after every error, for ten minutes.
func patient(error, Attempt) Verdict { return Verdict{Patience: 10 * time.Minute, For: "the cloud"} }

// clock is a time in which nothing but sleeping takes any.
func clock() (sleep func(context.Context, time.Duration) error, now func() time.Time) {
	var mu sync.Mutex
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return func(_ context.Context, d time.Duration) error {
			mu.Lock()
			defer mu.Unlock()
			at = at.Add(d)
			return nil
		}, func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return at
		}
}

// What passes only by waiting is given up when patience ends and not before, and the error says how long that was.
func TestPatienceEnds(t *testing.T) {
	errBusy := errors.New("busy")
	o := Options{Judge: patient}
	o.Sleep, o.Now = clock()
	begin := o.Now()
	var waits []Wait
	o.Progress = func(e Event) {
		if e.Phase == Waiting {
			waits = append(waits, e.Wait)
		}
	}
	n := &Node{ID: "n", Delete: func(context.Context) error { return errBusy }}
	err := Destroy(context.Background(), []*Node{n}, o)
	if took := o.Now().Sub(begin); took != 10*time.Minute {
		t.Errorf("gave up after %s", took)
	}
	if !errors.Is(err, errBusy) || !strings.Contains(err.Error(), "tries in 10m0s") || !strings.Contains(err.Error(), "run the command again") {
		t.Error(err)
	}
	last := waits[len(waits)-1]
	if waits[0] != (Wait{"the cloud", 0, 10 * time.Minute}) || last.SoFar < 9*time.Minute || last.SoFar >= last.Limit {
		t.Errorf("told: %+v … %+v", waits[0], last)
	}
}

// Each thing that is waited for has its own patience: one that comes late is not cut short by what was waited for before it.
func TestPatienceIsOfOneThing(t *testing.T) {
	errFirst, errSecond := errors.New("first"), errors.New("second")
	o := Options{Judge: func(err error, _ Attempt) Verdict { return Verdict{Patience: time.Minute, For: err.Error()} }}
	o.Sleep, o.Now = clock()
	begin := o.Now()
	n := &Node{ID: "n", Delete: func(context.Context) error {
		switch sofar := o.Now().Sub(begin); {
		case sofar < 50*time.Second:
			return errFirst
		case sofar < 100*time.Second:
			return errSecond
		}
		return nil
	}}
	if err := Destroy(context.Background(), []*Node{n}, o); err != nil {
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
	o := Options{Judge: func(err error, at Attempt) Verdict {
		mu.Lock()
		defer mu.Unlock()
		asked[err.Error()] = at.Fresh
		return Verdict{}
	}}
	if Create(context.Background(), []*Node{c.node("old", nil), c.node("new", nil), failing("in old", "old"), failing("in new", "new")}, o) == nil {
		t.Fatal("no error")
	}
	if asked["in old"] || !asked["in new"] {
		t.Errorf("fresh: %v", asked)
	}
}
