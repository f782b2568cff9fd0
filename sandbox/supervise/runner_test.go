package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// shell is a part that runs a script.
func shell(name, script string) Part {
	return Part{Name: name, Argv: []string{"/bin/sh", "-c", script}}
}

// eventually asks the supervisor until the parts are as they shall be.
func eventually(t *testing.T, dir, what string, is func(State) bool) State {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		state, err := Query(t.Context(), dir)
		if err == nil && is(state) {
			return state
		}
		if time.Now().After(deadline) {
			t.Fatalf("not %s: %+v, %v", what, state.Parts, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// A part that cannot start says why, is tried again, and comes up as soon as it can. Parts that wait for it do so meanwhile.
func TestAPartThatCannotStart(t *testing.T) {
	dir := tempDir(t)
	program := filepath.Join(dir, "program")
	after := sleeper("after", "late")
	stop := supervisor(t, dir, Part{Name: "late", Argv: []string{program}}, after, sleeper("other"))
	defer stop()
	ready(t, dir, "other")
	state := eventually(t, dir, "tried again", func(s State) bool { return s.Parts["late"].State == BackOff && s.Parts["late"].Restarts >= 2 })
	if late := state.Parts["late"]; !strings.Contains(late.Message, "no such file") || late.PID != 0 {
		t.Errorf("a part without a program: %+v", late)
	}
	if state.Parts["after"].State != Waiting {
		t.Errorf("the part that waits for it: %+v", state.Parts["after"])
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if late := ready(t, dir, "late", "after").Parts["late"]; late.Message != "" || !late.Alive() {
		t.Errorf("the part with its program: %+v", late)
	}
}

// A part that ended does not wait for others again: they may need it.
func TestARestartWaitsForNobody(t *testing.T) {
	dir := tempDir(t)
	gate := filepath.Join(dir, "gate")
	first, second := sleeper("first"), sleeper("second", "first")
	first.Ready, second.AfterFile = Probe{File: gate}, gate
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stop := supervisor(t, dir, first, second)
	defer stop()
	before := ready(t, dir, "first", "second")
	if err := os.Remove(gate); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second"} {
		if err := syscall.Kill(before.Parts[name].PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	state := eventually(t, dir, "started again", func(s State) bool {
		return s.Parts["second"].Alive() && s.Parts["second"].PID != before.Parts["second"].PID
	})
	if state.Parts["first"].State == Ready {
		t.Errorf("the first is ready without its file: %+v", state.Parts["first"])
	}
}

// What a part is given: no environment of the shell, its own variables, the root as folder, its log, a session of its own.
func TestWhatAPartIsGiven(t *testing.T) {
	dir := tempDir(t)
	t.Setenv("SECRET_OF_THE_SHELL", "x")
	part := shell("a", `echo "$PWD/$A/$SECRET_OF_THE_SHELL/$(cut -d' ' -f6 /proc/self/stat)/"; echo wrong >&2; exec sleep 1000`)
	part.Env = []string{"A=b"}
	part.Ready = Probe{File: filepath.Join(dir, "logs", "a.log")}
	stop := supervisor(t, dir, part)
	defer stop()
	state := ready(t, dir, "a")
	want := fmt.Sprintf("//b//%d/\nwrong", state.Parts["a"].PID)
	eventually(t, dir, "logged: "+want, func(State) bool { return Tail(dir, "a", 5) == want })
	for file, mode := range map[string]os.FileMode{"parts.json": 0o600, "supervisor.sock": 0o600 | os.ModeSocket, "supervisor.lock": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Mode() != mode { // variables of parts are secrets
			t.Errorf("%s: %v, %v, want mode %v", file, info, err, mode)
		}
	}
}

// A part with a grace is told to end, and its data is whole; one that does not listen ends all the same, with what it has started.
func TestStopIsGraceful(t *testing.T) {
	dir := tempDir(t)
	said, child := filepath.Join(dir, "said"), filepath.Join(dir, "child")
	soft := shell("soft", `trap 'echo bye >`+said+`; exit 0' TERM; touch `+said+`; while :; do sleep 0.05; done`)
	deaf := shell("deaf", `trap '' TERM; sleep 1000 & echo $! >`+child+`.new; mv `+child+`.new `+child+`; while :; do sleep 0.05; done`)
	hard := shell("hard", `trap 'echo bye >`+said+`-hard' TERM; touch `+said+`-hard; while :; do sleep 0.05; done`)
	soft.Grace, soft.Ready, deaf.Grace, deaf.Ready, hard.Ready = 20*time.Second, Probe{File: said}, 100*time.Millisecond, Probe{File: child},
		Probe{File: said + "-hard"}
	stop := supervisor(t, dir, soft, deaf, hard)
	defer stop()
	before := ready(t, dir, "soft", "deaf", "hard")
	began := time.Now()
	if err := call(t.Context(), dir, "POST", "/stop", nil); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("parts are stopped one after the other, or a grace is waited for that nobody needs: %s", took)
	}
	for name, part := range before.Parts {
		if part.Alive() {
			t.Errorf("%s still runs", name)
		}
	}
	if got := lines(t, said); len(got) != 1 {
		t.Errorf("a part with a grace said %q at its end", got)
	}
	if got := lines(t, said+"-hard"); len(got) != 0 {
		t.Errorf("a part without a grace had the time to say %q", got)
	}
	var pid int
	if _, err := fmt.Sscan(strings.Join(lines(t, child), " "), &pid); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) { // nobody here waits for it
		if _, alive := identify(pid); !alive {
			break
		}
		if time.Now().After(deadline) {
			t.Error("what a part has started still runs")
			break
		}
	}
	if state, err := ReadState(dir); err != nil || state.Parts["soft"].State != Stopped || state.Parts["soft"].PID != 0 {
		t.Errorf("afterwards: %+v, %v", state.Parts["soft"], err)
	}
}

// Two commands at once that bring parts up start each part once: of two processes nobody would end the first.
func TestReloadsAtOnceStartEachPartOnce(t *testing.T) {
	dir := tempDir(t)
	stop := supervisor(t, dir, sleeper("first"))
	defer stop()
	ready(t, dir, "first")
	parts, names, starts := []Part{sleeper("first")}, []string{"first"}, filepath.Join(dir, "starts")
	for i := range 10 {
		name := fmt.Sprint("part-", i)
		parts, names = append(parts, shell(name, "echo "+name+" >>"+starts+"; exec sleep 1000")), append(names, name)
	}
	if err := WritePlan(dir, Plan{Mode: "test", Parts: parts}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := Reload(t.Context(), dir); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	ready(t, dir, names...)
	eventually(t, dir, "ten starts", func(State) bool { return len(lines(t, starts)) >= 10 })
	time.Sleep(200 * time.Millisecond)
	if got := lines(t, starts); len(got) != 10 {
		t.Errorf("%d starts of ten parts: %v", len(got), got)
	}
}

// A second command that takes all down waits for the first one: parts have their grace. What comes up after that is refused.
func TestStopsAtOnce(t *testing.T) {
	dir := tempDir(t)
	said := filepath.Join(dir, "said")
	slow := shell("slow", `trap 'sleep 0.5; echo bye >`+said+`; exit 0' TERM; touch `+said+`; while :; do sleep 0.05; done`)
	slow.Grace, slow.Ready = 20*time.Second, Probe{File: said}
	if err := WritePlan(dir, Plan{Mode: "test", Parts: []Part{slow}}); err != nil {
		t.Fatal(err)
	}
	s := &Supervisor{dir: dir, runners: map[string]*runner{}, changed: make(chan struct{}), done: make(chan struct{}), state: State{Boot: bootID(),
		Parts: map[string]PartState{}}}
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o750); err != nil {
		t.Fatal(err)
	}
	listener, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := s.reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	go s.serve(t.Context(), listener)
	ready(t, dir, "slow")
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := call(t.Context(), dir, "POST", "/stop", nil); err != nil {
				t.Error(err)
			}
			if got := lines(t, said); len(got) != 1 {
				t.Error("the sandbox is said to be down, and a part is not")
			}
		})
	}
	wg.Wait()
	select {
	case <-s.done:
		time.Sleep(100 * time.Millisecond) // each of the three would end it: a second end is a panic
	case <-time.After(10 * time.Second):
		t.Error("the supervisor does not end")
	}
	if err := Reload(t.Context(), dir); err == nil {
		t.Error("parts come up while the supervisor ends")
	}
}

