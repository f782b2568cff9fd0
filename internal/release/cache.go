package release

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	cacheEntries = 64
	// A tag may be moved by its owner; a digest never.
	tagLifetime = time.Hour
	// One lookup serves several callers, so it must not die with the first one's context.
	lookupTimeout = 2 * time.Minute
)

// Cache remembers releases. The key holds the credentials' hash, so nobody reads through somebody else's pull secret.
type Cache struct {
	source Provider
	now    func() time.Time
	flight singleflight.Group

	mu      sync.Mutex
	entries map[string]*list.Element
	recent  *list.List
}

type cacheEntry struct {
	key     string
	release *Release
	expires time.Time
}

var _ Provider = &Cache{}

// NewCache puts a bounded cache in front of source.
func NewCache(source Provider) *Cache {
	return &Cache{source: source, now: time.Now, entries: map[string]*list.Element{}, recent: list.New()}
}

// NewProvider is what programs use: the registry reader, with proxies from the environment, behind a cache.
func NewProvider() Provider { return NewCache(Reader{}) }

// Lookup implements Provider.
func (c *Cache) Lookup(ctx context.Context, image string, access Access) (*Release, error) {
	key := cacheKey(image, access)
	known, fresh := c.get(key)
	if fresh {
		return known, nil
	}
	result := c.flight.DoChan(key, func() (any, error) {
		lookup, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
		defer cancel()
		release, err := c.source.Lookup(lookup, image, access)
		var failure *Error
		if known != nil && errors.As(err, &failure) && failure.Transient() {
			// A registry that is away must not take what is known from clusters that run.
			return known, nil
		}
		if err != nil {
			return nil, err
		}
		c.put(key, image, release)
		return release, nil
	})
	select {
	case <-ctx.Done():
		return nil, &Error{Image: image, Reason: ReasonUnreachable, Cause: ctx.Err()}
	case answer := <-result:
		if answer.Err != nil {
			return nil, answer.Err
		}
		return answer.Val.(*Release), nil
	}
}

func cacheKey(image string, access Access) string {
	digest := sha256.New()
	digest.Write(access.PullSecret)
	digest.Write([]byte{0})
	digest.Write(access.TrustBundle)
	return image + "|" + hex.EncodeToString(digest.Sum(nil))
}

// get returns what is known and whether it can be used without asking again.
func (c *Cache) get(key string) (known *Release, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.entries[key]
	if !ok {
		return nil, false
	}
	entry := element.Value.(*cacheEntry)
	c.recent.MoveToFront(element)
	return entry.release, entry.expires.IsZero() || !c.now().After(entry.expires)
}

func (c *Cache) put(key, image string, release *Release) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.entries[key]; ok {
		c.remove(element)
	}
	entry := &cacheEntry{key: key, release: release}
	if !strings.Contains(image, "@sha256:") {
		entry.expires = c.now().Add(tagLifetime)
	}
	c.entries[key] = c.recent.PushFront(entry)
	for c.recent.Len() > cacheEntries {
		c.remove(c.recent.Back())
	}
}

func (c *Cache) remove(element *list.Element) {
	c.recent.Remove(element)
	delete(c.entries, element.Value.(*cacheEntry).key)
}
