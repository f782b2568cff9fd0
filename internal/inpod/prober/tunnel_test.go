package prober

import (
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// konnectivity answers like a server whose agents come with the given request; zero: never.
func konnectivity(t *testing.T, from int32) (server *httptest.Server, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := asked.Add(1); r.Method != http.MethodConnect || r.Host != "127.0.0.1:2041" || from == 0 || n < from {
			http.Error(w, "currently no tunnels available", http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close)
	return server, asked
}

func TestTunnel(t *testing.T) {
	never, _ := konnectivity(t, 0)
	always, _ := konnectivity(t, 1)
	gone := httptest.NewTLSServer(nil)
	gone.Close()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: always.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		others   *httptest.Server
		own      int32
		patience time.Duration
		asked    func(int32) bool
	}{
		"nobody else is there":         {gone, 0, time.Hour, func(n int32) bool { return n == 0 }},
		"the others have no agents":    {never, 0, time.Hour, func(n int32) bool { return n == 0 }},
		"agents come":                  {always, 3, time.Hour, func(n int32) bool { return n == 3 }},
		"agents do not find the way":   {always, 0, 500 * time.Millisecond, func(n int32) bool { return n > 1 }},
		"agents are there from before": {always, 1, time.Hour, func(n int32) bool { return n == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			own, asked := konnectivity(t, test.own)
			tunnel := Tunnel{Own: own.Listener.Addr().String(), Others: test.others.Listener.Addr().String(), CAFile: ca}
			if err := tunnel.wait(t.Context(), test.patience); err != nil || !test.asked(asked.Load()) {
				t.Errorf("%v after %d requests", err, asked.Load())
			}
		})
	}
	late, asked := konnectivity(t, 1)
	address := late.Listener.Addr().String()
	late.Close()
	ended := make(chan error, 1)
	go func() {
		ended <- Tunnel{Own: address, Others: gone.Listener.Addr().String(), CAFile: ca}.wait(t.Context(), time.Hour)
	}()
	select {
	case err := <-ended:
		t.Fatalf("a server that does not listen is not waited for: %v", err)
	case <-time.After(2 * interval):
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := <-ended; err != nil || asked.Load() != 0 {
		t.Errorf("%v after %d requests to a server whose agents nobody needs", err, asked.Load())
	}
	if err := (Tunnel{Own: "localhost:1", Others: always.Listener.Addr().String(), CAFile: "/nonexistent"}).wait(t.Context(), time.Hour); err == nil {
		t.Error("missing authorities are no error")
	}
}