// probed runs the probe of a part for a while, whose file is there in the seconds that are marked.
func probed(t *testing.T, there string) string {
	t.Helper()
	dir, states := t.TempDir(), ""
	file := filepath.Join(dir, "file")
	synctest.Test(t, func(t *testing.T) {
		s := &Supervisor{dir: dir, changed: make(chan struct{}), state: State{Parts: map[string]PartState{"a": {State: Starting}}}}
		part := sleeper("a")
		part.Ready = Probe{File: file}
		ctx, cancel := context.WithCancel(t.Context())
		for i, c := range there {
			if err := os.Remove(file); c == '-' && i > 0 && err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if c == '+' {
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if i == 0 {
				go newRunner(s, part).probe(ctx)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			s.mu.Lock()
			states += map[string]string{Ready: "r", Unready: "u", Starting: "s"}[s.state.Parts["a"].State]
			s.mu.Unlock()
		}
		cancel()
		synctest.Wait()
	})
	return states
}

// A part that was ready is looked at each five seconds, and is unready when it failed three times in a row; it is ready with the first answer.
func TestUnready(t *testing.T) {
	for there, want := range map[string]string{
		"---+++":         "sssrrr",
		"+-----++++":     "rrrrrurrrr",
		"+----+++++++++": "rrrrrrrrrrrrrr",
	} {
		if got := probed(t, there); got != want {
			t.Errorf("file %s: states %s, want %s", there, got, want)
		}
	}
}

// Only logs that are too long are rotated, and only logs.
func TestLogsAreRotated(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int64{"long.log": logLimit + 1, "short.log": logLimit, "long.txt": logLimit + 1} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(dir, name), size); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		go rotateLogs(ctx, dir)
		time.Sleep(logInterval + time.Second)
		synctest.Wait()
		cancel()
		synctest.Wait()
	})
	for name, size := range map[string]int64{"long.log": 0, "long.log.1": logLimit + 1, "short.log": logLimit, "long.txt": logLimit + 1} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() != size {
			t.Errorf("%s: %v, %v, want %d bytes", name, info, err, size)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "short.log.1")); err == nil {
		t.Error("a short log is rotated")
	}
}
