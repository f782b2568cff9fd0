package release

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// A tag may be moved by its owner; a digest never.
	tagLifetime = time.Hour
	// How long a known answer is used before a registry that failed is asked again: each caller would wait for it.
	staleLifetime = time.Minute
	// One lookup serves several callers, so it must not die with the first one's context.
	lookupTimeout = 2 * time.Minute
	// How long a failure is told that nobody waited for.
	failureLifetime = 30 * time.Second
)

// Limits keep a tenant's registry that does not answer from what others want. The zero value has none.
type Limits struct {
	// Wait is how long a caller waits for a lookup, which goes on without it: the caller gets an Error that is Pending.
	Wait time.Duration
	// PerTenant is how many lookups of one tenant run at the same time; the others of that tenant wait.
	PerTenant int
}

// memory remembers what images say, bounded by the bytes it takes. The key holds the credentials' hash, so nobody reads through somebody
// else's pull secret. Failures are remembered only where nobody waited for them.
type memory[V any] struct {
	// Limits may be set before the first lookup.
	Limits

	now    func() time.Time
	flight singleflight.Group
	limit  int
	size   func(V) int

	mu      sync.Mutex
	entries map[string]*list.Element
	recent  *list.List
	bytes   int
	// begun is when the lookups began that run.
	begun map[string]time.Time
	// slots are those of each tenant that looks something up.
	slots map[string]*slots
}

// slots are taken by a tenant's lookups, and are forgotten with the last user.
type slots struct {
	free  chan struct{}
	users int
}

type memoryEntry[V any] struct {
	key   string
	value V
	bytes int
	// failure is what a lookup ended with that nobody waited for.
	failure error
	// expires is zero for what never changes.
	expires time.Time
}

func newMemory[V any](limit int, size func(V) int) memory[V] {
	return memory[V]{now: time.Now, limit: limit, size: size, entries: map[string]*list.Element{}, recent: list.New(), begun: map[string]time.Time{}, slots: map[string]*slots{}}
}

// lookup answers from memory, or asks once for all who want the same.
func (m *memory[V]) lookup(ctx context.Context, image string, access Access, ask func(context.Context, string, Access) (V, error)) (V, error) {
	var none V
	key := cacheKey(image, access)
	if failure := m.failed(key); failure != nil {
		return none, failure
	}
	known, fresh, ok := m.get(key, access.Recheck)
	if fresh {
		return known, nil
	}
	var kept *V
	if ok {
		kept = &known
	}
	patience := m.patience(key)
	result := m.flight.DoChan(key, func() (any, error) {
		return m.ask(context.WithoutCancel(ctx), key, image, access, kept, ask)
	})
	select {
	case <-ctx.Done():
		return none, &Error{Image: image, Reason: ReasonUnreachable, Cause: ctx.Err()}
	case <-patience:
		return none, &Error{Image: image, Reason: ReasonPending, Cause: errors.New("the registry has not answered yet")}
	case answer := <-result:
		if answer.Err != nil {
			return none, answer.Err
		}
		return answer.Val.(V), nil
	}
}

// ask looks an image up and remembers the answer. kept is what is known of it already.
func (m *memory[V]) ask(ctx context.Context, key, image string, access Access, kept *V, ask func(context.Context, string, Access) (V, error)) (any, error) {
	var none V
	began := m.now()
	defer m.ended(key)
	asking, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	leave, err := m.enter(asking, access.Tenant)
	if err != nil {
		return none, &Error{Image: image, Reason: ReasonUnreachable, Cause: fmt.Errorf("other images of %s are still being read: %w", access.Tenant, err)}
	}
	defer leave()
	value, err := ask(asking, image, access)
	var failure *Error
	if kept != nil && errors.As(err, &failure) && failure.Transient() {
		// A registry that is away must not take what is known from clusters that run.
		m.put(&memoryEntry[V]{key: key, value: *kept, expires: m.now().Add(staleLifetime)})
		return *kept, nil
	}
	if err != nil {
		if m.Wait > 0 && m.now().Sub(began) >= m.Wait {
			m.put(&memoryEntry[V]{key: key, failure: err, expires: m.now().Add(failureLifetime)})
		}
		return none, err
	}
	m.put(&memoryEntry[V]{key: key, value: value, expires: m.expiry(image)})
	return value, nil
}

// patience is when a caller stops waiting for a lookup: those of one lookup stop at the same time.
func (m *memory[V]) patience(key string) <-chan time.Time {
	if m.Wait <= 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, running := m.begun[key]; !running {
		m.begun[key] = m.now()
	}
	return time.After(m.Wait - m.now().Sub(m.begun[key]))
}

func (m *memory[V]) ended(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.begun, key)
}

// enter takes one of a tenant's slots; the returned function gives it back.
func (m *memory[V]) enter(ctx context.Context, tenant string) (func(), error) {
	if m.PerTenant <= 0 {
		return func() {}, nil
	}
	m.mu.Lock()
	own := m.slots[tenant]
	if own == nil {
		own = &slots{free: make(chan struct{}, m.PerTenant)}
		m.slots[tenant] = own
	}
	own.users++
	m.mu.Unlock()
	leave := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(m.slots, tenant)
		}
	}
	select {
	case own.free <- struct{}{}:
		return func() { <-own.free; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

func cacheKey(image string, access Access) string {
	digest := sha256.New()
	for _, part := range []string{string(access.PullSecret), string(access.TrustBundle), FormatMirrors(access.Mirrors)} {
		fmt.Fprintf(digest, "%d:%s", len(part), part)
	}
	return image + "|" + hex.EncodeToString(digest.Sum(nil))
}

func (m *memory[V]) expiry(image string) time.Time {
	if strings.Contains(image, "@sha256:") {
		return time.Time{}
	}
	return m.now().Add(tagLifetime)
}

// get returns what is known, whether it can be used without asking again, and whether anything is known. What a digest names never
// changes.
func (m *memory[V]) get(key string, recheck bool) (known V, fresh, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	element, ok := m.entries[key]
	if !ok {
		return known, false, false
	}
	entry := element.Value.(*memoryEntry[V])
	if entry.failure != nil {
		return known, false, false
	}
	m.recent.MoveToFront(element)
	return entry.value, entry.expires.IsZero() || (!recheck && !m.now().After(entry.expires)), true
}

// failed returns what a lookup ended with that nobody waited for, as long as that is news.
func (m *memory[V]) failed(key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	element, ok := m.entries[key]
	if !ok {
		return nil
	}
	entry := element.Value.(*memoryEntry[V])
	if entry.failure != nil && m.now().After(entry.expires) {
		m.remove(element)
		return nil
	}
	return entry.failure
}

func (m *memory[V]) put(entry *memoryEntry[V]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if element, ok := m.entries[entry.key]; ok {
		m.remove(element)
	}
	entry.bytes = len(entry.key)
	if entry.failure == nil {
		entry.bytes += m.size(entry.value)
	}
	m.entries[entry.key] = m.recent.PushFront(entry)
	m.bytes += entry.bytes
	for m.bytes > m.limit {
		m.remove(m.recent.Back())
	}
}

func (m *memory[V]) remove(element *list.Element) {
	entry := m.recent.Remove(element).(*memoryEntry[V])
	m.bytes -= entry.bytes
	delete(m.entries, entry.key)
}
