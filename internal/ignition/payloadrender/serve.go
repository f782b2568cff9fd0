package payloadrender

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

const (
	fetchPeriod = time.Second
	fetchLimit  = 5 * time.Second
	// maxPayload bounds what the server may answer, in bytes.
	maxPayload = 32 << 20
	// accepted is what machines of the release understand.
	accepted = "application/vnd.coreos.ignition+json;version=3.2.0, */*;q=0.1"

	certificateLife = 24 * time.Hour
	renewBefore     = time.Hour
)

// serve is stage D: the machine-config-server runs until it has given the configuration. In this mode it serves the pool "master" only,
// which the pool's file has select the configurations of workers.
func (r *render) serve(ctx context.Context) ([]byte, error) {
	certificate, key, err := r.serving.get(time.Now())
	if err != nil {
		return nil, err
	}
	for file, content := range map[string][]byte{"mcs/tls.crt": certificate, "mcs/tls.key": key} {
		if err := os.WriteFile(r.path(file), content, 0o600); err != nil {
			return nil, err
		}
	}
	limited, cancel := context.WithTimeout(ctx, r.Patience)
	defer cancel()
	cmd, said := r.command(limited, serverProgram, r.serverArgs()...)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", serverProgram, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	payload, err := poll(limited, fmt.Sprintf("http://localhost:%d/config/master", r.InsecurePort), ended)
	var early *endedEarly
	if errors.As(err, &early) {
		_ = killGroup(cmd) // what it has left behind
		return nil, failure(limited, serverProgram, early.cause, said)
	}
	stop(cmd, ended)
	if err != nil && limited.Err() != nil {
		err = fmt.Errorf("%s answered nothing in time", serverProgram)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, said)
	}
	return payload, nil
}

func (r *render) serverArgs() []string {
	return []string{
		"bootstrap", "--server-basedir", r.path("mcs"), "--bootstrap-kubeconfig", r.path(kubeconfigFile),
		"--cert", r.path("mcs/tls.crt"), "--key", r.path("mcs/tls.key"),
		"--secure-port", strconv.Itoa(r.SecurePort), "--insecure-port", strconv.Itoa(r.InsecurePort), "--payload-version", r.Version,
	}
}

// stop ends the server: in its own way first.
func stop(cmd *exec.Cmd, ended <-chan error) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
		_ = killGroup(cmd) // what it has left behind
	case <-time.After(endPatience):
		_ = killGroup(cmd)
		<-ended
	}
}

// endedEarly: the server has ended before it answered.
type endedEarly struct{ cause error }

func (e *endedEarly) Error() string { return fmt.Sprintf("it has ended: %v", e.cause) }

var errNotYet = errors.New("no answer yet")

// poll asks until the server answers, or has ended.
func poll(ctx context.Context, url string, ended chan error) ([]byte, error) {
	client := &http.Client{Timeout: fetchLimit, Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		payload, err := fetch(ctx, client, url)
		if !errors.Is(err, errNotYet) {
			return payload, err
		}
		select {
		case cause := <-ended:
			if cause == nil {
				cause = errors.New("ended before it was asked")
			}
			return nil, &endedEarly{cause}
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(fetchPeriod):
		}
	}
}

// fetch asks once. What the server answers it would answer again: it reads files that do not change.
func fetch(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accepted)
	answer, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotYet, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", serverProgram, answer.Status)
	}
	payload, err := io.ReadAll(io.LimitReader(answer.Body, maxPayload+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotYet, err)
	}
	if len(payload) > maxPayload {
		return nil, fmt.Errorf("the configuration has more than %d bytes", maxPayload)
	}
	return payload, nil
}

// serving keeps the certificate of the server, which nobody verifies: machines get their configuration elsewhere.
type serving struct {
	certificate, key []byte
	until            time.Time
}

func (s *serving) get(now time.Time) (certificate, key []byte, err error) {
	if now.Before(s.until.Add(-renewBefore)) {
		return s.certificate, s.key, nil
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, nil, fmt.Errorf("make a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: serverProgram}, DNSNames: []string{"localhost"},
		NotBefore: now, NotAfter: now.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, nil, fmt.Errorf("make a certificate: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("encode a key: %w", err)
	}
	s.certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	s.key, s.until = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), template.NotAfter
	return s.certificate, s.key, nil
}
