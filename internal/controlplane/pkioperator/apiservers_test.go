package pkioperator

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// One server says that it accepts, another that it refuses; one that says neither is no evidence of either.
func TestWhatAPIServersSay(t *testing.T) {
	for status, want := range map[int]string{http.StatusCreated: "accepts", http.StatusUnauthorized: "refuses", http.StatusServiceUnavailable: "503"} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			if request.Method != http.MethodPost || request.URL.Path != "/apis/authentication.k8s.io/v1/selfsubjectreviews" || request.TLS.ServerName != "example.com" {
				t.Errorf("it is asked %s %s as %s", request.Method, request.URL, request.TLS.ServerName)
			}
			w.WriteHeader(status)
		}))
		pool := x509.NewCertPool()
		pool.AddCert(server.Certificate())
		config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, ServerName: "example.com"}
		ok, err := accepts(t.Context(), strings.TrimPrefix(server.URL, "https://"), config)
		got := "refuses"
		switch {
		case err != nil:
			got = err.Error()
		case ok:
			got = "accepts"
		}
		if !strings.Contains(got, want) {
			t.Errorf("status %d: %s", status, got)
		}
		server.Close()
		if _, err := accepts(t.Context(), strings.TrimPrefix(server.URL, "https://"), config); err == nil {
			t.Error("a server that is away says something")
		}
	}
}
