package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// scripted is a supervisor of whom nothing is there but its answers.
func scripted(t *testing.T, parts map[string]PartState) (*Supervisor, string) {
	t.Helper()
	dir := tempDir(t)
	s := &Supervisor{dir: dir, changed: make(chan struct{}), done: make(chan struct{}), state: State{Parts: parts}}
	listener, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go s.serve(t.Context(), listener)
	return s, dir
}

// Each part is told of once, when it becomes ready; one that is unready for a moment after that is not waited for again.
func TestWaitReadyTellsOnce(t *testing.T) {
	s, dir := scripted(t, map[string]PartState{"a": {State: Ready}, "b": {State: Waiting}, "c": {State: BackOff}})
	told := make(chan string, 10)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- WaitReady(ctx, dir, []string{"a", "b"}, func(name string) { told <- name }) }()
	if got := <-told; got != "a" {
		t.Errorf("told of %s first", got)
	}
	s.update("a", func(p *PartState) { p.State = Unready })
	s.update("b", func(p *PartState) { p.State = Ready })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	close(told)
	if rest := slices.Collect(func(yield func(string) bool) {
		for name := range told {
			if !yield(name) {
				return
			}
		}
	}); !slices.Equal(rest, []string{"b"}) {
		t.Errorf("told of %v after a", rest)
	}
}

// Who waits in vain is told what for: other parts, or what the part has said.
func TestWaitReadyExplains(t *testing.T) {
	_, dir := scripted(t, map[string]PartState{
		"ready": {State: Ready}, "waits": {State: Waiting}, "fails": {State: BackOff, Restarts: 4, Message: "exit status 2"}, "sick": {State: Unready,
			Message: "answers 503"}})
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(logPath(dir, "fails"), []byte("port 443 is taken\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"waits": {"waits still waits for other parts"},
		"fails": {"fails is not ready (back-off, restarted 4 times, exit status 2)", logPath(dir, "fails"), "port 443 is taken"},
		"sick":  {"sick is not ready (unready, restarted 0 times, answers 503)"},
		"other": {"other is not ready"}, // no plan has it
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := WaitReady(ctx, dir, []string{"ready", name}, nil)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%s: %v", name, err)
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", name, err, part)
			}
		}
	}
}

// What counts are the failures since somebody waits. A supervisor that does not answer for a moment, since another one takes its place,
// does not make the earlier ones count.
func TestARestartOfTheSupervisorIsNoFailureOfItsParts(t *testing.T) {
	dir := tempDir(t)
	s := &Supervisor{dir: dir, changed: make(chan struct{}), state: State{Parts: map[string]PartState{"a": {State: BackOff, Restarts: 100}}}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	done := make(chan error, 1)
	first, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	go s.serve(t.Context(), first)
	go func() { done <- WaitReady(ctx, dir, []string{"a"}, nil) }()
	time.Sleep(150 * time.Millisecond)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(150 * time.Millisecond)
	second, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	go s.serve(t.Context(), second)
	if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("given up: %v", err)
	}
}

// A supervisor that ends while it is asked is one that is being restarted, too.
func TestASupervisorThatEndsWhileItIsAsked(t *testing.T) {
	dir := tempDir(t)
	listener, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s := &Supervisor{dir: dir, changed: make(chan struct{}), state: State{Parts: map[string]PartState{"a": {State: Ready}}}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for _, answer := range []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"} {
			c, err := listener.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = c.Read(make([]byte, 1000))
			_, _ = c.Write([]byte(answer))
			_ = c.Close()
		}
		go s.serve(t.Context(), listener)
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := WaitReady(ctx, dir, []string{"a"}, nil); err != nil {
		t.Error(err)
	}
	<-ended
}

