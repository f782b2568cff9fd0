package expose

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// material writes the certificates of etcd and of who asks for its metrics, as a control plane has them.
func material(t *testing.T) string {
	t.Helper()
	dir, secrets := t.TempDir(), pki.Secrets{}
	put := func(changed pki.Secrets, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range changed {
			secrets[name] = data
			for key, value := range data {
				if err := os.WriteFile(filepath.Join(dir, name+"."+key), value, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	var authorities []pki.Authority
	for _, a := range pki.Authorities() {
		if strings.HasPrefix(a.Secret, "etcd-") {
			authorities = append(authorities, a)
		}
	}
	all, err := pki.Leaves(pki.Params{Namespace: "clusters-demo", Name: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	var leaves []pki.Leaf
	for _, l := range all {
		if strings.HasPrefix(l.Signer, "etcd-") {
			leaves = append(leaves, l)
		}
	}
	put(pki.EnsureAuthorities(secrets, authorities, pki.DefaultPolicy(), time.Now()))
	put(pki.EnsureLeaves(secrets, leaves, pki.DefaultPolicy(), time.Now()))
	return dir
}

// member is an etcd that answers its clients alone.
func member(t *testing.T, dir string) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.String() {
		case "/metrics":
			_, _ = io.WriteString(w, "etcd_server_has_leader 1\n")
		case "/livez":
			_, _ = io.WriteString(w, "ok")
		default:
			http.Error(w, "not well", http.StatusServiceUnavailable)
		}
	}))
	config, err := transport.TLSInfo{CertFile: dir + "/etcd-server-tls.server.crt", KeyFile: dir + "/etcd-server-tls.server.key",
		TrustedCAFile: dir + "/etcd-signer.ca.crt", ClientCertAuth: true}.ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	server.TLS = config
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// serve runs the server with the member's certificate; it returns its address.
func serve(t *testing.T, o Options, dir string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.CertFile, o.KeyFile, o.CAFile = dir+"/etcd-server-tls.server.crt", dir+"/etcd-server-tls.server.key", dir+"/etcd-signer.ca.crt"
	o.CipherSuites = strings.Split(component.CipherSuites, ",")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "https://localhost:" + strings.Split(listener.Addr().String(), ":")[1]
}

// ask is a client with a certificate, or none; the status is 0 where there is no connection.
func ask(t *testing.T, dir, certificate, address string, most uint16) (int, string) {
	t.Helper()
	pool := x509.NewCertPool()
	authority, err := os.ReadFile(dir + "/etcd-signer.ca.crt")
	if err != nil || !pool.AppendCertsFromPEM(authority) {
		t.Fatal("the authority cannot be read", err)
	}
	config := &tls.Config{RootCAs: pool, MaxVersion: most}
	if certificate != "" {
		pair, err := tls.LoadX509KeyPair(dir+"/"+certificate+".crt", dir+"/"+certificate+".key")
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}, Timeout: 10 * time.Second}
	answer, err := client.Get(address)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func TestExpose(t *testing.T) {
	dir := material(t)
	etcd := member(t, dir)
	target := strings.Replace(etcd.URL, "127.0.0.1", "localhost", 1)
	health := serve(t, Options{Target: target, Paths: map[string]string{"/healthz": "/livez", "/readyz": "/readyz"}}, dir)
	metrics := serve(t, Options{Target: target, Paths: map[string]string{"/metrics": "/metrics"}, ClientCAFile: dir + "/etcd-metrics-signer.ca.crt"}, dir)
	const prometheus, client = "etcd-metrics-client-tls.tls", "etcd-client-tls.etcd-client"
	for name, test := range map[string]struct {
		certificate, address string
		most                 uint16
		status               int
	}{
		"the kubelet sees that it lives":            {"", health + "/healthz", 0, http.StatusOK},
		"and that it is not ready":                  {"", health + "/readyz", 0, http.StatusServiceUnavailable},
		"a query changes nothing":                   {"", health + "/healthz?exclude=x", 0, http.StatusOK},
		"the kubelet sees nothing else":             {"", health + "/metrics", 0, http.StatusNotFound},
		"Prometheus sees metrics":                   {prometheus, metrics + "/metrics", 0, http.StatusOK},
		"and nothing else":                          {prometheus, metrics + "/v3/kv/range", 0, http.StatusNotFound},
		"with TLS 1.2":                              {prometheus, metrics + "/metrics", tls.VersionTLS12, http.StatusOK},
		"not with TLS 1.1":                          {prometheus, metrics + "/metrics", tls.VersionTLS11, 0},
		"nobody without a certificate sees metrics": {"", metrics + "/metrics", 0, 0},
		"a client of etcd does not":                 {client, metrics + "/metrics", 0, 0},
		"who may see metrics is no client of etcd":  {prometheus, target + "/metrics", 0, 0},
	} {
		if status, body := ask(t, dir, test.certificate, test.address, test.most); status != test.status {
			t.Errorf("%s: status %d (%s), want %d", name, status, body, test.status)
		}
	}
	etcd.Close()
	if status, _ := ask(t, dir, "", health+"/healthz", 0); status != http.StatusBadGateway {
		t.Errorf("a member that is gone: status %d", status)
	}
}

// Another authority of who may ask is trusted from the next connection on.
func TestAuthorityIsReplaced(t *testing.T) {
	dir, other := material(t), material(t)
	metrics := serve(t, Options{Target: strings.Replace(member(t, dir).URL, "127.0.0.1", "localhost", 1),
		Paths: map[string]string{"/metrics": "/metrics"}, ClientCAFile: dir + "/etcd-metrics-signer.ca.crt"}, dir)
	fromOther := func() int {
		for _, suffix := range []string{"crt", "key"} {
			raw, err := os.ReadFile(other + "/etcd-metrics-client-tls.tls." + suffix)
			if err == nil {
				err = os.WriteFile(dir+"/other."+suffix, raw, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		status, _ := ask(t, dir, "other", metrics+"/metrics", 0)
		return status
	}
	if status := fromOther(); status != 0 {
		t.Errorf("a stranger: status %d", status)
	}
	raw, err := os.ReadFile(other + "/etcd-metrics-signer.ca.crt")
	if err == nil {
		err = os.WriteFile(dir+"/etcd-metrics-signer.ca.crt", raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if status := fromOther(); status != http.StatusOK {
		t.Errorf("after the authority was replaced: status %d", status)
	}
}
