package azure

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// callsAtOnce bounds the calls to the resource manager that are under way for one subscription.
const callsAtOnce = 32

// throttle is what all sessions of this process share for one subscription. Azure counts calls per subscription, so when one
// call is told to wait, every other one waits as well instead of collecting its own refusal.
type throttle struct {
	slots chan struct{}

	mu   sync.Mutex
	open time.Time // no call starts before
}

var throttles = struct {
	sync.Mutex
	of map[string]*throttle
}{of: map[string]*throttle{}}

func throttleOf(subscription string) *throttle {
	throttles.Lock()
	defer throttles.Unlock()
	t := throttles.of[subscription]
	if t == nil {
		t = &throttle{slots: make(chan struct{}, callsAtOnce)}
		throttles.of[subscription] = t
	}
	return t
}

// gated sends calls to the resource manager through the throttle and all others straight on. It is the innermost part of the
// SDK's pipeline: the SDK repeats a call after Retry-After by itself, and finds the gate open then, so nobody waits twice.
type gated struct {
	client   *http.Client
	manager  string // host
	throttle *throttle
}

// Do sends one try of a request.
func (g gated) Do(req *http.Request) (*http.Response, error) {
	if !isManager(req.URL.Host, g.manager) {
		return g.client.Do(req)
	}
	if err := g.throttle.enter(req.Context()); err != nil {
		return nil, err
	}
	defer g.throttle.leave()
	resp, err := g.client.Do(req)
	if err == nil && resp.StatusCode == http.StatusTooManyRequests {
		g.throttle.pause(retryAfter(resp.Header, time.Now()))
	}
	return resp, err
}

// enter takes a slot and waits until the gate is open, which another call may put off meanwhile.
func (t *throttle) enter(ctx context.Context) error {
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		t.mu.Lock()
		wait := time.Until(t.open)
		t.mu.Unlock()
		if wait <= 0 {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			t.leave()
			return ctx.Err()
		}
	}
}

func (t *throttle) leave() { <-t.slots }

func (t *throttle) pause(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if until := time.Now().Add(d); until.After(t.open) {
		t.open = until
	}
}

// retryAfter reads the wait that the headers ask for, in the SDK's order of preference; 0 when there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	for _, field := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"X-Ms-Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		text := h.Get(field.name)
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			return time.Duration(n) * field.unit
		}
		if at, err := http.ParseTime(text); err == nil && at.After(now) {
			return at.Sub(now)
		}
	}
	return 0
}
