package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"

	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

type journal struct{ ran []ID }

func does(id ID, err error) func(*journal, context.Context) error {
	return func(j *journal, _ context.Context) error {
		j.ran = append(j.ran, id)
		return err
	}
}

func TestAFailedStepStopsWhatNeedsItAndNothingElse(t *testing.T) {
	broken := errors.New("broken")
	plan := NewPlan("test",
		Step[*journal]{ID: "a", Run: does("a", broken)},
		Step[*journal]{ID: "b", Needs: []ID{"a"}, Run: does("b", nil)},
		Step[*journal]{ID: "c", Needs: []ID{"b"}, Run: does("c", nil)},
		Step[*journal]{ID: "d", After: []ID{"a"}, Run: does("d", &Waiting{For: "an address", After: 7 * time.Second})},
		Step[*journal]{ID: "e", Run: does("e", fmt.Errorf("around: %w", &Stopped{Because: "not supported"}))},
		Step[*journal]{ID: "f", Needs: []ID{"e"}, Run: does("f", nil)},
		Step[*journal]{ID: "g", Run: does("g", &Waiting{For: "a certificate", After: 9 * time.Second})},
	)
	j := &journal{}
	report := plan.Run(context.Background(), "x/y", j)
	if want := []ID{"a", "d", "e", "g"}; !slices.Equal(j.ran, want) {
		t.Errorf("ran %v, want %v", j.ran, want)
	}
	for id, want := range map[ID]Outcome{"a": Failed, "b": LeftOut, "c": LeftOut, "d": Waits, "e": Stops, "f": LeftOut, "g": Waits, "z": ""} {
		if got := report.Outcome(id); got != want {
			t.Errorf("outcome of %s: %q, want %q", id, got, want)
		}
	}
	if err := report.Err(); !errors.Is(err, broken) || err.Error() != "a: broken" {
		t.Errorf("error %v", err)
	}
	if report.Again() != 7*time.Second {
		t.Errorf("again after %s", report.Again())
	}
	if id, why := report.Holds(); id != "d" || why.Error() != "waits for an address" {
		t.Errorf("holds: %s %v", id, why)
	}
}

func TestAMistakeInThePlanEndsTheProgram(t *testing.T) {
	run := does("", nil)
	for title, all := range map[string][]Step[*journal]{
		"stands twice":                           {{ID: "a", Run: run}, {ID: "a", Run: run}},
		`"b", which does not stand before it`:    {{ID: "a", Needs: []ID{"b"}, Run: run}, {ID: "b", Run: run}},
		`"typo", which does not stand before it`: {{ID: "a", Run: run}, {ID: "b", After: []ID{"typo"}, Run: run}},
	} {
		if got := panics(func() { NewPlan("test", all...) }); !strings.Contains(got, title) {
			t.Errorf("panic %q, want %q", got, title)
		}
	}
}

func TestAStepAsksOnlyForWhatItDeclares(t *testing.T) {
	asks := func(_ *journal, ctx context.Context) error {
		if Succeeded(ctx, "a") {
			return nil
		}
		return errors.New("a is not done")
	}
	undeclared := NewPlan("test", Step[*journal]{ID: "a", Run: does("a", nil)}, Step[*journal]{ID: "b", Run: asks})
	if got := panics(func() { undeclared.Run(context.Background(), "", &journal{}) }); !strings.Contains(got, `step "b" asks for "a"`) {
		t.Errorf("panic %q", got)
	}
	declared := NewPlan("test", Step[*journal]{ID: "a", Run: does("a", nil)}, Step[*journal]{ID: "b", After: []ID{"a"}, Run: asks})
	if err := declared.Run(context.Background(), "", &journal{}).Err(); err != nil {
		t.Error(err)
	}
}

