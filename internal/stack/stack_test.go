package stack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// cloud is a world of resources in which a call can be the last one before a stop, before or after it took effect.
type cloud struct {
	mu     sync.Mutex
	things map[string]int // id -> generation written
	writes int
	calls  int
	stopAt int  // this call fails; 0 is never
	effect bool // the failing call has taken effect
}

var errStopped = errors.New("stopped")

func (c *cloud) call(write func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	stop := c.stopAt != 0 && c.calls >= c.stopAt
	if stop && !(c.effect && c.calls == c.stopAt) {
		return errStopped
	}
	write()
	if stop {
		return errStopped
	}
	return nil
}

func (c *cloud) node(id string, deps []string) *Node {
	return &Node{ID: id, Kind: "thing", Name: id, Resource: id, DependsOn: deps,
		Observe: func(context.Context) (State, error) {
			state := Missing
			err := c.call(func() {
				if _, ok := c.things[id]; ok {
					state = Current
				}
			})
			return state, err
		},
		Apply: func(context.Context) error {
			return c.call(func() {
				for _, dep := range deps {
					if _, ok := c.things[dep]; !ok {
						panic(id + " made before " + dep)
					}
				}
				c.things[id]++
				c.writes++
			})
		},
		Delete: func(context.Context) error {
			return c.call(func() { delete(c.things, id); c.writes++ })
		}}
}

func drawGraph(t *rapid.T, c *cloud) []*Node {
	n := rapid.IntRange(1, 12).Draw(t, "nodes")
	var nodes []*Node
	for i := range n {
		var deps []string
		for j := range i {
			if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
				deps = append(deps, fmt.Sprint("n", j))
			}
		}
		node := c.node(fmt.Sprint("n", i), deps)
		if len(deps) > 0 && rapid.Bool().Draw(t, "within") {
			node.Within = deps[0]
		}
		if rapid.IntRange(0, 3).Draw(t, "lane") == 0 {
			node.Lane = "one"
		}
		node.Ahead = rapid.Bool().Draw(t, "ahead")
		nodes = append(nodes, node)
	}
	return rapid.Permutation(nodes).Draw(t, "order")
}

func newCloud() *cloud { return &cloud{things: map[string]int{"foreign": 1}} }

// everyStop calls fn for each call that an undisturbed run can make, once stopped before and once after it took effect.
func everyStop(nodes []*Node, fn func(at int, effect bool)) {
	for at := 1; at <= 2*len(nodes); at++ {
		fn(at, false)
		fn(at, true)
	}
}

func (c *cloud) stop(at int, effect bool) { c.calls, c.stopAt, c.effect = 0, at, effect }

func (c *cloud) empty() { c.things = newCloud().things }

func TestStoppedAnywhereAndRunAgainEndsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCloud()
		nodes := drawGraph(t, c)
		everyStop(nodes, func(at int, effect bool) {
			c.empty()
			c.stop(at, effect)
			_ = Create(context.Background(), nodes, Options{Parallel: 3})
			c.stop(0, false)
			if err := Create(context.Background(), nodes, Options{Parallel: 3}); err != nil {
				t.Fatalf("stopped at %d, %v: %v", at, effect, err)
			}
			for _, n := range nodes {
				if c.things[n.ID] != 1 {
					t.Fatalf("stopped at %d, %v: %s was written %d times", at, effect, n.ID, c.things[n.ID])
				}
			}
			before := c.writes
			if err := Create(context.Background(), nodes, Options{}); err != nil || c.writes != before {
				t.Fatalf("a run that had nothing to do made %d writes, error %v", c.writes-before, err)
			}
		})
	})
}

func TestDestroyAfterAnyPrefixLeavesNothingOfOurs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCloud()
		nodes := drawGraph(t, c)
		everyStop(nodes, func(at int, effect bool) {
			c.empty()
			c.stop(at, effect) // while creating
			_ = Create(context.Background(), nodes, Options{})
			c.stop(at, effect) // while destroying
			_ = Destroy(context.Background(), nodes, Options{})
			c.stop(0, false)
			if err := Destroy(context.Background(), nodes, Options{}); err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(c.things, newCloud().things) {
				t.Fatalf("stopped at %d, %v; left: %v", at, effect, c.things)
			}
		})
	})
}

func TestTwoRunsAtOnceConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCloud()
		nodes := drawGraph(t, c)
		for _, step := range []struct {
			run  func(context.Context, []*Node, Options) error
			left int
		}{{Create, 1 + len(nodes)}, {Destroy, 1}} {
			errs := make(chan error, 2)
			for range 2 {
				go func() { errs <- step.run(context.Background(), nodes, Options{}) }()
			}
			if err := errors.Join(<-errs, <-errs); err != nil {
				t.Fatal(err)
			}
			if len(c.things) != step.left || c.things["foreign"] != 1 {
				t.Fatalf("there are %v", c.things)
			}
		}
	})
}

// TestBroughtAmongOurs has some nodes be the user's: neither a creation nor a destruction, stopped or not, writes them.
func TestBroughtAmongOurs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCloud()
		nodes := drawGraph(t, c)
		theirs := newCloud().things
		for _, n := range nodes {
			// What the user brings does not depend on what we make.
			if len(n.DependsOn) == 0 && rapid.Bool().Draw(t, "brought") {
				n.Brought, n.Apply, n.Delete = true, nil, nil
				theirs[n.ID] = 7
			}
		}
		everyStop(nodes, func(at int, effect bool) {
			c.things = maps.Clone(theirs)
			c.stop(at, effect)
			_ = Create(context.Background(), nodes, Options{})
			c.stop(0, false)
			if err := Create(context.Background(), nodes, Options{}); err != nil {
				t.Fatal(err)
			}
			if err := Destroy(context.Background(), nodes, Options{}); err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(c.things, theirs) {
				t.Fatalf("left %v, want %v", c.things, theirs)
			}
		})
	})
}

// TestDriftIsReplacedInPlace stands for an assignment whose principal was deleted.
func TestDriftIsReplacedInPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCloud()
		nodes := drawGraph(t, c)
		stale := rapid.SampledFrom(nodes).Draw(t, "stale")
		look := stale.Observe
		stale.Observe = func(ctx context.Context) (State, error) {
			state, err := look(ctx)
			c.mu.Lock()
			defer c.mu.Unlock()
			if state == Current && c.things[stale.ID] == staleGeneration {
				state = Drifted
			}
			return state, err
		}
		if err := Create(context.Background(), nodes, Options{}); err != nil {
			t.Fatal(err)
		}
		c.things[stale.ID] = staleGeneration
		before := c.writes
		if err := Create(context.Background(), nodes, Options{}); err != nil {
			t.Fatal(err)
		}
		if c.writes != before+1 || c.things[stale.ID] == staleGeneration {
			t.Fatalf("%d writes, generation %d", c.writes-before, c.things[stale.ID])
		}
	})
}

const staleGeneration = -1

// TestInsideOfWhatWasJustMadeIsNotLookedFor counts the looks, and looks again where a first try failed.
func TestInsideOfWhatWasJustMadeIsNotLookedFor(t *testing.T) {
	c := newCloud()
	outer, inner := c.node("outer", nil), c.node("inner", []string{"outer"})
	inner.Within = "outer"
	apply, failures := inner.Apply, 1
	inner.Apply = func(ctx context.Context) error {
		err := apply(ctx)
		if failures--; failures >= 0 {
			return errStopped // the write took effect, its answer is lost
		}
		return err
	}
	o := Options{Judge: patient}
	o.Sleep, o.Now = clock()
	if err := Create(context.Background(), []*Node{outer, inner}, o); err != nil {
		t.Fatal(err)
	}
	// look, make, make with a lost answer, look.
	if c.calls != 4 || c.things["inner"] != 1 {
		t.Fatalf("%d calls, inner written %d times", c.calls, c.things["inner"])
	}
}

