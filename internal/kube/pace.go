package kube

import (
	"sync"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

// PaceInterval is how often an object is written whose changes a guest makes, and PaceBurst how many of them are written at once: what
// happens seldom is told without delay.
const (
	PaceInterval = 5 * time.Second
	PaceBurst    = 10
)

// NewPace limits how often one object is written.
func NewPace() flowcontrol.RateLimiter {
	return flowcontrol.NewTokenBucketRateLimiter(float32(1/PaceInterval.Seconds()), PaceBurst)
}

// Paces limit how often each of many objects is written. The zero value is ready.
type Paces struct {
	mu    sync.Mutex
	known map[string]flowcontrol.RateLimiter
}

// Allow tells whether the object may be written now.
func (p *Paces) Allow(object string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[string]flowcontrol.RateLimiter{}
	}
	if p.known[object] == nil {
		p.known[object] = NewPace()
	}
	return p.known[object].TryAccept()
}

// Forget an object that is gone.
func (p *Paces) Forget(object string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, object)
}
