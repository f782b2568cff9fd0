package stack

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// inventory is what an observer of the progress knows.
type inventory struct {
	mu    sync.Mutex
	begun map[string]bool // was missing, and is being made
	ready map[string]bool // is there, on the cloud's word
}

func newInventory() *inventory {
	return &inventory{begun: map[string]bool{}, ready: map[string]bool{}}
}

func (i *inventory) note(e Event) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch e.Phase {
	case Applying:
		i.begun[e.Node.Resource] = i.begun[e.Node.Resource] || e.Missing
	case Applied:
		i.ready[e.Node.Resource] = true
	case Deleted:
		delete(i.begun, e.Node.Resource)
		delete(i.ready, e.Node.Resource)
	}
}

// TestAnObserverKnowsAllThatIsLeft stops creations and destructions anywhere: what an observer has noted by then has everything that exists,
// and nothing is ready that does not exist.
func TestAnObserverKnowsAllThatIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCloud()
		nodes := drawGraph(t, c)
		everyStop(nodes, func(at int, effect bool) {
			c.empty()
			known := newInventory()
			for what, run := range []func(context.Context, []*Node, Options) error{Create, Destroy} {
				c.stop(at, effect)
				_ = run(context.Background(), nodes, Options{Progress: known.note})
				for _, n := range nodes {
					_, exists := c.things[n.ID]
					if exists && !known.begun[n.ID] {
						t.Fatalf("run %d stopped at %d, %v: %s exists and is not on record", what, at, effect, n.ID)
					}
					if what == 0 && known.ready[n.ID] && !exists {
						t.Fatalf("stopped at %d, %v: %s is on record as made and does not exist", at, effect, n.ID)
					}
				}
			}
		})
	})
}

// TestWhatVanishedCountsAsDestroyed has somebody else delete things, with all that is inside them.
func TestWhatVanishedCountsAsDestroyed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCloud()
		nodes := drawGraph(t, c)
		for step, then := range []func(context.Context, []*Node, Options) error{Create, Destroy} {
			if err := Create(context.Background(), nodes, Options{}); err != nil {
				t.Fatal(err)
			}
			gone := map[string]bool{rapid.SampledFrom(nodes).Draw(t, "vanished").ID: true}
			for grown := true; grown; {
				grown = false
				for _, n := range nodes {
					if gone[n.Within] && !gone[n.ID] {
						gone[n.ID], grown = true, true
					}
				}
			}
			for id := range gone {
				delete(c.things, id)
			}
			before := c.writes
			if err := then(context.Background(), nodes, Options{}); err != nil {
				t.Fatal(err)
			}
			if step == 0 && (len(c.things) != 1+len(nodes) || c.writes != before+len(gone)) {
				t.Fatalf("%d of %d things after %d writes for %d that had vanished", len(c.things)-1, len(nodes), c.writes-before, len(gone))
			}
			if step == 1 && len(c.things) != 1 {
				t.Fatalf("left after the destruction: %v", c.things)
			}
		}
		if c.things["foreign"] != 1 {
			t.Fatalf("what is not ours was touched: %v", c.things)
		}
	})
}

// TestAheadLooksWhileADependencyIsMade fails where the look waits: the dependency is only made once it has happened.
func TestAheadLooksWhileADependencyIsMade(t *testing.T) {
	c := newCloud()
	looked := make(chan struct{})
	first, second := c.node("first", nil), c.node("second", []string{"first"})
	make1, look2 := first.Apply, second.Observe
	first.Apply = func(ctx context.Context) error {
		select {
		case <-looked:
			return make1(ctx)
		case <-time.After(5 * time.Second):
			return errors.New("nobody looked ahead")
		}
	}
	looks := 0
	second.Ahead = true
	second.Observe = func(ctx context.Context) (State, error) {
		looks++
		close(looked)
		return look2(ctx)
	}
	if err := Create(context.Background(), []*Node{second, first}, Options{}); err != nil {
		t.Fatal(err)
	}
	if looks != 1 || c.things["second"] != 1 {
		t.Fatalf("%d looks, written %d times", looks, c.things["second"])
	}
}

// TestAFailedLookAheadIsRepeatedInItsTurn looks again, for the error may have passed.
func TestAFailedLookAheadIsRepeatedInItsTurn(t *testing.T) {
	c := newCloud()
	n := c.node("n", nil)
	n.Ahead = true
	look, failures := n.Observe, 1
	n.Observe = func(ctx context.Context) (State, error) {
		if failures--; failures >= 0 {
			return Missing, errStopped
		}
		return look(ctx)
	}
	o := Options{Judge: patient}
	o.Sleep, o.Now = clock()
	if err := Create(context.Background(), []*Node{n}, o); err != nil || c.things["n"] != 1 {
		t.Fatal(err, c.things)
	}
}

func TestTheLongestChainGoesFirst(t *testing.T) {
	c := newCloud()
	nodes := []*Node{c.node("leaf", nil), c.node("other", nil), c.node("end", []string{"middle"}), c.node("middle", []string{"head"}), c.node("head", nil)}
	var order []string
	o := Options{Parallel: 1, Progress: func(e Event) {
		if e.Phase == Applied {
			order = append(order, e.Node.ID)
		}
	}}
	if err := Create(context.Background(), nodes, o); err != nil {
		t.Fatal(err)
	}
	if want := []string{"head", "middle", "leaf", "other", "end"}; !slices.Equal(order, want) {
		t.Fatalf("made in the order %v, want %v", order, want)
	}
}
