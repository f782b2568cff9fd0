package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/egress"
)

// tarpit never answers before its caller gives up.
type tarpit struct {
	mu             sync.Mutex
	asking, atOnce int
}

func (p *tarpit) Lookup(ctx context.Context, image string, _ Access) (*Release, error) {
	p.mu.Lock()
	p.asking++
	p.atOnce = max(p.atOnce, p.asking)
	p.mu.Unlock()
	<-ctx.Done()
	p.mu.Lock()
	p.asking--
	p.mu.Unlock()
	return nil, &Error{Image: image, Reason: ReasonUnreachable, Cause: errors.New("silence")}
}

func reasonOf(t *testing.T, err error) Reason {
	t.Helper()
	var failure *Error
	if !errors.As(err, &failure) {
		t.Fatalf("got %v", err)
	}
	return failure.Reason
}

// TestTarpit: registries that do not answer hold each caller for a moment, their tenant's lookups for longer, and nobody else's.
func TestTarpit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &tarpit{}
		cache := NewCache(source)
		cache.Limits = Limits{Wait: 2 * time.Second, PerTenant: 4}
		began := time.Now()
		for i := range 10 {
			image := fmt.Sprintf("tarpit-%d.example.com/x", i)
			for range 3 {
				_, err := cache.Lookup(t.Context(), image, Access{Tenant: "acme"})
				if reason := reasonOf(t, err); reason != ReasonPending {
					t.Fatalf("%s: %s", image, reason)
				}
			}
		}
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("30 calls for 10 images took %v", took)
		}
		if source.atOnce != 4 {
			t.Errorf("%d lookups of a tenant at once", source.atOnce)
		}
		if _, err := cache.Lookup(t.Context(), "tarpit.example.com/y", Access{Tenant: "other"}); reasonOf(t, err) != ReasonPending || source.asking != 5 {
			t.Errorf("another tenant: %v, %d lookups run", err, source.asking)
		}
		time.Sleep(lookupTimeout - time.Since(began) + time.Second)
		_, err := cache.Lookup(t.Context(), "tarpit-0.example.com/x", Access{Tenant: "acme"})
		if reasonOf(t, err) != ReasonUnreachable || !strings.Contains(err.Error(), "silence") {
			t.Errorf("the end of a lookup is told as %v", err)
		}
		time.Sleep(10 * time.Minute)
		if len(cache.begun)+len(cache.slots)+source.asking != 0 {
			t.Errorf("left: %v, %v, %d", cache.begun, cache.slots, source.asking)
		}
		if _, err := cache.Lookup(t.Context(), "tarpit-0.example.com/x", Access{Tenant: "acme"}); reasonOf(t, err) != ReasonPending {
			t.Errorf("a failure is told for ever: %v", err)
		}
		time.Sleep(10 * time.Minute)
	})
}

// slow answers after a while.
type slow time.Duration

func (s slow) Lookup(_ context.Context, image string, _ Access) (*Release, error) {
	time.Sleep(time.Duration(s))
	return &Release{Image: image}, nil
}

// TestSlowRegistry: what was not waited for is there for the next caller.
func TestSlowRegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := NewCache(slow(5 * time.Second))
		cache.Limits = Limits{Wait: 2 * time.Second, PerTenant: 1}
		if _, err := cache.Lookup(t.Context(), "x", Access{Tenant: "a"}); reasonOf(t, err) != ReasonPending {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := cache.Lookup(t.Context(), "x", Access{Tenant: "a"}); reasonOf(t, err) != ReasonPending || time.Since(began) != 0 {
			t.Errorf("the second caller waited %v for %v", time.Since(began), err)
		}
		time.Sleep(4 * time.Second)
		if found, err := cache.Lookup(t.Context(), "x", Access{Tenant: "a"}); err != nil || found.Image != "x" {
			t.Errorf("got %v, %v", found, err)
		}
	})
}

// TestGuard: a tenant's image does not lead into the network, neither by its own name nor by where its registry sends for a token. The
// control is the same image without the guard, and where the installation trusts its place.
func TestGuard(t *testing.T) {
	reference, access := push(t, imageOf(t, map[string]string{referencesFile: references}))
	guard := &egress.Policy{}
	if _, err := (Reader{}).Lookup(t.Context(), reference, access); err != nil {
		t.Fatal(err)
	}
	if _, err := (Reader{Guard: guard}).Lookup(t.Context(), reference, access); reasonOf(t, err) != ReasonRefusedAddress {
		t.Errorf("got %v", err)
	}
	host, _, _ := strings.Cut(reference, "/")
	if _, err := (Reader{Guard: guard, Trusted: []string{host}}).Lookup(t.Context(), reference, access); err != nil {
		t.Errorf("a registry that the installation trusts: %v", err)
	}
	if _, err := (Reader{Guard: guard, Trusted: []string{host[:len(host)-1]}}).Lookup(t.Context(), reference, access); err == nil {
		t.Error("a registry whose name begins like one that is trusted is trusted")
	}
	repository, suffix := repositoryOf(reference)
	for managed, want := range map[bool]bool{true: true, false: false} {
		mirrored := access
		mirrored.Mirrors = []Mirror{{Source: "registry.invalid/a", Mirrors: []string{repository}, Managed: managed}}
		if _, err := (Reader{Guard: guard}).Lookup(t.Context(), "registry.invalid/a"+suffix, mirrored); (err == nil) != want {
			t.Errorf("a mirror, managed %t: %v", managed, err)
		}
	}
}

// TestRealmIsGuarded: the registry is in a place that the guard lets through, and asks for a token at one that it does not.
func TestRealmIsGuarded(t *testing.T) {
	asked := false
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer inside.Close()
	transport := guardedBut{refused: inside.Listener.Addr().String()}
	registry := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+inside.URL+`/token",service="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer registry.Close()
	transport.RoundTripper = registry.Client().Transport
	client := &registryClient{guarded: transport, keychain: keychain{}}
	_, failure := find(t.Context(), strings.TrimPrefix(registry.URL, "https://")+"/a/b:1", client.options(false))
	if failure == nil || failure.Reason != ReasonRefusedAddress || asked {
		t.Errorf("got %v; asked inside: %t", failure, asked)
	}
}

// guardedBut refuses one host as an egress.Transport does.
type guardedBut struct {
	http.RoundTripper
	refused string
}

func (g guardedBut) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host == g.refused {
		return nil, egress.ErrRefused
	}
	return g.RoundTripper.RoundTrip(request)
}

// TestLongAnswer: what a registry answers ends in conditions, and may be megabytes of anything.
func TestLongAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(bytes.Repeat([]byte("a\xff"), 1<<20))
	}))
	defer server.Close()
	_, err := Reader{}.Lookup(t.Context(), strings.TrimPrefix(server.URL, "http://")+"/a/b:1", Access{})
	if err == nil || len(err.Error()) > 2*causeBytes {
		t.Errorf("a message of %d bytes", len(fmt.Sprint(err)))
	}
}
