package endpoints

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// TestProbeTrustsFormerAuthorities: an API server that still shows the certificate of before serves everybody, so its probe must not tell
// of an outage while authorities are being replaced; one that nobody trusts is out.
func TestProbeTrustsFormerAuthorities(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	shown := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(address.Port(), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := pki.EnsureAuthorities(pki.Secrets{}, pki.Authorities(), pki.DefaultPolicy(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	probe := func() error {
		return Ask(t.Context(), nil, publish.Endpoint{Host: address.Hostname(), Port: int32(port)}, secrets, false)
	}
	if probe() == nil {
		t.Error("a server of an unknown authority passes")
	}
	secrets[contract.RootCA][pki.FormerKey] = shown
	if err := probe(); err != nil {
		t.Errorf("a server with a certificate of the former authority: %v", err)
	}
}
