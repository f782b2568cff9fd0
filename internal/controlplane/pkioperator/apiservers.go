package pkioperator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const (
	apiServerPort = "6443"
	askTimeout    = 10 * time.Second
	selfReview    = `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`
)

// apiServers finds the API servers of the hosted cluster and asks each by its own address who the holder of a certificate is.
type apiServers struct {
	client    client.Client
	namespace string
}

// ask counts those that accept the certificate and those that refuse it. A server that does not answer is an error: what it would say matters.
func (a *apiServers) ask(ctx context.Context, certificate, key []byte) (accepted, refused int, err error) {
	pods := &corev1.PodList{}
	if err := a.client.List(ctx, pods, client.InNamespace(a.namespace), client.MatchingLabels{component.LabelApp: contract.APIServer}); err != nil {
		return 0, 0, fmt.Errorf("list the API servers: %w", err)
	}
	config, err := a.trust(ctx, certificate, key)
	if err != nil {
		return 0, 0, err
	}
	var failures []error
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP == "" || pod.DeletionTimestamp != nil {
			continue
		}
		ok, err := accepts(ctx, net.JoinHostPort(pod.Status.PodIP, apiServerPort), config)
		switch {
		case err != nil:
			failures = append(failures, fmt.Errorf("API server %s does not say whether it accepts the certificate: %w", pod.Name, err))
		case ok:
			accepted++
		default:
			refused++
		}
	}
	return accepted, refused, errors.Join(failures...)
}

func (a *apiServers) trust(ctx context.Context, certificate, key []byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	roots := &corev1.ConfigMap{}
	if err := a.client.Get(ctx, client.ObjectKey{Namespace: a.namespace, Name: contract.RootCA}, roots); err != nil {
		return nil, fmt.Errorf("read what the API servers' certificates are trusted by: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(roots.Data[contract.CAKey]))
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, ServerName: contract.APIServer, Certificates: []tls.Certificate{pair}}, nil
}

// accepts asks one API server; by its name in the handshake it serves the certificate that is for the inside of the control plane.
func accepts(ctx context.Context, address string, config *tls.Config) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+"/apis/authentication.k8s.io/v1/selfsubjectreviews", strings.NewReader(selfReview))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/json")
	// A connection of before knows who its client was then.
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusCreated, http.StatusOK:
		return true, nil
	case http.StatusUnauthorized:
		return false, nil
	}
	said, _ := io.ReadAll(io.LimitReader(response.Body, 512))
	return false, fmt.Errorf("it answers %s: %s", response.Status, said)
}
