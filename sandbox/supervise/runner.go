package supervise

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// delays between the end of a part and its next start. The first restart is
// immediate: a part that was killed should be missed as little as possible.
var delays = []time.Duration{0, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second}

const (
	stableAfter     = 30 * time.Second // a part that ran so long starts from the first delay again
	probeFast       = 20 * time.Millisecond
	probeSlow       = 5 * time.Second
	unreadyAfter    = 3
	startProbeLimit = time.Second
)

// delay is the pause before the n-th restart in a row.
func delay(n int) time.Duration { return delays[min(n, len(delays)-1)] }

// runner is the life of one part.
type runner struct {
	s      *Supervisor
	part   Part
	cancel context.CancelFunc
	ready  chan struct{} // closed when run has set cancel
	gone   chan struct{} // closed when run has returned
	mu     sync.Mutex
	ending bool
}

func newRunner(s *Supervisor, part Part) *runner {
	return &runner{s: s, part: part, ready: make(chan struct{}), gone: make(chan struct{})}
}

// end stops the part for good.
func (r *runner) end() {
	r.mu.Lock()
	r.ending = true
	r.mu.Unlock()
	<-r.ready
	r.cancel()
	<-r.gone
	r.s.mu.Lock()
	process := r.s.state.Parts[r.part.Name].Process
	r.s.mu.Unlock()
	process.stop(r.part.Grace)
	r.s.update(r.part.Name, func(p *PartState) { p.State, p.Process, p.Message = Stopped, Process{}, "" })
}

// run keeps the part alive until the context ends, and then leaves it alone.
func (r *runner) run(ctx context.Context) {
	ctx, r.cancel = context.WithCancel(ctx)
	close(r.ready)
	defer close(r.gone)
	defer r.cancel()
	inARow := 0
	for ctx.Err() == nil {
		process, err := r.adoptOrStart(ctx)
		began := time.Now()
		message := "ended"
		if err != nil {
			message = err.Error()
		} else if r.watch(ctx, process) != nil {
			return
		}
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > stableAfter {
			inARow = 0
		}
		r.s.update(r.part.Name, func(p *PartState) {
			p.State, p.Process, p.Message, p.Restarts = BackOff, Process{}, message, p.Restarts+1
		})
		select {
		case <-ctx.Done():
			return
		case <-time.After(delay(inARow)):
		}
		inARow++
	}
}

// adoptOrStart finds the part running with the same definition, or starts it.
func (r *runner) adoptOrStart(ctx context.Context) (Process, error) {
	hash := r.part.hash()
	r.s.mu.Lock()
	last, known := r.s.state.Parts[r.part.Name]
	r.s.mu.Unlock()
	if last.Process.Alive() {
		if last.Hash == hash {
			return last.Process, nil
		}
		last.Process.stop(r.part.Grace)
	}
	if !known || last.State != BackOff {
		r.s.update(r.part.Name, func(p *PartState) { p.State, p.Address = Waiting, r.part.Address })
		if err := r.s.waitReady(ctx, r.part.After); err != nil {
			return Process{}, err
		}
		if err := waitFile(ctx, r.part.AfterFile); err != nil {
			return Process{}, err
		}
	}
	process, cmd, err := launch(r.part.Argv, r.part.Env, filepath.Join(r.s.dir, "logs", r.part.Name+".log"))
	if err != nil {
		return Process{}, err
	}
	go reap(cmd)
	r.s.update(r.part.Name, func(p *PartState) {
		p.Process, p.Hash, p.State, p.Address, p.Message = process, hash, Starting, r.part.Address, ""
	})
	return process, nil
}

// waitFile returns when the file is there; no name is no file.
func waitFile(ctx context.Context, path string) error {
	for path != "" {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(probeFast):
		}
	}
	return nil
}

// reap takes the exit status of a child; its end is noticed elsewhere.
func reap(cmd *exec.Cmd) { _ = cmd.Wait() }

// watch returns nil when the process has ended and an error when ctx has.
func (r *runner) watch(ctx context.Context, process Process) error {
	probing, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { r.probe(probing) })
	err := process.wait(ctx)
	stop()
	wg.Wait()
	return err
}

// probe keeps the part's state up to date.
func (r *runner) probe(ctx context.Context) {
	failures, began := 0, time.Now()
	for ctx.Err() == nil {
		pause := probeFast
		err := r.part.Ready.Check(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			failures, pause = 0, probeSlow
			r.s.update(r.part.Name, func(p *PartState) { p.State, p.Message = Ready, "" })
		} else {
			failures++
			r.s.update(r.part.Name, func(p *PartState) {
				if p.State != Ready {
					p.Message = err.Error()
				} else if failures >= unreadyAfter {
					p.State, p.Message = Unready, err.Error()
				}
			})
			if time.Since(began) > startProbeLimit {
				pause = 200 * time.Millisecond
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