func TestTheLogTellsAReasonOnce(t *testing.T) {
	var lines []string
	ctx := log.IntoContext(context.Background(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	why := "a"
	plan := NewPlan("test", Step[*journal]{ID: "s", Run: func(*journal, context.Context) error {
		if why == "" {
			return nil
		}
		return &Waiting{For: why}
	}})
	count := func(want int, when string) {
		t.Helper()
		plan.Run(ctx, "x/y", nil)
		if len(lines) != want {
			t.Errorf("%s: %d lines, want %d: %v", when, len(lines), want, lines)
		}
	}
	count(1, "new")
	count(1, "the same again")
	why = "b"
	count(2, "another reason")
	why = ""
	count(2, "done")
	why = "b"
	count(3, "again after it was done")
	plan.Forget("x/y")
	count(4, "another object of that name")
}

// Whatever steps fail or wait: a step runs exactly when all that it needs are done, in the order of the plan.
func TestRandomPlans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "steps")
		all, bad := make([]Step[*journal], n), make([]bool, n)
		for i := range all {
			id := ID(fmt.Sprint(i))
			var err error
			switch rapid.IntRange(0, 4).Draw(t, "outcome") {
			case 0:
				err = errors.New("failed")
			case 1:
				err = &Waiting{For: "x"}
			case 2:
				err = &Stopped{Because: "x"}
			}
			all[i] = Step[*journal]{ID: id, Run: does(id, err)}
			left := false
			for before := range i {
				if rapid.IntRange(0, 3).Draw(t, "needs") == 0 {
					all[i].Needs = append(all[i].Needs, ID(fmt.Sprint(before)))
					left = left || bad[before]
				}
			}
			bad[i] = left || err != nil
		}
		concurrent := NewPlan("test", lockEach(all)...).Concurrent().Run(context.Background(), "", &journal{})
		j := &journal{}
		report := NewPlan("test", all...).Run(context.Background(), "", j)
		for _, step := range all {
			if one, other := report.Outcome(step.ID), concurrent.Outcome(step.ID); one != other {
				t.Fatalf("step %s: %s in order, %s at the same time", step.ID, one, other)
			}
		}
		if !slices.IsSortedFunc(j.ran, func(a, b ID) int { return len(a) - len(b) }) {
			t.Fatalf("ran out of order: %v", j.ran)
		}
		for i, step := range all {
			if report.Done(step.ID) == bad[i] {
				t.Fatalf("step %s: %s, bad %t", step.ID, report.Outcome(step.ID), bad[i])
			}
			ran := slices.Contains(j.ran, step.ID)
			if left := report.Outcome(step.ID) == LeftOut; left == ran {
				t.Fatalf("step %s ran %t and was left out %t", step.ID, ran, left)
			}
		}
	})
}

// lockEach makes the steps of a journal fit to run at the same time.
func lockEach(all []Step[*journal]) []Step[*journal] {
	var lock sync.Mutex
	locked := slices.Clone(all)
	for i, step := range all {
		locked[i].Run = func(j *journal, ctx context.Context) error {
			lock.Lock()
			defer lock.Unlock()
			return step.Run(j, ctx)
		}
	}
	return locked
}

func TestConcurrentStepsWaitForNobodyElse(t *testing.T) {
	met := make(chan struct{})
	meet := func(_ *journal, ctx context.Context) error {
		select {
		case met <- struct{}{}:
		case <-met:
		case <-time.After(10 * time.Second):
			return errors.New("the other step did not run at the same time")
		}
		return nil
	}
	last := func(j *journal, ctx context.Context) error {
		if !Succeeded(ctx, "a") || !Succeeded(ctx, "b") {
			return errors.New("ran before a and b")
		}
		return nil
	}
	plan := NewPlan("test", Step[*journal]{ID: "a", Run: meet}, Step[*journal]{ID: "b", Run: meet}, Step[*journal]{ID: "c", Needs: []ID{"a"}, After: []ID{"b"}, Run: last})
	if err := plan.Concurrent().Run(context.Background(), "", &journal{}).Err(); err != nil {
		t.Error(err)
	}
}

func TestChain(t *testing.T) {
	plan := Chain("test", Step[*journal]{ID: "a", Run: does("a", nil)}, Step[*journal]{ID: "b", Run: does("b", &Waiting{For: "x"})}, Step[*journal]{ID: "c", Run: does("c", nil)})
	j := &journal{}
	if report := plan.Run(context.Background(), "", j); !slices.Equal(j.ran, []ID{"a", "b"}) || report.Outcome("c") != LeftOut {
		t.Errorf("ran %v", j.ran)
	}
}

func panics(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}
