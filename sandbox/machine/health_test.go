package machine

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
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
