package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

const (
	subscription = "5a2d0b0e-0000-4000-8000-000000000001"
	tenant       = "7e0a1d00-0000-4000-8000-000000000001"
	clientID     = "5e41ce00-0000-4000-8000-000000000001"
	secret       = "s3cret"
	location     = "eastus"
	parentZone   = "example.com"
	common       = "os4-common"

	// latency is injected into every call, whatever its plane.
	latency = 100 * time.Millisecond
	// keyBits of the signing key that both sides are given: to find its primes takes chance, not Azure.
	keyBits = 4096
)

// world is an embedded Azure that has nothing but the parent zone, and the files that lead to it.
type world struct {
	dir    string
	server *azure.Server
	stop   func()
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// newWorld starts an embedded Azure of a profile, in which every call takes the injected latency.
func newWorld(ctx context.Context, key []byte, profile string) (*world, error) {
	dir, err := os.MkdirTemp("", "bench-phase1-")
	if err != nil {
		return nil, err
	}
	w := &world{dir: dir}
	if err := w.writeFiles(key); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	group := "/subscriptions/" + subscription + "/resourceGroups/parent"
	w.server, err = azure.Start(ctx, azure.Config{
		Dir: w.path("azure"), ProxyAddr: "127.0.0.1:0", DNSAddr: "127.0.0.1:0", CACert: w.path("ca.crt"), CAKey: w.path("ca.key"),
		Subscription: subscription, Tenant: tenant, Location: location, ServicePrincipal: azure.ServicePrincipal{ClientID: clientID, Secret: secret},
		OperationTime: time.Millisecond, Profile: profile,
		Seed: []azure.SeedResource{
			{ID: group, Body: map[string]any{"location": location}},
			{ID: group + "/providers/Microsoft.Network/dnszones/" + parentZone, Body: map[string]any{"location": "global"}},
		},
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("starting the embedded Azure: %w", err)
	}
	w.stop = func() { cancel(); _ = w.server.Wait(); os.RemoveAll(dir) }
	if _, err := w.server.Faults().Add(fault.Rule{Latency: fault.Duration(latency)}); err != nil {
		w.stop()
		return nil, err
	}
	return w, nil
}

// env leads a program to the embedded Azure, as `sandbox env` does.
func (w *world) env() []string {
	return append(os.Environ(), "HTTPS_PROXY=http://"+w.server.ProxyAddr(), "SSL_CERT_FILE="+w.path("ca.crt"), "REQUESTS_CA_BUNDLE="+w.path("ca.crt"),
		"HOME="+w.dir, "CREDS="+w.path("azure-credentials.json"), "SUBSCRIPTION="+subscription, "TENANT="+tenant, "CLIENT_ID="+clientID,
		"CLIENT_SECRET_FILE="+w.path("secret"), "DNS="+w.server.DNSAddr())
}

func (w *world) writeFiles(signer []byte) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench CA"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	credentials, err := json.Marshal(map[string]string{"subscriptionId": subscription, "tenantId": tenant, "clientId": clientID, "clientSecret": secret})
	if err != nil {
		return err
	}
	if err := os.Mkdir(w.path("keys"), 0o755); err != nil {
		return err
	}
	for name, raw := range map[string][]byte{
		"ca.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), "ca.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		"azure-credentials.json": credentials, "secret": []byte(secret), "keys/serviceaccount-signer.private": signer,
	} {
		if err := os.WriteFile(w.path(name), raw, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func newSigner() ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), nil
}
