package supervise

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sleeper is a part that does nothing; its address makes definitions differ.
func sleeper(name string, after ...string) Part {
	return Part{Name: name, Argv: []string{"/bin/sleep", "1000"}, After: after}
}

func supervisor(t *testing.T, dir string, parts ...Part) (stop func()) {
	t.Helper()
	if err := WritePlan(dir, Plan{Mode: "test", Parts: parts}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, dir, "") }()
	ended := false
	return func() {
		cancel()
		if !ended {
			ended = true
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
}

func tempDir(t *testing.T) string {
	t.Helper()
	// The socket's path must be short.
	dir, err := os.MkdirTemp("", "sup")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Stop would end the supervisor, which is this process.
		if state, err := ReadState(dir); err == nil {
			for _, part := range state.Parts {
				part.Process.stop(0)
			}
		}
		os.RemoveAll(dir)
	})
	return dir
}

func ready(t *testing.T, dir string, names ...string) State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := WaitReady(ctx, dir, names, nil); err != nil {
		t.Fatal(err)
	}
	state, err := Query(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func TestRestart(t *testing.T) {
	dir := tempDir(t)
	stop := supervisor(t, dir, sleeper("a"), sleeper("b", "a"))
	defer stop()
	before := ready(t, dir, "a", "b")
	if err := syscall.Kill(before.Parts["b"].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		after, err := Query(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		b := after.Parts["b"]
		if b.State == Ready && b.PID != before.Parts["b"].PID {
			if b.Restarts != 1 || after.Parts["a"] != before.Parts["a"] {
				t.Errorf("after the end of b: %+v", after.Parts)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("b does not come back: %+v", b)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestAdoption(t *testing.T) {
	dir := tempDir(t)
	stop := supervisor(t, dir, sleeper("same"), sleeper("changes"), sleeper("goes"))
	before := ready(t, dir, "same", "changes", "goes")
	stop()
	if !before.Parts["same"].Alive() {
		t.Fatal("parts end with the supervisor")
	}
	changed := sleeper("changes")
	changed.Env = []string{"NEW=1"}
	stop = supervisor(t, dir, sleeper("same"), changed)
	defer stop()
	after := ready(t, dir, "same", "changes")
	if after.Parts["same"].Process != before.Parts["same"].Process {
		t.Error("a part that ran was not adopted")
	}
	if after.Parts["changes"].Process == before.Parts["changes"].Process || before.Parts["changes"].Alive() {
		t.Error("a part with another definition was not started anew")
	}
	if before.Parts["goes"].Alive() {
		t.Error("a part that is no longer wanted still runs")
	}
}

func TestReloadKeepsWhatDoesNotChange(t *testing.T) {
	dir := tempDir(t)
	stop := supervisor(t, dir, sleeper("a"))
	defer stop()
	before := ready(t, dir, "a")
	if err := WritePlan(dir, Plan{Mode: "more", Parts: []Part{sleeper("a"), sleeper("b", "a")}}); err != nil {
		t.Fatal(err)
	}
	if err := Reload(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	after := ready(t, dir, "a", "b")
	if after.Mode != "more" || after.Parts["a"] != before.Parts["a"] {
		t.Errorf("after the reload: %+v", after)
	}
}

func TestWaitsForDependency(t *testing.T) {
	dir := tempDir(t)
	gate := filepath.Join(dir, "gate")
	first := sleeper("first")
	first.Ready = Probe{File: gate}
	stop := supervisor(t, dir, first, sleeper("second", "first"))
	defer stop()
	time.Sleep(150 * time.Millisecond)
	state, err := Query(t.Context(), dir)
	if err != nil || state.Parts["second"].State != Waiting {
		t.Fatalf("second: %+v, %v", state.Parts["second"], err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ready(t, dir, "first", "second")
}

func TestWaitsForFile(t *testing.T) {
	dir := tempDir(t)
	part := sleeper("a")
	part.AfterFile = filepath.Join(dir, "gate")
	stop := supervisor(t, dir, part)
	defer stop()
	time.Sleep(150 * time.Millisecond)
	if state, err := Query(t.Context(), dir); err != nil || state.Parts["a"].State != Waiting {
		t.Fatalf("%+v, %v", state.Parts["a"], err)
	}
	if err := os.WriteFile(part.AfterFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ready(t, dir, "a")
}

func TestStopEndsEverything(t *testing.T) {
	for _, orphaned := range []bool{false, true} {
		dir := tempDir(t)
		stop := supervisor(t, dir, sleeper("a"), sleeper("b"))
		state := ready(t, dir, "a", "b")
		if orphaned {
			// This process plays the supervisor, so its identity must
			// not be taken for a dead one's.
			stop()
			state.Supervisor = Process{}
			if err := writeJSON(filepath.Join(dir, "state.json"), state, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := call(t.Context(), dir, "POST", "/stop", nil); err != nil && !orphaned {
			t.Fatal(err)
		}
		if orphaned {
			if err := Stop(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
		}
		for name, part := range state.Parts {
			if part.Alive() {
				t.Errorf("orphaned %v: %s still runs", orphaned, name)
			}
		}
		stop()
	}
}

func TestOneSupervisor(t *testing.T) {
	dir := tempDir(t)
	stop := supervisor(t, dir, sleeper("a"))
	defer stop()
	ready(t, dir, "a")
	if err := Run(t.Context(), dir, ""); err == nil {
		t.Error("a second supervisor runs")
	}
}

func TestProcessIdentity(t *testing.T) {
	self, ok := identify(os.Getpid())
	if !ok || !self.Alive() {
		t.Fatalf("own process: %+v", self)
	}
	self.Start++
	if self.Alive() {
		t.Error("a process with the number of another is taken for it")
	}
	if (Process{}).Alive() {
		t.Error("no process is alive")
	}
}

func TestPlanValidate(t *testing.T) {
	for name, test := range map[string]struct {
		parts []Part
		ok    bool
	}{
		"empty":               {nil, true},
		"in order":            {[]Part{sleeper("a"), sleeper("b", "a")}, true},
		"later dependency":    {[]Part{sleeper("a", "b"), sleeper("b")}, false},
		"unknown dependency":  {[]Part{sleeper("a", "x")}, false},
		"twice":               {[]Part{sleeper("a"), sleeper("a")}, false},
		"without a command":   {[]Part{{Name: "a"}}, false},
		"depends on itself":   {[]Part{sleeper("a", "a")}, false},
		"without a name":      {[]Part{{Argv: []string{"x"}}}, false},
		"two of several deps": {[]Part{sleeper("a"), sleeper("b"), sleeper("c", "a", "b")}, true},
	} {
		if err := (Plan{Parts: test.parts}).Validate(); (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRotate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	writer, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if _, err := writer.WriteString("old"); err != nil {
		t.Fatal(err)
	}
	if err := rotate(path); err != nil {
		t.Fatal(err)
	}
	if _, err := writer.WriteString("new"); err != nil {
		t.Fatal(err)
	}
	now, _ := os.ReadFile(path)
	before, _ := os.ReadFile(path + ".1")
	if string(now) != "new" || string(before) != "old" {
		t.Errorf("%q and %q", now, before)
	}
}

func TestDelay(t *testing.T) {
	if delay(0) != 0 {
		t.Error("the first restart is not immediate")
	}
	for n := range 20 {
		if delay(n+1) < delay(n) || delay(n) > 10*time.Second {
			t.Errorf("delay %d: %s", n, delay(n))
		}
	}
}

func TestNobodyWaitsForAHopelessPart(t *testing.T) {
	dir := tempDir(t)
	s := &Supervisor{dir: dir, changed: make(chan struct{})}
	// What it has been through before does not count.
	s.state.Parts = map[string]PartState{"a": {State: BackOff, Restarts: 100}}
	listener, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go s.serve(t.Context(), listener)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := WaitReady(ctx, dir, []string{"a"}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("given up early: %v", err)
	}
	fails := time.AfterFunc(100*time.Millisecond, func() {
		s.update("a", func(p *PartState) { p.Restarts, p.Message = p.Restarts+hopeless, "no such file" })
	})
	defer fails.Stop()
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := WaitReady(ctx, dir, []string{"a"}, nil); !errors.Is(err, errHopeless) || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("waited for a part that fails at every start: %v", err)
	}
}
