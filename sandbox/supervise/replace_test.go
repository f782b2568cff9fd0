package supervise

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// TestMain is also the supervisor and its keeper, as processes of their own.
func TestMain(m *testing.M) {
	if len(os.Args) != 4 || (os.Args[1] != "supervisor" && os.Args[1] != KeeperName) {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	part, dir, build := os.Args[1], os.Args[2], os.Args[3]
	err := error(nil)
	if part == KeeperName {
		err = Keep(ctx, dir, []string{os.Args[0], "supervisor", dir, build})
	} else {
		err = Run(ctx, dir, build)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// ensure has a supervisor of a build running two parts.
func ensure(t *testing.T, dir, build string) State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	plan := Plan{Mode: "test", Parts: []Part{sleeper("a"), sleeper("b", "a")}, Watcher: []string{os.Args[0], KeeperName, dir, build}}
	if err := WritePlan(dir, plan); err != nil {
		t.Fatal(err)
	}
	if err := Ensure(ctx, dir, []string{os.Args[0], "supervisor", dir, build}, build); err != nil {
		t.Fatal(err)
	}
	return ready(t, dir, "a", "b", KeeperName)
}

func TestAnotherBuildReplacesTheSupervisor(t *testing.T) {
	dir := tempDir(t)
	t.Cleanup(func() { _ = Stop(context.WithoutCancel(t.Context()), dir) })
	first := ensure(t, dir, "1")
	if again := ensure(t, dir, "1"); again.Supervisor != first.Supervisor {
		t.Error("the same build was started twice")
	}
	second := ensure(t, dir, "2")
	if second.Build != "2" || second.Supervisor == first.Supervisor || first.Supervisor.Alive() || first.Parts[KeeperName].Alive() {
		t.Errorf("the old supervisor: %+v, the new one: %+v", first, second)
	}
	for _, name := range []string{"a", "b"} {
		if second.Parts[name].Process != first.Parts[name].Process || !second.Parts[name].Alive() {
			t.Errorf("part %s did not live on: %+v, then %+v", name, first.Parts[name], second.Parts[name])
		}
	}
	if err := Stop(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for name, part := range second.Parts {
		if part.Alive() {
			t.Errorf("%s still runs", name)
		}
	}
}
