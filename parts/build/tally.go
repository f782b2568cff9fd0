package build

import (
	"sync"
	"time"
)

// tally turns the output of go commands into events.
type tally struct {
	mu       sync.Mutex
	progress func(Event)
	now      func() time.Time
	start    time.Time
	needs    map[string][]string // packages to be compiled, by program
	pending  map[string]bool     // packages of needs that are not compiled yet
	total    int
}

func newTally(progress func(Event), now func() time.Time) *tally {
	if progress == nil {
		progress = func(Event) {}
	}
	return &tally{progress: progress, now: now, start: now(), needs: map[string][]string{}, pending: map[string]bool{}}
}

// plan adds the packages that programs need. A package that several programs
// share counts once.
func (t *tally) plan(needs map[string][]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, packages := range needs {
		t.needs[name] = packages
		for _, p := range packages {
			t.pending[p] = true
		}
	}
	t.total = len(t.pending)
}

// left is the number of packages still to be compiled.
func (t *tally) left() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.pending)
}

// compiling takes a line that go build -v printed for a program: the package
// it compiles now. It tells whether that is the last one, the main package.
func (t *tally) compiling(program, line string) (last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !isPackage(line) {
		return false
	}
	delete(t.pending, line)
	state := Compiling
	needs := t.needs[program]
	if len(needs) > 0 && needs[len(needs)-1] == line {
		state, last = Linking, true
	}
	t.emit(program, state, line)
	return last
}

// state reports a program's state. What a finished program needs is compiled,
// whether or not it was printed.
func (t *tally) state(program, state, detail string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if state == Done {
		for _, p := range t.needs[program] {
			delete(t.pending, p)
		}
	}
	t.emit(program, state, detail)
}

// waits reports what the build as a whole waits for.
func (t *tally) waits(detail string) { t.state("", Waiting, detail) }

func (t *tally) emit(program, state, detail string) {
	t.progress(Event{Program: program, State: state, Done: t.total - len(t.pending), Total: t.total, Elapsed: t.now().Sub(t.start), Detail: detail})
}
