package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/test/chaos/history"
)

// TestClients: at an API server that nothing goes wrong with, what clients saw has no violation, and is not empty; with one answer forged it has one.
func TestClients(t *testing.T) {
	guest, err := kubernetes.NewForConfig(kubetest.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	c, err := newClients(t.Context(), guest, 2)
	if err != nil {
		t.Fatal(err)
	}
	working, stop := context.WithCancel(t.Context())
	defer stop()
	var busy, watching sync.WaitGroup
	var seen history.Watch
	var failed error
	watching.Go(func() { seen, failed = c.follow(t.Context(), "watch") })
	for i := range 4 {
		busy.Go(func() { c.work(working, i, i < 2, 50, rand.New(rand.NewPCG(1, uint64(i)))) })
	}
	for done := 0; done < 60; time.Sleep(10 * time.Millisecond) {
		c.lock.Lock()
		done = len(c.operations)
		c.lock.Unlock()
	}
	stop()
	busy.Wait()
	final, err := c.end(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	watching.Wait()
	acknowledged := 0
	for _, o := range c.operations {
		if o.Acknowledged && o.Write {
			acknowledged++
		}
	}
	if failed != nil || acknowledged == 0 || len(seen.Events) == 0 {
		t.Fatalf("%v; %d writes were acknowledged, and %d events told", failed, acknowledged, len(seen.Events))
	}
	if found := history.Check(c.operations, []history.Watch{seen}, final); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	for i := range c.operations {
		if c.operations[i].Acknowledged && !c.operations[i].Write {
			c.operations[i].Value = "forged"
			break
		}
	}
	if len(history.Check(c.operations, []history.Watch{seen}, final)) == 0 {
		t.Error("a forged answer is not found")
	}
}

// TestHarm: each fault is undone, also the one under way when the time is over, and what cannot be made ends the run.
func TestHarm(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	begun, undone := 0, 0
	all := []fault{{"one", func(context.Context, *rand.Rand) (string, func(context.Context) error, error) {
		begun++
		if begun == 3 {
			stop()
		}
		return "it", func(ctx context.Context) error {
			undone++
			return ctx.Err()
		}, nil
	}}}
	list, err := harm(ctx, all, time.Millisecond, time.Millisecond, rand.New(rand.NewPCG(1, 1)), time.Now())
	if err != nil || begun != 3 || undone != 3 || len(list) != 3 || list[0].Name != "one" || list[0].Hit != "it" {
		t.Errorf("%v; %d begun, %d undone: %v", err, begun, undone, list)
	}
	broken := []fault{{"one", func(context.Context, *rand.Rand) (string, func(context.Context) error, error) {
		return "", nil, context.DeadlineExceeded
	}}}
	if _, err := harm(t.Context(), broken, 1, 1, rand.New(rand.NewPCG(1, 1)), time.Now()); err == nil {
		t.Error("a fault that cannot be made is passed over")
	}
}

// TestEveryKindIsMade: each round has every kind of fault once, whatever the seed, and the usual time has room for more than one round.
func TestEveryKindIsMade(t *testing.T) {
	kinds := (&world{}).kinds([]string{"management-0", "management-1", "management-2"}, true)
	for _, name := range []string{"a node dies", "a disk is full", "a disk is slow", "the clock steps"} {
		if !slices.ContainsFunc(kinds, func(f fault) bool { return f.name == name }) {
			t.Errorf("there is no fault %q", name)
		}
	}
	if round := time.Duration(len(kinds)) * (usualPause + usualHold); round > usualDuration*3/4 {
		t.Errorf("all kinds of faults take %s without the time to make them, of %s", round, usualDuration)
	}
	if got := len((&world{}).kinds([]string{"management-0"}, false)); got != len(kinds)-5 {
		t.Errorf("of %d kinds %d are left where there is one node and the clock stays", len(kinds), got)
	}
	for seed := range uint64(5) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		count := 0
		for i := range kinds {
			kinds[i].begin = func(context.Context, *rand.Rand) (string, func(context.Context) error, error) {
				if count++; count == 3*len(kinds) {
					stop()
				}
				return "", nil, nil
			}
		}
		list, err := harm(ctx, kinds, 0, time.Millisecond, rand.New(rand.NewPCG(seed, 0)), time.Now())
		if err != nil || len(list) != 3*len(kinds) {
			t.Fatalf("%d faults: %v", len(list), err)
		}
		for round := range slices.Chunk(list, len(kinds)) {
			if left := notMade(kinds, round); len(left) > 0 {
				t.Errorf("with seed %d a round is without %v", seed, left)
			}
		}
		if left := notMade(kinds, list[:len(kinds)-1]); len(left) != 1 {
			t.Errorf("before the first round is over, %v are left", left)
		}
	}
}
