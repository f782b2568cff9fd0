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
)

// memory remembers what images say, bounded by the bytes it takes. The key holds the credentials' hash, so nobody reads through somebody
// else's pull secret. Failures are not remembered.
type memory[V any] struct {
	now    func() time.Time
	flight singleflight.Group
	limit  int
	size   func(V) int

	mu      sync.Mutex
	entries map[string]*list.Element
	recent  *list.List
	bytes   int
}

type memoryEntry[V any] struct {
	key   string
	value V
	bytes int
	// expires is zero for what never changes.
	expires time.Time
}

func newMemory[V any](limit int, size func(V) int) memory[V] {
	return memory[V]{now: time.Now, limit: limit, size: size, entries: map[string]*list.Element{}, recent: list.New()}
}

// lookup answers from memory, or asks once for all who want the same.
func (m *memory[V]) lookup(ctx context.Context, image string, access Access, ask func(context.Context, string, Access) (V, error)) (V, error) {
	var none V
	key := cacheKey(image, access)
	known, fresh, ok := m.get(key, access.Recheck)
	if fresh {
		return known, nil
	}
	result := m.flight.DoChan(key, func() (any, error) {
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
		defer cancel()
		value, err := ask(asking, image, access)
		var failure *Error
		if ok && errors.As(err, &failure) && failure.Transient() {
			// A registry that is away must not take what is known from clusters that run.
			m.put(key, known, m.now().Add(staleLifetime))
			return known, nil
		}
		if err != nil {
			return none, err
		}
		m.put(key, value, m.expiry(image))
		return value, nil
	})
	select {
	case <-ctx.Done():
		return none, &Error{Image: image, Reason: ReasonUnreachable, Cause: ctx.Err()}
	case answer := <-result:
		if answer.Err != nil {
			return none, answer.Err
		}
		return answer.Val.(V), nil
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
	m.recent.MoveToFront(element)
	return entry.value, entry.expires.IsZero() || (!recheck && !m.now().After(entry.expires)), true
}

func (m *memory[V]) put(key string, value V, expires time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if element, ok := m.entries[key]; ok {
		m.remove(element)
	}
	entry := &memoryEntry[V]{key: key, value: value, bytes: len(key) + m.size(value), expires: expires}
	m.entries[key] = m.recent.PushFront(entry)
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
