// Package steps runs the named steps of a controller's pass: what each one needs is declared and checked when the program starts,
// and what each one did, waits for or failed at is told in one report, one log line and one metric.
package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// ID names a step, in the words of the log and of the label `step`.
type ID string

// Step of a pass over P, which holds what the steps learn from each other.
type Step[P any] struct {
	ID ID
	// Needs are the steps that must be done, or this one is left out.
	Needs []ID
	// After are the steps that must have had their turn, whatever came of them.
	After []ID
	// Run returns nil when the step is done, a *Waiting or a *Stopped, or what failed.
	Run func(P, context.Context) error
}

// Plan is a checked list of steps.
type Plan[P any] struct {
	controller string
	steps      []Step[P]
	position   map[ID]int
	concurrent bool
	told       told
}

// NewPlan checks the steps: no name stands twice, and each names in Needs and After only steps that stand before it. The order of the
// list is the order in which Run takes them. It panics at a mistake, so a plan belongs in a package variable.
func NewPlan[P any](controller string, all ...Step[P]) *Plan[P] {
	plan := &Plan[P]{controller: controller, steps: all, position: map[ID]int{}}
	for i, step := range all {
		if _, twice := plan.position[step.ID]; twice {
			panic(fmt.Sprintf("%s: step %q stands twice", controller, step.ID))
		}
		for _, before := range slices.Concat(step.Needs, step.After) {
			if _, known := plan.position[before]; !known {
				panic(fmt.Sprintf("%s: step %q comes after %q, which does not stand before it", controller, step.ID, before))
			}
		}
		plan.position[step.ID] = i
	}
	return plan
}

// Chain is a plan in which each step needs the one before it.
func Chain[P any](controller string, all ...Step[P]) *Plan[P] {
	linked := slices.Clone(all)
	for i := range linked[min(1, len(linked)):] {
		linked[i+1].Needs = append(slices.Clone(linked[i+1].Needs), linked[i].ID)
	}
	return NewPlan(controller, linked...)
}

// Concurrent has Run take each step as soon as those that it names in Needs and After have had their turn. What two steps share
// that do not come after each other is theirs to lock.
func (p *Plan[P]) Concurrent() *Plan[P] {
	p.concurrent = true
	return p
}

// Waiting is how a step says that nothing is wrong but something is not there yet. It ends the steps that need this one.
type Waiting struct {
	// For completes the sentence "waits for …".
	For string
	// After is when to look again without an event; zero means that an event comes.
	After time.Duration
}

func (w *Waiting) Error() string { return "waits for " + w.For }

// Stopped is how a step says that the steps that need it make no sense now, and that only the user changes this.
type Stopped struct{ Because string }

func (s *Stopped) Error() string { return s.Because }

// Outcome of a step.
type Outcome string

// The outcomes, as the label `outcome` spells them.
const (
	// Done: the step succeeded.
	Done Outcome = "done"
	// Waits: the step returned a *Waiting.
	Waits Outcome = "waits"
	// Stops: the step returned a *Stopped.
	Stops Outcome = "stopped"
	// Failed: the step returned another error.
	Failed Outcome = "failed"
	// LeftOut: a step that it needs was not done.
	LeftOut Outcome = "left out"
)

// Result of one step.
type Result struct {
	ID      ID
	Outcome Outcome
	// Err is what the step returned; for LeftOut it is nil.
	Err error
	// Writes are what the step wrote through a recording client, such as "create Secret demo/pull-secret".
	Writes []string
	Took   time.Duration
}

// Run takes the steps in their order, each at most once. key names the object that the pass is for: what the log says of it is said
// once, until it changes.
func (p *Plan[P]) Run(ctx context.Context, key string, pass P) Report {
	report := Report{results: make([]Result, len(p.steps)), position: p.position}
	if p.concurrent {
		p.runConcurrently(ctx, pass, report)
	} else {
		for i := range p.steps {
			p.take(ctx, i, pass, report)
		}
	}
	p.tell(ctx, key, report)
	return report
}

// runConcurrently starts a goroutine for each step. Those that have to come before are finished, and seen to be, when their channels
// are closed. A panic reaches the caller.
func (p *Plan[P]) runConcurrently(ctx context.Context, pass P, report Report) {
	finished := make([]chan struct{}, len(p.steps))
	for i := range finished {
		finished[i] = make(chan struct{})
	}
	var group errgroup.Group
	for i, step := range p.steps {
		group.Go(func() error {
			defer close(finished[i])
			for _, before := range slices.Concat(step.Needs, step.After) {
				<-finished[p.position[before]]
			}
			p.take(ctx, i, pass, report)
			return nil
		})
	}
	_ = group.Wait() // errors are in the report
}

// take gives a step its turn.
func (p *Plan[P]) take(ctx context.Context, i int, pass P, report Report) {
	step, result := p.steps[i], &report.results[i]
	result.ID = step.ID
	if slices.ContainsFunc(step.Needs, func(need ID) bool { return !report.Done(need) }) {
		result.Outcome = LeftOut
		return
	}
	turn := &turn{step: step.ID, declared: slices.Concat(step.Needs, step.After), report: report}
	began := time.Now()
	result.Err = step.Run(pass, context.WithValue(ctx, turnKey{}, turn))
	result.Took, result.Writes, result.Outcome = time.Since(began), turn.taken(), outcomeOf(result.Err)
}

// Forget drops what the plan remembers of an object that is gone.
func (p *Plan[P]) Forget(key string) { p.told.forget(key) }

func outcomeOf(err error) Outcome {
	var waiting *Waiting
	var stopped *Stopped
	switch {
	case err == nil:
		return Done
	case errors.As(err, &waiting):
		return Waits
	case errors.As(err, &stopped):
		return Stops
	}
	return Failed
}
