package release

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

type countingProvider struct {
	mu    sync.Mutex
	calls map[string]int
	err   error
	// release is the answer; nil makes one.
	release *Release
	// gate, when set, holds the answers back.
	gate chan struct{}
}

func (p *countingProvider) Lookup(_ context.Context, image string, _ Access) (*Release, error) {
	p.mu.Lock()
	p.calls[image]++
	p.mu.Unlock()
	if p.gate != nil {
		<-p.gate
	}
	if p.err != nil {
		return nil, p.err
	}
	if p.release != nil {
		return p.release, nil
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
	if _, err := cache.Lookup(t.Context(), "tag", Access{PullSecret: []byte("a"), Mirrors: []Mirror{{Source: "a", Mirrors: []string{"b"}}}}); err != nil || source.calls["tag"] != 2 {
		t.Error("other mirrors must not use the source's answer")
	}
	source.calls["tag"] = 1
	for _, image := range []string{"tag", "digest@sha256:1"} {
		if _, err := cache.Lookup(t.Context(), image, Access{PullSecret: []byte("a"), Recheck: true}); err != nil {
			t.Fatal(err)
		}
	}
	if source.calls["tag"] != 2 || source.calls["digest@sha256:1"] != 1 {
		t.Errorf("asked to look again: %v", source.calls)
	}
	source.calls["tag"] = 1
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
}

// TestCacheIsBounded fills the cache beyond its bytes with releases of the size of OpenShift's.
func TestCacheIsBounded(t *testing.T) {
	big := &Release{Images: map[string]string{}}
	for i := range 200 {
		big.Images[fmt.Sprint("component-", i)] = strings.Repeat("x", 130)
	}
	source := &countingProvider{calls: map[string]int{}, release: big}
	cache := NewCache(source)
	look := func(image string) {
		t.Helper()
		if _, err := cache.Lookup(t.Context(), image, Access{}); err != nil {
			t.Fatal(err)
		}
	}
	fit := cacheBytes / big.size()
	if fit < 200 || fit > 2000 {
		t.Errorf("%d releases fit", fit)
	}
	for i := range fit + 10 {
		look(fmt.Sprint("release@sha256:", i))
	}
	if cache.bytes > cacheBytes || cache.bytes < cacheBytes-2*big.size() || cache.recent.Len() != len(cache.entries) {
		t.Errorf("the cache holds %d bytes in %d/%d entries", cache.bytes, cache.recent.Len(), len(cache.entries))
	}
	look("release@sha256:0")
	look(fmt.Sprint("release@sha256:", fit+9))
	if source.calls["release@sha256:0"] != 2 || source.calls[fmt.Sprint("release@sha256:", fit+9)] != 1 {
		t.Error("the oldest entry was not the one to go")
	}
	source.release = &Release{Images: map[string]string{"huge": strings.Repeat("x", cacheBytes)}}
	look("huge")
	if cache.bytes != 0 || len(cache.entries) != 0 {
		t.Errorf("after a release larger than the cache it holds %d bytes in %d entries", cache.bytes, len(cache.entries))
	}
}

// TestCacheAsksOnce lets many callers want the same release at the same time.
func TestCacheAsksOnce(t *testing.T) {
	source := &countingProvider{calls: map[string]int{}, gate: make(chan struct{})}
	cache := NewCache(source)
	impatient, cancel := context.WithCancel(t.Context())
	answers := make(chan error)
	for i := range 20 {
		ctx := t.Context()
		if i == 0 {
			ctx = impatient
		}
		go func() {
			_, err := cache.Lookup(ctx, "x", Access{})
			answers <- err
		}()
	}
	cancel()
	var failure *Error
	if err := <-answers; !errors.As(err, &failure) || !failure.Transient() {
		t.Errorf("the caller that gave up got %v", err)
	}
	close(source.gate)
	for range 19 {
		if err := <-answers; err != nil {
			t.Errorf("another caller got %v", err)
		}
	}
	if source.calls["x"] != 1 {
		t.Errorf("%d lookups", source.calls["x"])
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
	if _, err := cache.Lookup(t.Context(), "tag", Access{}); err != nil || source.calls["tag"] != 2 {
		t.Errorf("a registry that is away is asked by every caller: %v after %d calls", err, source.calls["tag"])
	}
	now = now.Add(staleLifetime + time.Second)
	source.err = &Error{Reason: ReasonNotFound, Cause: errors.New("gone")}
	if _, err := cache.Lookup(t.Context(), "tag", Access{}); err == nil {
		t.Error("a deleted image is still served")
	}
}