func TestBroughtNodesAreNeitherWrittenNorDeleted(t *testing.T) {
	c := newCloud()
	n := c.node("foreign", nil)
	n.Brought, n.Apply, n.Delete = true, nil, nil
	for _, run := range []func(context.Context, []*Node, Options) error{Create, Destroy} {
		if err := run(context.Background(), []*Node{n}, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if c.writes != 0 || c.things["foreign"] != 1 {
		t.Fatalf("the brought resource was touched: %+v", c.things)
	}
	absent := c.node("absent", nil)
	absent.Brought = true
	if err := Create(context.Background(), []*Node{absent}, Options{}); err == nil {
		t.Fatal("a brought resource that does not exist was accepted")
	}
}

// TestKeptIsNotToldAsDeleted: a resource that others use stays when its node is deleted, and whoever watches is told so.
func TestKeptIsNotToldAsDeleted(t *testing.T) {
	var phases []Phase
	shared := &Node{ID: "shared", Delete: func(context.Context) error { return fmt.Errorf("account: %w", ErrKept) }}
	err := Destroy(context.Background(), []*Node{shared}, Options{Progress: func(e Event) { phases = append(phases, e.Phase) }})
	if err != nil || !slices.Equal(phases, []Phase{Deleting, Kept}) {
		t.Fatalf("%v, told %v", err, phases)
	}
}

func TestLanesAreSerial(t *testing.T) {
	var mu sync.Mutex
	inside, worst := 0, 0
	var nodes []*Node
	for i := range 8 {
		nodes = append(nodes, &Node{ID: fmt.Sprint(i), Lane: "one",
			Observe: func(context.Context) (State, error) { return Missing, nil },
			Apply: func(context.Context) error {
				mu.Lock()
				inside++
				worst = max(worst, inside)
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				inside--
				mu.Unlock()
				return nil
			}})
	}
	if err := Create(context.Background(), nodes, Options{}); err != nil {
		t.Fatal(err)
	}
	if worst != 1 {
		t.Fatalf("%d writes at once in one lane", worst)
	}
}

func TestJudgeDecidesWhatIsRepeated(t *testing.T) {
	errPassing, errFinal := errors.New("passing"), errors.New("final")
	judge := func(err error, at Attempt) Verdict {
		if errors.Is(err, errPassing) {
			return patient(err, at)
		}
		return Verdict{}
	}
	for name, tc := range map[string]struct {
		errs  []error
		tries int
		want  error
	}{
		"passing then well": {[]error{errPassing, errPassing}, 3, nil},
		"final":             {[]error{errFinal, nil}, 1, errFinal},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			n := &Node{ID: "n", Observe: func(context.Context) (State, error) { return Missing, nil },
				Apply: func(context.Context) error {
					tries++
					if tries <= len(tc.errs) {
						return tc.errs[tries-1]
					}
					return nil
				}}
			o := Options{Judge: judge}
			o.Sleep, o.Now = clock()
			err := Create(context.Background(), []*Node{n}, o)
			if !errors.Is(err, tc.want) || tries != tc.tries {
				t.Fatalf("error %v after %d tries, want %v after %d", err, tries, tc.want, tc.tries)
			}
		})
	}
}

func TestWhatDoesNotDependOnAFailureIsStillMade(t *testing.T) {
	c := newCloud()
	bad := c.node("bad", nil)
	bad.Apply = func(context.Context) error { return errStopped }
	nodes := []*Node{bad, c.node("behind", []string{"bad"}), c.node("beside", nil)}
	if err := Create(context.Background(), nodes, Options{}); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	if c.things["beside"] != 1 || c.things["behind"] != 0 {
		t.Fatalf("made: %v", c.things)
	}
}

func TestValidateRefusesBrokenGraphs(t *testing.T) {
	for name, nodes := range map[string][]*Node{
		"cycle":     {{ID: "a", DependsOn: []string{"b"}}, {ID: "b", DependsOn: []string{"a"}}},
		"unknown":   {{ID: "a", DependsOn: []string{"b"}}},
		"duplicate": {{ID: "a"}, {ID: "a"}},
		"within":    {{ID: "a"}, {ID: "b", Within: "a"}},
	} {
		if Validate(nodes) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestPlanWritesNothing(t *testing.T) {
	c := newCloud()
	first, second := c.node("first", nil), c.node("second", []string{"first"})
	if err := Create(context.Background(), []*Node{first}, Options{}); err != nil {
		t.Fatal(err)
	}
	before := c.writes
	steps, err := Plan(context.Background(), []*Node{second, first})
	if err != nil || c.writes != before {
		t.Fatal(err, c.writes)
	}
	want := []Step{{"thing", "first", "keep"}, {"thing", "second", "create"}}
	if fmt.Sprint(steps) != fmt.Sprint(want) {
		t.Fatalf("plan %v, want %v", steps, want)
	}
}
