package sandbox

import (
	"fmt"
	"sync"
	"time"
)

// progress reports steps, of which several may run at once.
type progress struct {
	mu   sync.Mutex
	step func(Step)
}

func newProgress(step func(Step)) *progress {
	if step == nil {
		step = func(Step) {}
	}
	return &progress{step: step}
}

func (p *progress) tell(s Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step(s)
}

// run does one step.
func (p *progress) run(name string, work func() error) error {
	began := time.Now()
	p.tell(Step{Name: name})
	if err := work(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.tell(Step{Name: name, Done: true, Elapsed: time.Since(began)})
	return nil
}
