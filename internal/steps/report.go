package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Report tells what became of each step of a pass. The zero value is that of a pass without steps.
type Report struct {
	results  []Result
	position map[ID]int
}

// Results in the order of the plan.
func (r Report) Results() []Result { return slices.Clone(r.results) }

// Outcome of a step; empty for one that is not in the plan or has not had its turn.
func (r Report) Outcome(id ID) Outcome {
	if i, known := r.position[id]; known {
		return r.results[i].Outcome
	}
	return ""
}

// Done tells whether a step succeeded.
func (r Report) Done(id ID) bool { return r.Outcome(id) == Done }

// Err joins what failed, each error with the name of its step.
func (r Report) Err() error {
	var failures []error
	for _, result := range r.results {
		if result.Outcome == Failed {
			failures = append(failures, fmt.Errorf("%s: %w", result.ID, result.Err))
		}
	}
	return errors.Join(failures...)
}

// Again is when to look again without an event: the soonest that a step asks for, or zero.
func (r Report) Again() time.Duration {
	var soonest time.Duration
	for _, result := range r.results {
		var waiting *Waiting
		if errors.As(result.Err, &waiting) && waiting.After > 0 && (soonest == 0 || waiting.After < soonest) {
			soonest = waiting.After
		}
	}
	return soonest
}

// Holds is the first step that waits or stopped, with its *Waiting or *Stopped: what a person asks for who sees that nothing goes on.
// It is nil when no step does.
func (r Report) Holds() (ID, error) {
	for _, result := range r.results {
		if result.Outcome == Waits || result.Outcome == Stops {
			return result.ID, result.Err
		}
	}
	return "", nil
}

// Succeeded tells a running step whether an earlier one, which it declares in Needs or After, is done. It panics for an undeclared
// one: the plan would not show that they hang together.
func Succeeded(ctx context.Context, id ID) bool {
	t, _ := ctx.Value(turnKey{}).(*turn)
	if t == nil {
		panic(fmt.Sprintf("step %q is asked for outside of a pass", id))
	}
	if !slices.Contains(t.declared, id) {
		panic(fmt.Sprintf("step %q asks for %q and does not declare it", t.step, id))
	}
	return t.report.Done(id)
}

type turnKey struct{}

// turn of one step: what it may ask for, and what it has written.
type turn struct {
	step     ID
	declared []ID
	report   Report

	lock   sync.Mutex
	writes []string
}

func (t *turn) wrote(what string) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.writes = append(t.writes, what)
}

func (t *turn) taken() []string {
	t.lock.Lock()
	defer t.lock.Unlock()
	return slices.Clone(t.writes)
}
