package preflighttest

import (
	"net/http"
	"sync"
	"time"
)

// MostRounds is what fits into three seconds where each call takes 100 ms, with room for the program itself.
const MostRounds = 25

// quiet is how long nobody has to call for a round to be over; a round ends only when all its calls have been answered.
const quiet = 30 * time.Millisecond

// Rounds counts how many calls wait for one another: those that are under way together are one round. Where each call takes long, a look
// lasts as long as its rounds, however fast the machine of the test is.
type Rounds struct {
	// Next answers the calls.
	Next http.RoundTripper

	mu       sync.Mutex
	count    int
	calls    int
	running  int
	waiting  []chan struct{}
	deadline *time.Timer
}

// Counted are the rounds so far, and the calls in them.
func (r *Rounds) Counted() (rounds, calls int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count, r.calls
}

// RoundTrip implements http.RoundTripper: the call waits for those that can be made beside it.
func (r *Rounds) RoundTrip(req *http.Request) (*http.Response, error) {
	<-r.join()
	defer r.answered()
	return r.Next.RoundTrip(req)
}

func (r *Rounds) join() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	begin := make(chan struct{})
	r.waiting = append(r.waiting, begin)
	r.calls++
	r.later()
	return begin
}

func (r *Rounds) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
	r.later()
}

// later has the next round begin when nobody has called for some time.
func (r *Rounds) later() {
	if r.deadline != nil {
		r.deadline.Stop()
	}
	r.deadline = time.AfterFunc(quiet, r.begin)
}

func (r *Rounds) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running > 0 || len(r.waiting) == 0 {
		return
	}
	r.count++
	r.running = len(r.waiting)
	for _, begin := range r.waiting {
		close(begin)
	}
	r.waiting = nil
}
