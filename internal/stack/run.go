package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

type edges func(nodes []*Node) map[string][]string

func dependencies(nodes []*Node) map[string][]string {
	out := map[string][]string{}
	for _, n := range nodes {
		out[n.ID] = n.DependsOn
	}
	return out
}

func dependents(nodes []*Node) map[string][]string {
	out := map[string][]string{}
	for _, n := range nodes {
		for _, dep := range n.DependsOn {
			out[dep] = append(out[dep], n.ID)
		}
	}
	return out
}

// pass is one run over a stack.
type pass struct {
	Options
	made  sync.Map // ids of the nodes that were missing and that this run has made
	ahead map[string]*look
}

// look is an observation that was begun before its turn.
type look struct {
	done  chan struct{}
	state State
	err   error
}

type result struct {
	node *Node
	err  error
}

// direction is what differs between a creation and a destruction.
type direction struct {
	before edges
	looks  bool
	work   func(*pass, context.Context, *Node, int) error
}

// run starts every node whose predecessors have succeeded, up to the parallel limit, and never a node behind a failed one.
func run(ctx context.Context, nodes []*Node, o Options, d direction) error {
	if err := Validate(nodes); err != nil {
		return err
	}
	p := &pass{Options: o, ahead: map[string]*look{}}
	if d.looks {
		defer p.lookAhead(ctx, nodes)()
	}
	waits := d.before(nodes)
	nodes = longestFirst(nodes, waits)
	results := make(chan result)
	started, finished, busy := map[string]bool{}, map[string]bool{}, map[string]bool{}
	var errs []error
	running := 0
	launch := func() {
		for _, n := range nodes {
			if running >= o.Parallel || ctx.Err() != nil {
				return
			}
			if started[n.ID] || busy[n.Lane] || !all(waits[n.ID], finished) {
				continue
			}
			started[n.ID] = true
			busy[n.Lane] = n.Lane != ""
			running++
			go func() { results <- result{n, p.repeat(ctx, n, d.work)} }()
		}
	}
	for launch(); running > 0; launch() {
		r := <-results
		running--
		busy[r.node.Lane] = false
		if r.err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", r.node.Kind, r.node.Name, r.err))
			continue
		}
		finished[r.node.ID] = true
	}
	if len(errs) == 0 && len(finished) < len(nodes) {
		return ctx.Err()
	}
	return errors.Join(errs...)
}

// longestFirst puts what the longest chains begin with first, where not everything can run at once: a run takes as long as its
// longest chain.
func longestFirst(nodes []*Node, waits map[string][]string) []*Node {
	behind := map[string][]string{}
	for id, deps := range waits {
		for _, dep := range deps {
			behind[dep] = append(behind[dep], id)
		}
	}
	height := map[string]int{} // nodes in the longest chain that begins here
	var measure func(id string) int
	measure = func(id string) int {
		if height[id] == 0 {
			longest := 0
			for _, next := range behind[id] {
				longest = max(longest, measure(next))
			}
			height[id] = 1 + longest
		}
		return height[id]
	}
	return slices.SortedStableFunc(slices.Values(nodes), func(a, b *Node) int { return cmp.Compare(measure(b.ID), measure(a.ID)) })
}

// lookAhead begins the observations that need not wait, and returns a function that ends with the last of them.
func (p *pass) lookAhead(ctx context.Context, nodes []*Node) (wait func()) {
	var wg sync.WaitGroup
	for _, n := range nodes {
		if !n.Ahead {
			continue
		}
		l := &look{done: make(chan struct{})}
		p.ahead[n.ID] = l
		wg.Go(func() {
			defer close(l.done)
			l.state, l.err = n.Observe(ctx)
		})
	}
	return wg.Wait
}

func all(ids []string, in map[string]bool) bool {
	for _, id := range ids {
		if !in[id] {
			return false
		}
	}
	return true
}

// repeat tries the work until it succeeds, the judge says stop, or patience ends.
func (p *pass) repeat(ctx context.Context, n *Node, work func(*pass, context.Context, *Node, int) error) error {
	begin, since := p.Now(), map[string]time.Time{} // since when each thing is waited for
	for try := 1; ; try++ {
		err := work(p, ctx, n, try)
		if err == nil {
			return nil
		}
		now := p.Now()
		verdict := p.Judge(err, Attempt{Try: try, Fresh: p.fresh(n)})
		if since[verdict.For].IsZero() {
			since[verdict.For] = now
		}
		waited := now.Sub(since[verdict.For])
		again := ctx.Err() == nil && verdict.Patience > 0
		if again && waited >= verdict.Patience {
			again, err = false, fmt.Errorf("still so after %d tries in %s, run the command again later: %w", try, now.Sub(begin).Round(time.Second), err)
		}
		if !again {
			p.Progress(Event{Node: n, Phase: Failed, Elapsed: now.Sub(begin), Err: err})
			return err
		}
		p.Progress(Event{Node: n, Phase: Waiting, Elapsed: now.Sub(begin), Err: err, Wait: Wait{For: verdict.For, SoFar: waited, Limit: verdict.Patience}})
		if p.Sleep(ctx, min(p.Pause(try), verdict.Patience-waited)) != nil {
			return err
		}
	}
}

// fresh tells whether this run has made something that the node depends on.
func (p *pass) fresh(n *Node) bool {
	return slices.ContainsFunc(n.DependsOn, func(id string) bool {
		_, made := p.made.Load(id)
		return made
	})
}

func (p *pass) create(ctx context.Context, n *Node, try int) error {
	begin := time.Now()
	state, err := p.observe(ctx, n, try)
	if err != nil {
		return err
	}
	if state == Current || n.Brought {
		if n.Brought && state == Missing {
			return errors.New("does not exist, though it was named as an existing resource; check the id")
		}
		p.Progress(Event{Node: n, Phase: Kept, Elapsed: time.Since(begin)})
		return nil
	}
	p.Progress(Event{Node: n, Phase: Applying, Missing: state == Missing})
	if err := n.Apply(ctx); err != nil {
		return err
	}
	if state == Missing {
		p.made.Store(n.ID, true)
	}
	p.Progress(Event{Node: n, Phase: Applied, Missing: state == Missing, Elapsed: time.Since(begin)})
	return nil
}

// observe spares the look at what lives inside something this run has just made. A second try looks again: the first one may
// have taken effect.
func (p *pass) observe(ctx context.Context, n *Node, try int) (State, error) {
	if _, inNew := p.made.Load(n.Within); inNew && try == 1 && !n.Brought {
		return Missing, nil
	}
	if l := p.ahead[n.ID]; l != nil && try == 1 {
		<-l.done
		return l.state, l.err
	}
	return n.Observe(ctx)
}

func (p *pass) remove(ctx context.Context, n *Node, _ int) error {
	if n.Brought || n.Delete == nil {
		return nil
	}
	begin := time.Now()
	p.Progress(Event{Node: n, Phase: Deleting})
	phase := Deleted
	if err := n.Delete(ctx); errors.Is(err, ErrKept) {
		phase = Kept
	} else if err != nil {
		return err
	}
	p.Progress(Event{Node: n, Phase: phase, Elapsed: time.Since(begin)})
	return nil
}
