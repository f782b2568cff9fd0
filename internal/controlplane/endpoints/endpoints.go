// Package endpoints publishes what is reached from outside of a control plane, and asks the API server for its health from there.
package endpoints

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

const (
	probeTimeout      = 10 * time.Second
	firstProbeTimeout = 2 * time.Second
)

// probeHTTPS asks for /healthz, trusting these authorities only.
func probeHTTPS(ctx context.Context, endpoint publish.Endpoint, trusted []byte) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint.URL()+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("probe %s: %w", endpoint.URL(), err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("the published API server does not answer at %s: %w", endpoint.URL(), err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the published API server answers %s/healthz with %s", endpoint.URL(), response.Status)
	}
	return nil
}

// Probe asks whether the published API server answers, and can be trusted by these authorities, PEM.
type Probe func(ctx context.Context, endpoint publish.Endpoint, trusted []byte) error

// Publish brings the Services and Routes of a control plane, and reads where they are reached.
func Publish(ctx context.Context, w component.Writer, ingressDomain string, now time.Time) (publish.Endpoints, error) {
	if err := w.Apply(ctx, publish.Objects(w.HCP, ingressDomain)...); err != nil {
		return publish.Endpoints{}, err
	}
	err := publish.Admit(ctx, w.Client, w.HCP, now)
	if apierrors.IsConflict(err) {
		return publish.Endpoints{}, component.ErrBehind
	}
	if err != nil {
		return publish.Endpoints{}, err
	}
	return publish.Read(ctx, w.Client, w.HCP)
}

// Ask probes the published API server, from where it is published; probe nil means by HTTPS. Ready tells whether the control plane was
// ready before.
func Ask(ctx context.Context, probe Probe, endpoint publish.Endpoint, secrets pki.Secrets, ready bool) error {
	if probe == nil {
		probe = probeHTTPS
	}
	// While it is not up yet, packets may get lost on a path that is being built: better ask again than wait for one answer.
	timeout := firstProbeTimeout
	if ready {
		timeout = probeTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// As clients do: while the authority is being replaced, the API server still shows what the former one signed.
	return probe(ctx, endpoint, pki.Trusted(secrets, contract.RootCA))
}
