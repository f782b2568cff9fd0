package release

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

type countingProvider struct {
	mu    sync.Mutex
	calls map[string]int
	err   error
}

func (p *countingProvider) Lookup(_ context.Context, image string, _ Access) (*Release, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[image]++
	if p.err != nil {
		return nil, p.err
	}
	return &Release{Image: image}, nil
}

func TestCache(t *testing.T) {
	source := &countingProvider{calls: map[string]int{}}
	now := time.Unix(0, 0)
	cache := NewCache(source)
	cache.now = func() time.Time { return now }
	look := func(image, secret string) {
		t.Helper()
		if _, err := cache.Lookup(t.Context(), image, Access{PullSecret: []byte(secret)}); err != nil {
			t.Fatal(err)
		}
	}
	look("tag", "a")
	look("tag", "a")
	look("digest@sha256:1", "a")
	if source.calls["tag"] != 1 {
		t.Errorf("a cached tag was read %d times", source.calls["tag"])
	}
	look("tag", "b")
	if source.calls["tag"] != 2 {
		t.Error("another pull secret must not use the first one's answer")
	}
	now = now.Add(tagLifetime + time.Second)
	look("tag", "a")
	look("digest@sha256:1", "a")
	if source.calls["tag"] != 3 || source.calls["digest@sha256:1"] != 1 {
		t.Errorf("after the lifetime of tags: %v", source.calls)
	}
	for i := range cacheEntries {
		look(fmt.Sprint("other@sha256:", i), "a")
	}
	if cache.recent.Len() != cacheEntries || len(cache.entries) != cacheEntries {
		t.Errorf("cache holds %d/%d entries", cache.recent.Len(), len(cache.entries))
	}
	look("digest@sha256:1", "a")
	if source.calls["digest@sha256:1"] != 2 {
		t.Error("the oldest entry was not evicted")
	}
}

func TestCacheDoesNotKeepErrors(t *testing.T) {
	source := &countingProvider{calls: map[string]int{}, err: &Error{Reason: ReasonUnreachable, Cause: errors.New("down")}}
	cache := NewCache(source)
	if _, err := cache.Lookup(t.Context(), "x", Access{}); err == nil {
		t.Fatal("want an error")
	}
	source.err = nil
	if _, err := cache.Lookup(t.Context(), "x", Access{}); err != nil {
		t.Fatal(err)
	}
}

func TestCacheOutlivesTheRegistry(t *testing.T) {
	source := &countingProvider{calls: map[string]int{}}
	now := time.Unix(0, 0)
	cache := NewCache(source)
	cache.now = func() time.Time { return now }
	if _, err := cache.Lookup(t.Context(), "tag", Access{}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(tagLifetime + time.Second)
	source.err = &Error{Reason: ReasonUnreachable, Cause: errors.New("down")}
	if release, err := cache.Lookup(t.Context(), "tag", Access{}); err != nil || release == nil || source.calls["tag"] != 2 {
		t.Errorf("registry away: %v, %v after %d calls", release, err, source.calls["tag"])
	}
	source.err = &Error{Reason: ReasonNotFound, Cause: errors.New("gone")}
	if _, err := cache.Lookup(t.Context(), "tag", Access{}); err == nil {
		t.Error("a deleted image is still served")
	}
}
