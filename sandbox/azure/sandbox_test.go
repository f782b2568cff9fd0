package azure_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	azure "github.com/hypershift-on-azure/hypershift/sandbox/azure"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/schema"
)

const (
	subscription = "5a2d0b0e-0000-4000-8000-000000000001"
	tenant       = "7e0a1d00-0000-4000-8000-000000000001"
	clientID     = "5e41ce00-0000-4000-8000-000000000001"
	secret       = "s3cret"
	location     = "eastus"
)

// sandbox is an embedded Azure on free ports, and a client of it.
type sandbox struct {
	t      *testing.T
	cfg    azure.Config
	server *azure.Server
	stop   func()
	http   *http.Client
	pool   *x509.CertPool
	once   bool // clients do not retry
	// unmanaged: nothing is asked of the resource manager, so there are no status codes to check.
	unmanaged bool
}

func newSandbox(t *testing.T, change ...func(*azure.Config)) *sandbox {
	t.Helper()
	dir := t.TempDir()
	cert, key := makeCA(t, dir)
	s := &sandbox{t: t, pool: x509.NewCertPool(), cfg: azure.Config{
		Dir: filepath.Join(dir, "azure"), ProxyAddr: "127.0.0.1:0", CACert: cert, CAKey: key, Subscription: subscription, Tenant: tenant, Location: location,
		ServicePrincipal: azure.ServicePrincipal{ClientID: clientID, Secret: secret}, OperationTime: 5 * time.Millisecond,
	}}
	for _, f := range change {
		f(&s.cfg)
	}
	pemData, err := os.ReadFile(cert)
	must(t, err)
	s.pool.AppendCertsFromPEM(pemData)
	s.start()
	t.Cleanup(func() {
		s.stop()
		s.checkContract(t)
		s.checkStatusCodes(t)
	})
	return s
}

func (s *sandbox) start() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	server, err := azure.Start(ctx, s.cfg)
	if err != nil {
		cancel()
		s.t.Fatal(err)
	}
	s.server = server
	s.stop = func() {
		cancel()
		if err := server.Wait(); err != nil {
			s.t.Error(err)
		}
		s.stop = func() {}
	}
	proxyURL := &url.URL{Scheme: "http", Host: server.ProxyAddr()}
	s.http = &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxyURL), TLSClientConfig: &tls.Config{RootCAs: s.pool}}}
}

func (s *sandbox) restart() {
	s.stop()
	s.start()
}

// checkContract holds what was sent and answered against the schemas of Azure's types.
func (s *sandbox) checkContract(t *testing.T) {
	t.Helper()
	for _, v := range schema.Faults(s.violations()) {
		t.Error(v)
	}
}

func (s *sandbox) options() azcore.ClientOptions {
	o := azcore.ClientOptions{Transport: s.http}
	if s.once {
		o.Retry.MaxRetries = -1
	}
	return o
}

func (s *sandbox) armOptions() *arm.ClientOptions {
	return &arm.ClientOptions{ClientOptions: s.options(), DisableRPRegistration: true}
}

func (s *sandbox) user() azcore.TokenCredential {
	s.t.Helper()
	c, err := azidentity.NewClientSecretCredential(tenant, clientID, secret, &azidentity.ClientSecretCredentialOptions{ClientOptions: s.options()})
	must(s.t, err)
	return c
}

func (s *sandbox) feed() *feed.Client {
	return feed.NewClient(filepath.Join(s.cfg.Dir, "admin.sock"))
}

func makeCA(t *testing.T, dir string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	must(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	certFile, keyFile = filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	must(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
	must(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
	return certFile, keyFile
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
