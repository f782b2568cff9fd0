package fault

import (
	"context"
	"time"
)

// Some faults need to know more than the request shows. The plane that knows asks for them.

type contextKey struct{}

// pending are the rules for a request that its plane may ask for.
type pending struct {
	injector *Injector
	rules    []*state
	hit      map[string]bool // kinds of delay that are counted
}

func pendingOf(ctx context.Context) *pending {
	p, _ := ctx.Value(contextKey{}).(*pending)
	return p
}

// Operation is how a long-running operation goes wrong.
type Operation struct {
	Delay         time.Duration // added to the time it takes
	Code, Message string        // of its failure; Code "" is success
}

// TakeOperation tells how the long-running operation that a request starts shall go wrong. It counts as a hit.
func TakeOperation(ctx context.Context) Operation {
	var out Operation
	p := pendingOf(ctx)
	if p == nil {
		return out
	}
	p.injector.mu.Lock()
	defer p.injector.mu.Unlock()
	for _, s := range p.rules {
		if s.Operation == "" || s.exhausted() || !s.fire() {
			continue
		}
		noteFault(ctx, s.ID)
		if s.Operation == OperationFail {
			out.Code, out.Message = s.Code, s.Message
			if out.Code == "" {
				out.Code = "InternalExecutionError"
			}
		}
		out.Delay += s.wait()
		p.injector.persist(s)
	}
	return out
}

// Delay is how long the effect of a creation takes to spread.
type Delay struct {
	Time time.Duration // by the rules
	Code string        // of the refusal meanwhile, when the rule has one

	unseen func(created time.Time) bool
}

// None tells that everything is seen at once.
func (d Delay) None() bool { return d.Time == 0 && d.unseen == nil }

// Holds tells that a rule keeps something created at a time from being seen.
func (d Delay) Holds(created time.Time) bool {
	return d.Time > 0 && time.Since(created) < d.Time
}

// Hides tells that something created at a time is not visible yet.
func (d Delay) Hides(created time.Time) bool {
	return d.Holds(created) || d.unseen != nil && d.unseen(created)
}

// Propagation returns the longest delay of a kind for a request, and what is unseen without a rule.
func Propagation(ctx context.Context, kind string) Delay {
	var out Delay
	p := pendingOf(ctx)
	if p == nil {
		return out
	}
	if unseen := p.injector.unseen; unseen != nil {
		out.unseen = func(created time.Time) bool { return unseen(kind, created) }
	}
	for _, s := range p.rules {
		if s.Propagate == kind && s.wait() > out.Time {
			out.Time, out.Code = s.wait(), s.Code
		}
	}
	return out
}

// Hit counts a request that a propagation delay made fail.
func Hit(ctx context.Context, kind string) {
	p := pendingOf(ctx)
	if p == nil {
		return
	}
	p.injector.mu.Lock()
	defer p.injector.mu.Unlock()
	if p.hit[kind] {
		return
	}
	p.hit[kind] = true
	for _, s := range p.rules {
		if s.Propagate == kind {
			s.Matched++
			s.Fired++
			noteFault(ctx, s.ID)
		}
	}
}
