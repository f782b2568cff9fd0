package arm

import (
	"strings"
	"sync"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
)

// leaver deletes what leaves, when its time has come.
type leaver struct {
	mu     sync.Mutex
	timer  *time.Timer
	closed bool
}

// Close ends the deletions under way; they go on with the next start.
func (s *Server) Close() {
	s.leaving.mu.Lock()
	defer s.leaving.mu.Unlock()
	s.leaving.closed = true
	if s.leaving.timer != nil {
		s.leaving.timer.Stop()
	}
}

// settle deletes what is to be gone by now. It runs before each request, so that who was told of the end of an operation finds it done, and by
// itself, for those who do not ask.
func (s *Server) settle() error {
	var due []string
	var next time.Time
	s.store.View(func(tx *store.Tx) { due, next = provider.Left(tx, time.Now()) })
	s.wakeAt(next)
	if len(due) == 0 {
		return nil
	}
	return s.store.Update(func(tx *store.Tx) error {
		due, _ = provider.Left(tx, time.Now())
		c := &provider.Call{Options: s.Options, Kinds: s.kinds, Gateway: s, Running: s.running, Tx: tx}
		for _, id := range due {
			c.Remove(id)
		}
		return nil
	})
}

func (s *Server) wakeAt(t time.Time) {
	s.leaving.mu.Lock()
	defer s.leaving.mu.Unlock()
	if t.IsZero() || s.leaving.closed {
		return
	}
	if s.leaving.timer != nil {
		s.leaving.timer.Stop()
	}
	s.leaving.timer = time.AfterFunc(time.Until(t), func() {
		s.leaving.mu.Lock()
		closed := s.leaving.closed
		s.leaving.mu.Unlock()
		if !closed {
			_ = s.settle() // the next request tells what is wrong with the store
		}
	})
}

// staysThere refuses a write to what is being deleted, and inside of it.
func (c *call) staysThere() error {
	verb := provider.Verbs[c.Req.Method]
	if verb != "write" && verb != "action" {
		return nil
	}
	leaving := c.Leaves(c.Path.Raw)
	switch {
	case leaving == "":
		return nil
	case strings.EqualFold(leaving, c.Path.ResourceGroup()):
		return provider.Conflict("ResourceGroupBeingDeleted", "The resource group '%s' is in deprovisioning state and cannot perform this operation.", provider.LastSegment(c.Path.ResourceGroup()))
	}
	return provider.Conflict("AnotherOperationInProgress", "Another operation on this or dependent resource is in progress. The resource '%s' is being deleted; wait until that has ended.", c.Get(leaving).ID)
}
