package prober

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

func TestWaitsUntilTheTargetAnswers(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(context.Background(), Options{Target: server.URL, CAFile: ca}); err != nil || calls.Load() != 3 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}

func TestAnUntrustedTargetIsNotAvailable(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if err := Run(ctx, Options{Target: server.URL}); err == nil {
		t.Error("a target of an unknown authority passes")
	}
}

func TestOptions(t *testing.T) {
	for name, options := range map[string]Options{
		"nothing to wait for":           {},
		"binding without kubeconfig":    {ClusterRoleBinding: "x"},
		"malformed API":                 {Kubeconfig: "k", RequiredAPIs: []string{"apps/v1"}},
		"certificate authority is gone": {Target: "https://localhost", CAFile: "/nonexistent"},
	} {
		if err := Run(context.Background(), options); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestALongWaitIsAskedLessOften(t *testing.T) {
	for waited, want := range map[time.Duration]time.Duration{
		0: interval, 5 * time.Second: interval, 30 * time.Second: time.Second, time.Hour: maxInterval,
	} {
		if got := pause(waited); got != want {
			t.Errorf("after %s the next attempt is in %s, want %s", waited, got, want)
		}
	}
}