func TestNoSupervisor(t *testing.T) {
	dir := tempDir(t)
	if _, err := Query(t.Context(), dir); !errors.Is(err, ErrDown) {
		t.Errorf("without a socket: %v", err)
	}
	listener, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	// Closing removes the file; a supervisor that was killed leaves it.
	if fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0); err != nil {
		t.Fatal(err)
	} else if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: socketPath(dir)}), syscall.Close(fd)); err != nil {
		t.Fatal(err)
	}
	if _, err := Query(t.Context(), dir); !errors.Is(err, ErrDown) {
		t.Errorf("with the socket of a dead one: %v", err)
	}
	if err := Reload(t.Context(), dir); !errors.Is(err, ErrDown) {
		t.Errorf("reload: %v", err)
	}
	if err := Stop(t.Context(), dir); err != nil {
		t.Errorf("stop: %v", err)
	}
	if listener, err = listen(dir); err != nil {
		t.Errorf("the socket of a dead one is in the way: %v", err)
	} else {
		_ = listener.Close()
	}
}

// Numbers of processes mean nothing after a boot: what has them now is not to be ended.
func TestStateOfAnotherBoot(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if state, err := ReadState(dir); err != nil || state.Parts == nil || len(state.Parts) != 0 || state.Boot != bootID() {
		t.Errorf("without a file: %+v, %v", state, err)
	}
	state := State{Boot: bootID(), Mode: "m", Parts: map[string]PartState{"a": {Process: Process{PID: os.Getpid()}, State: Ready}}}
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	write(string(text))
	if got, err := ReadState(dir); err != nil || got.Parts["a"].PID != os.Getpid() || got.Mode != "m" {
		t.Errorf("of this boot: %+v, %v", got, err)
	}
	write(strings.Replace(string(text), bootID(), "another", 1))
	if got, err := ReadState(dir); err != nil || len(got.Parts) != 0 || got.Parts == nil || got.Boot != bootID() {
		t.Errorf("of another boot: %+v, %v", got, err)
	}
	write(string(text[:len(text)/2]))
	if _, err := ReadState(dir); err == nil || !strings.Contains(err.Error(), "state.json") {
		t.Errorf("cut off: %v", err)
	}
}

// A plan that names no part, or a broken one, is not written: the former one stays.
func TestABrokenPlanIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	if plan, err := ReadPlan(dir); err != nil || len(plan.Parts) != 0 {
		t.Errorf("without a file: %+v, %v", plan, err)
	}
	good := Plan{Mode: "m", Parts: []Part{{Name: "a", Argv: []string{"x"}, Grace: time.Second, Env: []string{"S=1"},
		Ready: Probe{TCP: "127.0.0.1:1"}}}, Watcher: []string{"w"}}
	if err := WritePlan(dir, good); err != nil {
		t.Fatal(err)
	}
	if err := WritePlan(dir, Plan{Parts: []Part{{Name: "b"}}}); err == nil {
		t.Error("a part without a command is written")
	}
	got, err := ReadPlan(dir)
	if err != nil || got.Mode != "m" || len(got.Parts) != 1 || got.Parts[0].hash() != good.Parts[0].hash() || !slices.Equal(got.Watcher, good.Watcher) {
		t.Errorf("read back: %+v, %v", got, err)
	}
	other := good.Parts[0]
	other.Grace++
	if other.hash() == good.Parts[0].hash() {
		t.Error("another definition has the same hash: the part would not be started anew")
	}
}

// TestKeeper: a supervisor that dies is there again, and its parts have not noticed.
func TestKeeper(t *testing.T) {
	dir := tempDir(t)
	t.Cleanup(func() { _ = Stop(context.WithoutCancel(t.Context()), dir) })
	before := ensure(t, dir, "1")
	if err := syscall.Kill(before.Supervisor.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, dir, "another supervisor", func(s State) bool { return s.Supervisor != before.Supervisor && s.Supervisor.Alive() })
	after := ready(t, dir, "a", "b", KeeperName)
	for _, name := range []string{"a", "b", KeeperName} {
		if after.Parts[name].Process != before.Parts[name].Process || !after.Parts[name].Alive() || after.Parts[name].Restarts != 0 {
			t.Errorf("%s: before %+v, after %+v", name, before.Parts[name], after.Parts[name])
		}
	}
	// The other way round: the supervisor restarts its keeper.
	if err := syscall.Kill(after.Parts[KeeperName].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, dir, "another keeper", func(s State) bool {
		return s.Supervisor == after.Supervisor && s.Parts[KeeperName].Alive() && s.Parts[KeeperName].PID != after.Parts[KeeperName].PID
	})
}
