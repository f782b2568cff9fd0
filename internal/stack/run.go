package stack

import (
	"context"
	"errors"
	"fmt"
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

type result struct {
	id  string
	err error
}

// run starts every node whose predecessors have succeeded, up to the parallel limit, and never a node behind a failed one.
func run(ctx context.Context, nodes []*Node, o Options, before edges, work func(context.Context, *Node, Options) error) error {
	if err := Validate(nodes); err != nil {
		return err
	}
	waits := before(nodes)
	byID, _ := index(nodes)
	lanes := newLanes(nodes)
	results := make(chan result)
	started, finished := map[string]bool{}, map[string]bool{}
	var errs []error
	running := 0
	launch := func() {
		for _, n := range nodes {
			if running >= o.Parallel || ctx.Err() != nil {
				return
			}
			if started[n.ID] || !all(waits[n.ID], finished) {
				continue
			}
			started[n.ID] = true
			running++
			go func() {
				unlock := lanes.lock(n.Lane)
				defer unlock()
				results <- result{n.ID, repeat(ctx, n, o, work)}
			}()
		}
	}
	for launch(); running > 0; launch() {
		r := <-results
		running--
		if r.err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", byID[r.id].Kind, byID[r.id].Name, r.err))
			continue
		}
		finished[r.id] = true
	}
	if len(errs) == 0 && len(finished) < len(nodes) {
		return ctx.Err()
	}
	return errors.Join(errs...)
}

func all(ids []string, in map[string]bool) bool {
	for _, id := range ids {
		if !in[id] {
			return false
		}
	}
	return true
}

// repeat tries the work until it succeeds, the judge says stop, or the tries are used up.
func repeat(ctx context.Context, n *Node, o Options, work func(context.Context, *Node, Options) error) error {
	begin := time.Now()
	for try := 1; ; try++ {
		err := work(ctx, n, o)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil || try >= o.Tries || o.Judge(err) == Stop {
			o.Progress(Event{Node: n, Phase: Failed, Elapsed: time.Since(begin), Err: err})
			return err
		}
		o.Progress(Event{Node: n, Phase: Waiting, Elapsed: time.Since(begin), Err: err})
		if o.Sleep(ctx, o.Pause(try)) != nil {
			return err
		}
	}
}

func createNode(ctx context.Context, n *Node, o Options) error {
	begin := time.Now()
	state, err := n.Observe(ctx)
	if err != nil {
		return err
	}
	if state == Current || n.Brought {
		if n.Brought && state == Missing {
			return errors.New("does not exist, though it was named as an existing resource; check the id")
		}
		o.Progress(Event{Node: n, Phase: Kept, Elapsed: time.Since(begin)})
		return nil
	}
	o.Progress(Event{Node: n, Phase: Applying})
	if err := n.Apply(ctx); err != nil {
		return err
	}
	o.Progress(Event{Node: n, Phase: Applied, Elapsed: time.Since(begin)})
	return nil
}

func deleteNode(ctx context.Context, n *Node, o Options) error {
	if n.Brought || n.Delete == nil {
		return nil
	}
	begin := time.Now()
	o.Progress(Event{Node: n, Phase: Deleting})
	if err := n.Delete(ctx); err != nil {
		return err
	}
	o.Progress(Event{Node: n, Phase: Deleted, Elapsed: time.Since(begin)})
	return nil
}

// lanes hold one lock per lane.
type lanes map[string]*sync.Mutex

func newLanes(nodes []*Node) lanes {
	l := lanes{}
	for _, n := range nodes {
		if n.Lane != "" && l[n.Lane] == nil {
			l[n.Lane] = &sync.Mutex{}
		}
	}
	return l
}

func (l lanes) lock(name string) (unlock func()) {
	if m := l[name]; m != nil {
		m.Lock()
		return m.Unlock
	}
	return func() {}
}
