package metricsproxy

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/metricsforwarding/endpointresolver"
	"github.com/hypershift-on-azure/hypershift/internal/monitor"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// proxy is one that runs, in front of a resolver and of an etcd whose answer can be changed.
type proxy struct {
	*testing.T
	url     string
	trusted *x509.CertPool
	own     tls.Certificate
	code    int
}

func (p *proxy) write(name string, data []byte) string {
	p.Helper()
	path := filepath.Join(p.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		p.Fatal(err)
	}
	return path
}

func start(t *testing.T) *proxy {
	p := &proxy{T: t, code: http.StatusOK}
	etcd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(p.code)
		if _, err := io.WriteString(w, told); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(etcd.Close)
	host, port, err := net.SplitHostPort(etcd.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	pods := fake.NewClientBuilder().WithObjects(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "plane", Name: "etcd-0", Labels: map[string]string{"app": "etcd"}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: host, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}).Build()
	resolver := httptest.NewTLSServer(endpointresolver.Handler(pods, "plane"))
	t.Cleanup(resolver.Close)
	program := func(name, label string) monitor.Forwarded {
		return monitor.Forwarded{Name: name, Selector: map[string]string{"app": label}, MetricsPort: int32(number), MetricsPath: "/metrics", MetricsScheme: "http",
			MetricsJob: "etcd", MetricsNamespace: "openshift-etcd", MetricsService: "etcd", MetricsEndpoint: "etcd-metrics"}
	}
	config, err := yaml.Marshal(monitor.Proxy{
		EndpointResolver: monitor.Resolver{URL: resolver.URL, CAFile: p.write("resolver.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: resolver.Certificate().Raw}))},
		Components:       []monitor.Forwarded{program("etcd", "etcd"), program("cluster-autoscaler", "nobody")},
	})
	if err != nil {
		t.Fatal(err)
	}
	secrets := p.certify()
	o := Options{ConfigFile: p.write("config.yaml", config), ClientCAFile: p.write("ca.crt", secrets[contract.CSRSigner]["ca.crt"]), Set: "Telemetry"}
	handler, err := o.handler()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	if server.TLS, err = o.serverConfig(); err != nil {
		t.Fatal(err)
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	p.url, p.trusted = server.URL, x509.NewCertPool()
	p.trusted.AddCert(server.Certificate())
	return p
}

// certify makes a client's certificate, and the authority of it.
func (p *proxy) certify() pki.Secrets {
	p.Helper()
	now := time.Now()
	var signer pki.Authority
	for _, a := range pki.Authorities() {
		if a.Secret == contract.CSRSigner {
			signer = a
		}
	}
	secrets, err := pki.EnsureAuthorities(pki.Secrets{}, []pki.Authority{signer}, pki.DefaultPolicy(), now)
	if err != nil {
		p.Fatal(err)
	}
	leaves, err := pki.EnsureLeaves(secrets, []pki.Leaf{{Secret: "client", Signer: contract.CSRSigner, CN: "prometheus", Usages: pki.ClientUsages()}}, pki.DefaultPolicy(), now)
	if err != nil {
		p.Fatal(err)
	}
	if p.own, err = tls.X509KeyPair(leaves["client"]["tls.crt"], leaves["client"]["tls.key"]); err != nil {
		p.Fatal(err)
	}
	return secrets
}

func (p *proxy) get(path string, certificates ...tls.Certificate) (int, string) {
	p.Helper()
	asks := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.trusted, Certificates: certificates, MinVersion: tls.VersionTLS12}}}
	request, err := http.NewRequestWithContext(p.Context(), http.MethodGet, p.url+path, nil)
	if err != nil {
		p.Fatal(err)
	}
	response, err := asks.Do(request)
	if err != nil {
		p.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		p.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestProxy: who is certified sees what pods tell, as the set and the names of the cluster's own monitoring have it; nobody else does.
func TestProxy(t *testing.T) {
	p := start(t)
	check := func(path string, code int, want string, certificates ...tls.Certificate) {
		t.Helper()
		if got, body := p.get(path, certificates...); got != code || !strings.Contains(body, want) || want == "" && body != "" {
			t.Errorf("%s: %d %s, want %d %s", path, got, body, code, want)
		}
	}
	check("/healthz", http.StatusOK, "")
	check("/metrics/etcd", http.StatusUnauthorized, "client certificate")
	check("/metrics/etcd", http.StatusOK, `etcd_server_has_leader{pod="etcd-0",namespace="openshift-etcd",job="etcd",service="etcd",endpoint="etcd-metrics",instance="127.0.0.1:`, p.own)
	if _, body := p.get("/metrics/etcd", p.own); strings.Contains(body, "go_goroutines") {
		t.Errorf("the set does not keep\n%s", body)
	}
	check("/metrics/cluster-autoscaler", http.StatusOK, "", p.own)
	check("/metrics/openshift-apiserver", http.StatusNotFound, "no program", p.own)
	p.code = http.StatusForbidden
	check("/metrics/etcd", http.StatusBadGateway, "no pod", p.own)
	check("/metrics", http.StatusOK, `metrics_aggregator_pod_scrape_errors_total{component="etcd"} 1`, p.own)
}

// TestWithoutConfiguration: a control plane whose programs are not known yet has none to show, and one that cannot be read is told of.
func TestWithoutConfiguration(t *testing.T) {
	if _, err := (Options{ConfigFile: filepath.Join(t.TempDir(), "none")}).handler(); err != nil {
		t.Error(err)
	}
	p := &proxy{T: t}
	if _, err := (Options{ConfigFile: p.write("config.yaml", []byte("components: {}"))}).handler(); err == nil || !strings.Contains(err.Error(), "--config-file") {
		t.Errorf("%v", err)
	}
	if _, err := (Options{Set: "Some"}).handler(); err == nil || !strings.Contains(err.Error(), "--metrics-set") {
		t.Errorf("%v", err)
	}
}

// TestTooLong: an answer is taken whole or not at all.
func TestTooLong(t *testing.T) {
	for size, taken := range map[int64]bool{longest: true, longest + 1: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.CopyN(w, zeroes{}, size)
		}))
		told, err := fetch(t.Context(), server.Client(), http.MethodGet, server.URL, nil)
		if (err == nil) != taken || taken && int64(len(told)) != size {
			t.Errorf("%d bytes: %d are taken, %v", size, len(told), err)
		}
		server.Close()
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestReplacedSRE: what the installation says of set SRE is shown instead of it, and of that set alone; what is no list of relabelings is told.
func TestReplacedSRE(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("etcd: [{action: keep, sourceLabels: [__name__], regex: only_this}]")
	sre, err := Options{SREFile: file}.sre()
	if err != nil {
		t.Fatal(err)
	}
	for set, want := range map[monitor.Set]bool{monitor.SRE: true, monitor.Telemetry: false, monitor.All: false} {
		if got := strings.Contains(fmt.Sprint(monitor.Relabelings("etcd", set, sre)), "only_this"); got != want {
			t.Errorf("set %s is replaced: %t", set, got)
		}
	}
	write("etcd: keep")
	if _, err := (Options{Set: "SRE", SREFile: file}).handler(); err == nil || !strings.Contains(err.Error(), "sre-metric-set") {
		t.Errorf("got %v", err)
	}
}
