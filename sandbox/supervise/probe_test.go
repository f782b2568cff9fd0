package supervise

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProbe: a part is ready when all that its probe names is there, and not before.
func TestProbe(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	dir := t.TempDir()
	ca, foreign, marker, socket := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "foreign.crt"), filepath.Join(dir, "marker"), filepath.Join(dir, "socket")
	for path, text := range map[string][]byte{ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), foreign: []byte("nobody"), marker: nil} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	_ = closed.Close()

	address := server.Listener.Addr().String()
	for name, test := range map[string]struct {
		probe  Probe
		status int
		fails  string // "": ready
	}{
		"nothing asked":       {Probe{}, 200, ""},
		"everything":          {Probe{URL: server.URL, CA: ca, TCP: address, Socket: socket, File: marker}, 204, ""},
		"a server that fails": {Probe{URL: server.URL, CA: ca}, 503, "answers 503"},
		"a redirect to none":  {Probe{URL: server.URL, CA: ca}, 304, "answers 304"},
		"another authority":   {Probe{URL: server.URL, CA: foreign}, 200, "certificate"},
		"no authority":        {Probe{URL: server.URL, CA: filepath.Join(dir, "none")}, 200, "no such file"},
		"no listener":         {Probe{TCP: nobody, File: marker}, 200, "refused"},
		"no socket":           {Probe{Socket: socket + "-none"}, 200, "no such file"},
		"no file":             {Probe{URL: server.URL, CA: ca, File: marker + "-none"}, 200, "no such file"},
	} {
		status = test.status
		err := test.probe.Check(t.Context())
		if (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%s: %v, want %q", name, err, test.fails)
		}
	}
}

// TestTail: an error shows the end of a part's log, however long that is, and nothing for one that has none.
func TestTail(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for line := range 10000 {
		fmt.Fprintf(&text, "line %d\n", line)
	}
	if err := os.WriteFile(filepath.Join(dir, "logs", "etcd.log"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Tail(dir, "etcd", 2); got != "line 9998\nline 9999" {
		t.Errorf("%q", got)
	}
	if got := Tail(dir, "nobody", 2); got != "" {
		t.Errorf("%q", got)
	}
}
