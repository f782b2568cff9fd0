package machine

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

func TestProbeRequest(t *testing.T) {
	backend := netip.MustParseAddr("10.0.0.4")
	for want, key := range map[string]probeKey{
		"http://10.0.0.4:10256/healthz":      {Backend: backend, Protocol: "Http", Port: 10256, Path: "/healthz"},
		"http://10.0.0.4:80/":                {Backend: backend, Protocol: "Http", Port: 80},
		"https://10.0.0.4:6443/readyz?quick": {Backend: backend, Protocol: "HTTPS", Port: 6443, Path: "readyz?quick"},
		"http://[fd00::4]:80/a/b":            {Backend: netip.MustParseAddr("fd00::4"), Protocol: "http", Port: 80, Path: "/a/b"},
	} {
		request, err := probeRequest(t.Context(), key)
		if err != nil || request.Method != http.MethodGet || request.URL.String() != want {
			t.Errorf("%+v: %v, %v, want %s", key, request, err, want)
		}
	}
}

// Azure takes 200 and nothing else for healthy, follows no redirect and does not verify certificates.
func TestProbe(t *testing.T) {
	handler := http.NewServeMux()
	handler.HandleFunc("/well", func(http.ResponseWriter, *http.Request) {})
	handler.HandleFunc("/sick", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	handler.HandleFunc("/created", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	handler.Handle("/moved", http.RedirectHandler("/well", http.StatusFound))
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for _, c := range []struct {
		server, protocol, path string
		healthy                bool
	}{
		{plain.Listener.Addr().String(), "Tcp", "", true},
		{plain.Listener.Addr().String(), "Http", "/well", true},
		{plain.Listener.Addr().String(), "Http", "/sick", false},
		{plain.Listener.Addr().String(), "Http", "/created", false},
		{plain.Listener.Addr().String(), "Http", "/moved", false},
		{secure.Listener.Addr().String(), "Https", "/well", true},
		{secure.Listener.Addr().String(), "Https", "/sick", false},
		{secure.Listener.Addr().String(), "Http", "/well", false},
		{gone.Addr().String(), "Tcp", "", false},
		{gone.Addr().String(), "Http", "/well", false},
	} {
		var asked, source string
		p := &prober{dial: func(ctx context.Context, network, address string, from net.Addr) (net.Conn, error) {
			asked, source = address, from.String()
			return new(net.Dialer).DialContext(ctx, network, c.server)
		}}
		err := p.once(t.Context(), probeKey{Backend: netip.MustParseAddr("10.0.0.4"), Protocol: c.protocol, Port: 10256, Path: c.path})
		if (err == nil) != c.healthy {
			t.Errorf("%s %s: %v", c.protocol, c.path, err)
		}
		if asked != "10.0.0.4:10256" || !strings.HasPrefix(source, azureAddress+":") {
			t.Errorf("%s %s: asked %s from %s", c.protocol, c.path, asked, source)
		}
		if c.path == "/sick" && !errors.Is(err, errUnhealthy) {
			t.Errorf("an answer that is not 200: %v", err)
		}
	}
}

// failing is a prober whose backends do not answer, and the count of its attempts.
func failing(t *testing.T, trust bool, changed func()) (*prober, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	p := newProber(nil, trust, changed)
	p.dial = func(context.Context, string, string, net.Addr) (net.Conn, error) {
		asked.Add(1)
		return nil, errUnhealthy
	}
	return p, &asked
}

// A probe that somebody changes is followed at once: a change of it is no new probe, which would forget what is known of the backend.
func TestAChangedProbeIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, asked := failing(t, true, func() {})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		key := probeKey{Backend: netip.MustParseAddr("10.0.0.4"), Protocol: "tcp", Port: 80}
		p.want(ctx, map[probeKey]feed.Probe{key: {NumberOfProbes: 100, IntervalSeconds: 5}})
		time.Sleep(21 * time.Second)
		if !p.healthy(key) || asked.Load() != 5 { // after 0, 5, 10, 15, 20 s
			t.Errorf("healthy %v after %d probes", p.healthy(key), asked.Load())
		}
		p.want(ctx, map[probeKey]feed.Probe{key: {NumberOfProbes: 6, IntervalSeconds: 5}})
		if !p.healthy(key) {
			t.Error("a change of the probe makes the backend unhealthy")
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if p.healthy(key) {
			t.Error("six failures in a row, and the backend is healthy")
		}
		cancel()
		synctest.Wait()
	})
}

// Backends that were balanced to before the hypervisor began are trusted until a probe fails, later ones are not; one that is gone and
// comes back begins anew; each change is told of once.
func TestTrustOfBackends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := 0
		p, _ := failing(t, true, func() { changes++ })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		key := func(ip string) probeKey {
			return probeKey{Backend: netip.MustParseAddr(ip), Protocol: "tcp", Port: 80}
		}
		probe := feed.Probe{NumberOfProbes: 2, IntervalSeconds: 5}
		old, late := key("10.0.0.4"), key("10.0.0.5")
		p.want(ctx, map[probeKey]feed.Probe{old: probe})
		p.want(ctx, map[probeKey]feed.Probe{old: probe, late: probe})
		synctest.Wait()
		if !p.healthy(old) || p.healthy(late) || changes != 0 {
			t.Errorf("old %v, late %v, %d changes", p.healthy(old), p.healthy(late), changes)
		}
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if p.healthy(old) || changes != 1 {
			t.Errorf("after two failures: old %v, %d changes", p.healthy(old), changes)
		}
		p.want(ctx, nil)
		p.want(ctx, map[probeKey]feed.Probe{old: probe})
		if p.healthy(old) {
			t.Error("one that comes back is trusted")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if changes != 1 {
			t.Errorf("%d changes, though nothing changed", changes)
		}
		cancel()
		synctest.Wait()
	})
}
