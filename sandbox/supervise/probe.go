package supervise

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// Probe tells when a part is ready. An empty one is always content.
type Probe struct {
	URL    string `json:"url,omitempty"`    // answers 2xx
	CA     string `json:"ca,omitempty"`     // file; trusted for URL
	TCP    string `json:"tcp,omitempty"`    // host:port that accepts
	Socket string `json:"socket,omitempty"` // unix socket that accepts
	File   string `json:"file,omitempty"`   // exists
}

const probeTimeout = 3 * time.Second

// Check is nil if the part is ready.
func (p Probe) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if p.File != "" {
		if _, err := os.Stat(p.File); err != nil {
			return err
		}
	}
	for network, address := range map[string]string{"tcp": p.TCP, "unix": p.Socket} {
		if address == "" {
			continue
		}
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return err
		}
		_ = conn.Close()
	}
	if p.URL != "" {
		return p.get(ctx)
	}
	return nil
}

func (p Probe) get(ctx context.Context) error {
	transport := &http.Transport{DisableKeepAlives: true}
	if p.CA != "" {
		pem, err := os.ReadFile(p.CA)
		if err != nil {
			return err
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s", p.URL, response.Status)
	}
	return nil
}
