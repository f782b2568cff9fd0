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
	// An OpenShift release takes some 50 KiB, and each pull secret has its own copy: room for a few hundred.
	cacheBytes = 16 << 20
	// A tag may be moved by its owner; a digest never.
	tagLifetime = time.Hour
	// How long a known release is used before a registry that failed is asked again: each caller would wait for it.
	staleLifetime = time.Minute
	// One lookup serves several callers, so it must not die with the first one's context.
	lookupTimeout = 2 * time.Minute
)

// Cache remembers releases, bounded by the memory they take. The key holds the credentials' hash, so nobody reads through somebody
// else's pull secret. Failures are not remembered.
type Cache struct {
	source Provider
	now    func() time.Time
	flight singleflight.Group

	mu      sync.Mutex
	entries map[string]*list.Element
	recent  *list.List
	bytes   int
}

type cacheEntry struct {
	key     string
	release *Release
	bytes   int
	// expires is zero for what never changes.
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
	known, fresh := c.get(key, access.Recheck)
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
			c.put(key, known, c.now().Add(staleLifetime))
			return known, nil
		}
		if err != nil {
			return nil, err
		}
		c.put(key, release, c.expiry(image))
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
	for _, part := range []string{string(access.PullSecret), string(access.TrustBundle), FormatMirrors(access.Mirrors)} {
		fmt.Fprintf(digest, "%d:%s", len(part), part)
	}
	return image + "|" + hex.EncodeToString(digest.Sum(nil))
}

func (c *Cache) expiry(image string) time.Time {
	if strings.Contains(image, "@sha256:") {
		return time.Time{}
	}
	return c.now().Add(tagLifetime)
}

// get returns what is known and whether it can be used without asking again. What a digest names never changes.
func (c *Cache) get(key string, recheck bool) (known *Release, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.entries[key]
	if !ok {
		return nil, false
	}
	entry := element.Value.(*cacheEntry)
	c.recent.MoveToFront(element)
	return entry.release, entry.expires.IsZero() || (!recheck && !c.now().After(entry.expires))
}

func (c *Cache) put(key string, release *Release, expires time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.entries[key]; ok {
		c.remove(element)
	}
	entry := &cacheEntry{key: key, release: release, bytes: len(key) + release.size(), expires: expires}
	c.entries[key] = c.recent.PushFront(entry)
	c.bytes += entry.bytes
	for c.bytes > cacheBytes {
		c.remove(c.recent.Back())
	}
}

func (c *Cache) remove(element *list.Element) {
	entry := c.recent.Remove(element).(*cacheEntry)
	c.bytes -= entry.bytes
	delete(c.entries, entry.key)
}

// size estimates the memory of a release: its texts, and what maps and headers take for each.
func (r *Release) size() int {
	const perEntry, perStream = 80, 2048
	total := perStream * (2 + len(r.Streams))
	for _, texts := range []map[string]string{r.Images, r.ComponentVersions} {
		for key, text := range texts {
			total += perEntry + len(key) + len(text)
		}
	}
	return total
}
