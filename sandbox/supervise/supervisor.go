package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// KeeperName is the part that restarts the supervisor.
const KeeperName = "keeper"

// Supervisor keeps the parts of one directory running.
type Supervisor struct {
	dir string

	changing sync.Mutex // held by what starts or ends parts: one at a time
	ending   bool       // parts are no longer started

	mu      sync.Mutex
	state   State
	runners map[string]*runner
	changed chan struct{} // closed and replaced at every change of state
	done    chan struct{} // closed when everything was stopped
	finish  sync.Once     // closes it
}

// Run supervises until ctx ends, which leaves the parts alone, or until
// it is told to stop, which ends them. build identifies the program, see Ensure.
func Run(ctx context.Context, dir, build string) error {
	unlock, err := acquire(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	s := &Supervisor{dir: dir, runners: map[string]*runner{}, changed: make(chan struct{}), done: make(chan struct{})}
	if s.state, err = ReadState(dir); err != nil {
		return err
	}
	self, ok := identify(os.Getpid())
	if !ok {
		return errors.New("cannot identify the own process in /proc")
	}
	s.state.Supervisor, s.state.Build, s.state.Started = self, build, time.Now()
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o750); err != nil {
		return err
	}
	listener, err := listen(dir)
	if err != nil {
		return err
	}
	defer listener.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := s.reload(ctx); err != nil {
		return err
	}
	go rotateLogs(ctx, filepath.Join(dir, "logs"))
	go s.serve(ctx, listener)
	select {
	case <-ctx.Done():
	case <-s.done:
	}
	cancel()
	s.mu.Lock()
	runners := slices.Collect(maps.Values(s.runners))
	s.mu.Unlock()
	for _, r := range runners {
		<-r.gone
	}
	return nil
}

// acquire takes the lock that one supervisor holds. The keeper touches the
// lock for an instant, hence the retries.
func acquire(ctx context.Context, dir string) (func(), error) {
	file, err := os.OpenFile(lockPath(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for range 20 {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	_ = file.Close()
	return nil, fmt.Errorf("another supervisor runs in %s: %w", dir, err)
}

func lockPath(dir string) string { return filepath.Join(dir, "supervisor.lock") }

// reload makes the running parts those of parts.json.
func (s *Supervisor) reload(ctx context.Context) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	if s.ending {
		return errors.New("the sandbox is being stopped")
	}
	plan, err := ReadPlan(s.dir)
	if err != nil {
		return err
	}
	parts := append([]Part(nil), plan.Parts...)
	if len(plan.Watcher) > 0 {
		parts = append(parts, Part{Name: KeeperName, Argv: plan.Watcher})
	}
	wanted := map[string]bool{}
	for _, part := range parts {
		wanted[part.Name] = true
	}
	s.mu.Lock()
	s.state.Mode = plan.Mode
	var ended []*runner
	for name, r := range s.runners {
		if !wanted[name] {
			ended = append(ended, r)
			delete(s.runners, name)
		}
	}
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, r := range ended {
		wg.Go(r.end)
	}
	wg.Wait()
	for _, part := range parts {
		s.ensure(ctx, part)
	}
	s.dropUnknown(wanted)
	return nil
}

// ensure starts the runner of a part, anew if its definition changed.
func (s *Supervisor) ensure(ctx context.Context, part Part) {
	s.mu.Lock()
	old := s.runners[part.Name]
	if old != nil && old.part.hash() == part.hash() {
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	if old != nil {
		old.end()
	}
	s.update(part.Name, func(p *PartState) {
		if p.Hash != part.hash() || !p.Alive() {
			p.State = Waiting // what an earlier supervisor has written no longer holds
		}
	})
	r := newRunner(s, part)
	s.mu.Lock()
	s.runners[part.Name] = r
	s.mu.Unlock()
	go r.run(ctx)
}

// dropUnknown ends processes of an earlier supervisor that no plan names.
func (s *Supervisor) dropUnknown(wanted map[string]bool) {
	s.mu.Lock()
	var stale []Process
	for name, part := range s.state.Parts {
		if !wanted[name] {
			stale = append(stale, part.Process)
			delete(s.state.Parts, name)
		}
	}
	s.saveLocked()
	s.mu.Unlock()
	for _, p := range stale {
		p.stop(0)
	}
}

// stop ends all parts, the keeper first so that nothing comes back, then the
// rest at once. It returns when they have ended, whoever began with it.
func (s *Supervisor) stop() {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.ending = true
	s.mu.Lock()
	runners := s.runners
	s.runners = map[string]*runner{}
	s.mu.Unlock()
	if keeper := runners[KeeperName]; keeper != nil {
		keeper.end()
	}
	var wg sync.WaitGroup
	for name, r := range runners {
		if name != KeeperName {
			wg.Go(r.end)
		}
	}
	wg.Wait()
}

// update changes the state of a part and tells everyone who waits.
func (s *Supervisor) update(name string, change func(*PartState)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	part := s.state.Parts[name]
	before := part
	change(&part)
	if part == before {
		return
	}
	if part.State != before.State {
		part.Since = time.Now()
		slog.Info("part", "name", name, "state", part.State, "pid", part.PID, "message", part.Message)
	}
	s.state.Parts[name] = part
	s.saveLocked()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Supervisor) saveLocked() {
	if err := writeJSON(filepath.Join(s.dir, "state.json"), s.state, 0o644); err != nil {
		slog.Error("state.json cannot be written: a restarted supervisor may not find its parts", "error", err)
	}
}

// waitReady blocks until the named parts are ready.
func (s *Supervisor) waitReady(ctx context.Context, names []string) error {
	for {
		s.mu.Lock()
		changed, missing := s.changed, false
		for _, name := range names {
			state := s.state.Parts[name].State
			missing = missing || (state != Ready && state != Unready)
		}
		s.mu.Unlock()
		if !missing {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}
