// Package stack creates and destroys a set of cloud resources that depend on each other.
//
// A stack is data: nodes with their dependencies and three functions. The engine runs what is ready in parallel, repeats only
// what the error's kind allows, keeps the nodes of one lane apart, and reports every step. Running it again after a stop at
// any point ends in the same state.
package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"
)

// State is what Observe found.
type State int

// What stands where the node should be.
const (
	Missing State = iota
	Current
	Drifted
)

// Node is one resource.
type Node struct {
	ID        string // unique in the stack
	Kind      string // for people: "virtual network"
	Name      string // for people
	Resource  string // its id in the cloud, for an inventory; "" while it is not known, or when it has none
	DependsOn []string
	Within    string // the node it lives inside, one of DependsOn: where that one has just been made, this one cannot exist yet
	Lane      string // nodes of one lane are worked on one at a time; "" is no lane
	Brought   bool   // the user's own: observed, never written, never deleted
	Ahead     bool   // Observe needs nothing that its dependencies make: a creation looks at once, while they are being made

	Observe func(context.Context) (State, error)
	Apply   func(context.Context) error
	Delete  func(context.Context) error
}

// ErrKept is what Delete answers where the resource stays, because others use it: it is told as kept.
var ErrKept = errors.New("others use it")

// Attempt is what a judge knows of a try beside its error.
type Attempt struct {
	Try int // its number, from 1
	// Fresh: this run has made something that the node depends on. The cloud may not know that everywhere yet.
	Fresh bool
}

// Verdict is what the engine does after an error. The zero Verdict gives the error to the caller.
type Verdict struct {
	Patience time.Duration // the work is repeated until so long after the first error for which the same is waited for
	For      string        // what is waited for, to people; "" where the error says it
}

// Phase is a step of a node's life.
type Phase string

// The phases a node goes through.
const (
	Kept     Phase = "kept"
	Applying Phase = "creating"
	Applied  Phase = "created"
	Waiting  Phase = "waiting"
	Deleting Phase = "deleting"
	Deleted  Phase = "deleted"
	Failed   Phase = "failed"
)

// Event tells the progress of one node.
type Event struct {
	Node    *Node
	Phase   Phase
	Elapsed time.Duration // since the node's work began
	Missing bool          // at Applying and Applied: nothing stood there before, so what stands there after is this stack's
	Err     error
	Wait    Wait // at Waiting
}

// Wait is how long is waited already, and how long at most.
type Wait struct {
	For          string // what is waited for; "" where the error says it
	SoFar, Limit time.Duration
}

// Progress is told of every step of a run, by several goroutines at once, each event once. Applied and Deleted come after the
// cloud has confirmed, and nothing that depends on the node begins before Progress has returned: one that stores Node.Resource
// at these two has everything on record but what is under way, also when the run is killed.
type Progress func(Event)

// Options of a run. The zero value works.
type Options struct {
	Parallel int                          // at most so many nodes at once; 0 is 32
	Judge    func(error, Attempt) Verdict // nil stops at every error
	Pause    func(try int) time.Duration
	Progress Progress
	// Sleep and Now are real time when nil; who gives one gives both.
	Sleep func(context.Context, time.Duration) error
	Now   func() time.Time
}

func (o Options) withDefaults() Options {
	if o.Parallel == 0 {
		o.Parallel = 32
	}
	if o.Judge == nil {
		o.Judge = func(error, Attempt) Verdict { return Verdict{} }
	}
	if o.Pause == nil {
		o.Pause = func(try int) time.Duration { return min(time.Duration(try)*500*time.Millisecond, 5*time.Second) }
	}
	if o.Progress == nil {
		o.Progress = func(Event) {}
	}
	if o.Sleep == nil {
		o.Sleep = Sleep
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Sleep waits, and returns the error of a run that is stopped meanwhile.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Validate refuses duplicates, unknown dependencies and cycles.
func Validate(nodes []*Node) error {
	byID, err := index(nodes)
	if err != nil {
		return err
	}
	const visiting, done = 1, 2
	mark := map[string]int{}
	var visit func(id string) error
	visit = func(id string) error {
		switch mark[id] {
		case visiting:
			return fmt.Errorf("the stack has a cycle through %s", id)
		case done:
			return nil
		}
		mark[id] = visiting
		for _, dep := range byID[id].DependsOn {
			if err := visit(dep); err != nil {
				return err
			}
		}
		mark[id] = done
		return nil
	}
	for _, n := range nodes {
		if err := visit(n.ID); err != nil {
			return err
		}
	}
	return nil
}

func index(nodes []*Node) (map[string]*Node, error) {
	byID := make(map[string]*Node, len(nodes))
	for _, n := range nodes {
		if byID[n.ID] != nil {
			return nil, fmt.Errorf("the stack has two nodes %s", n.ID)
		}
		byID[n.ID] = n
	}
	for _, n := range nodes {
		for _, dep := range n.DependsOn {
			if byID[dep] == nil {
				return nil, fmt.Errorf("node %s depends on %s, which is not in the stack", n.ID, dep)
			}
		}
		if n.Within != "" && !slices.Contains(n.DependsOn, n.Within) {
			return nil, fmt.Errorf("node %s lives within %s and does not depend on it", n.ID, n.Within)
		}
	}
	return byID, nil
}

// Create brings every node to Current, dependencies first. It returns the joined errors of the nodes that failed; what does
// not depend on them is still created.
func Create(ctx context.Context, nodes []*Node, o Options) error {
	return run(ctx, nodes, o.withDefaults(), direction{dependencies, true, (*pass).create})
}

// Destroy removes every node that is not brought, dependents first.
func Destroy(ctx context.Context, nodes []*Node, o Options) error {
	return run(ctx, nodes, o.withDefaults(), direction{dependents, false, (*pass).remove})
}

// Step is a line of a plan.
type Step struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Action string `json:"action"` // create, update, keep, use
}

// Plan observes and writes nothing. A node whose prerequisites do not exist yet cannot be observed and will be created.
func Plan(ctx context.Context, nodes []*Node) ([]Step, error) {
	if err := Validate(nodes); err != nil {
		return nil, err
	}
	byID, _ := index(nodes)
	absent := map[string]bool{}
	var steps []Step
	for _, id := range topological(nodes) {
		n := byID[id]
		state, err := Missing, error(nil)
		if !dependsOnAny(n, absent) {
			state, err = n.Observe(ctx)
		}
		if err != nil {
			return nil, err
		}
		absent[id] = state == Missing
		steps = append(steps, Step{Kind: n.Kind, Name: n.Name, Action: action(n, state)})
	}
	return steps, nil
}

func action(n *Node, state State) string {
	switch {
	case n.Brought:
		return "use"
	case state == Missing:
		return "create"
	case state == Drifted:
		return "update"
	}
	return "keep"
}

func dependsOnAny(n *Node, absent map[string]bool) bool {
	for _, dep := range n.DependsOn {
		if absent[dep] {
			return true
		}
	}
	return false
}

// topological orders the ids so that dependencies come first, otherwise as given.
func topological(nodes []*Node) []string {
	byID, _ := index(nodes)
	var order []string
	seen := map[string]bool{}
	var visit func(id string)
	visit = func(id string) {
		if seen[id] {
			return
		}
		seen[id] = true
		deps := append([]string(nil), byID[id].DependsOn...)
		sort.Strings(deps)
		for _, dep := range deps {
			visit(dep)
		}
		order = append(order, id)
	}
	for _, n := range nodes {
		visit(n.ID)
	}
	return order
}
