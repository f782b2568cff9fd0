package router

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/config"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

const domain = "apps.example.com"

// TestAdmission runs the controller on a real API server with the definition of Route that install brings.
func TestAdmission(t *testing.T) {
	restConfig := kubetest.Start(t)
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(config.Route, definition); err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(restConfig, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{definition}}); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(restConfig, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range []*unstructured.Unstructured{
		newTestRoute("first", "a.example.com", "passthrough"), newTestRoute("named-by-us", "", "passthrough"),
		newTestRoute("edge", "edge.example.com", "edge"),
	} {
		if err := c.Create(t.Context(), route); err != nil {
			t.Fatal(err)
		}
	}
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	admitter := &Admitter{Client: mgr.GetClient(), Domain: domain, Table: NewTable()}
	if err := admitter.SetupWithManager(t.Context(), mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	expect := func(name, host, status, reason string) {
		t.Helper()
		eventually(t, fmt.Sprintf("Route %s has host %s, Admitted %s %s", name, host, status, reason), func() bool {
			route := newTestRoute(name, "", "")
			if err := c.Get(ctx, client.ObjectKeyFromObject(route), route); err != nil {
				return false
			}
			return current(route, host, conditionOf(route, status, reason))
		})
	}
	expect("first", "a.example.com", "True", "")
	expect("named-by-us", "named-by-us-default."+domain, "True", "")
	expect("edge", "edge.example.com", "False", "UnsupportedTermination")
	if _, ok := admitter.Table.lookup("edge.example.com"); ok {
		t.Error("a Route that is refused is served")
	}
	// The next comes a second later: creation times have no finer grain.
	eventually(t, "a second has passed", func() bool { return time.Since(created(t, c, "first")) > 1100*time.Millisecond })
	if err := c.Create(ctx, newTestRoute("second", "A.example.com", "passthrough")); err != nil {
		t.Fatal(err)
	}
	expect("second", "a.example.com", "False", "HostAlreadyClaimed")
	expect("first", "a.example.com", "True", "")
	if err := c.Delete(ctx, newTestRoute("first", "", "")); err != nil {
		t.Fatal(err)
	}
	expect("second", "a.example.com", "True", "")
}

func conditionOf(route *unstructured.Unstructured, status, reason string) map[string]any {
	want := map[string]any{"type": "Admitted", "status": status}
	if reason == "" {
		return want
	}
	want["reason"] = reason
	// Whatever it says, it must say something.
	ingresses, _, _ := unstructured.NestedSlice(route.Object, "status", "ingress")
	if len(ingresses) == 1 {
		want["message"] = "absent"
		if message := ingresses[0].(map[string]any)["conditions"].([]any)[0].(map[string]any)["message"]; message != "" {
			want["message"] = message
		}
	}
	return want
}

func created(t *testing.T, c client.Client, name string) time.Time {
	t.Helper()
	route := newTestRoute(name, "", "")
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(route), route); err != nil {
		t.Fatal(err)
	}
	return route.GetCreationTimestamp().Time
}

func newTestRoute(name, host, termination string) *unstructured.Unstructured {
	route := newRoute()
	route.SetNamespace(metav1.NamespaceDefault)
	route.SetName(name)
	spec := map[string]any{
		"to": map[string]any{"kind": "Service", "name": "backend", "weight": int64(100)}, "port": map[string]any{"targetPort": "https"},
		"tls": map[string]any{"termination": termination, "insecureEdgeTerminationPolicy": "None"},
	}
	if host != "" {
		spec["host"] = host
	}
	route.Object["spec"] = spec
	return route
}

func TestLongNamesStayNames(t *testing.T) {
	route := newTestRoute("konnectivity-server-of-a-cluster-with-a-long-name", "", "passthrough")
	route.SetNamespace("clusters-a-cluster-with-a-long-name")
	host := hostOf(route, domain)
	if len(host) != 63+1+len(domain) {
		t.Errorf("host %q has %d characters", host, len(host))
	}
	route.SetNamespace("clusters-a-cluster-with-another-long-name")
	if hostOf(route, domain) == host {
		t.Error("two long names became one")
	}
}

// TestPassThrough: the client speaks TLS with the pod, not with the router; endpoints that are gone are passed over, and a change of
// the table leaves connections alone.
func TestPassThrough(t *testing.T) {
	backend := newBackend(t)
	proxy, address := startProxy(t, time.Minute, slice("backend", backend.port, "127.0.0.1", "127.0.0.2"))
	key := types.NamespacedName{Namespace: "default", Name: "route"}
	proxy.Table.set(key, "example.com", Target{Namespace: "default", Service: "backend", Port: "https"})

	for range 5 {
		// Half of the endpoints refuse.
		conn := dial(t, backend, address, "example.com")
		say(t, conn, "hello")
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	conn := dial(t, backend, address, "EXAMPLE.com")
	proxy.Table.remove(key)
	say(t, conn, "still here")
	if _, err := tls.Dial("tcp", address, backend.config("example.com")); err == nil {
		t.Error("a name without a Route is served")
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("the end of the connection does not come through: %v", err)
	}
}

func TestDrain(t *testing.T) {
	backend := newBackend(t)
	for _, tc := range []struct {
		name  string
		drain time.Duration
		lives bool
	}{{"patient", time.Minute, true}, {"not for ever", 10 * time.Millisecond, false}} {
		t.Run(tc.name, func(t *testing.T) {
			proxy, address := startProxy(t, tc.drain, slice("backend", backend.port, "127.0.0.1"))
			proxy.Table.set(types.NamespacedName{Name: "route"}, "example.com", Target{Namespace: "default", Service: "backend"})
			conn := dial(t, backend, address, "example.com")
			say(t, conn, "before")
			proxy.stop()
			eventually(t, "no connection is accepted", func() bool {
				extra, err := net.Dial("tcp", address)
				if err == nil {
					_ = extra.Close()
				}
				return err != nil
			})
			if tc.lives {
				say(t, conn, "after")
			} else if err := readToEnd(conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection outlives the drain")
			}
			if err := conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) && tc.lives {
				t.Error(err)
			}
			if err := <-proxy.ended; err != nil {
				t.Error(err)
			}
		})
	}
}

func readToEnd(conn net.Conn) error {
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	_, err := io.ReadAll(conn)
	return err
}

func TestPorts(t *testing.T) {
	ports := []discoveryv1.EndpointPort{{Name: ptr.To("metrics"), Port: ptr.To(int32(8080))}, {Name: ptr.To("https"), Port: ptr.To(int32(6443))}}
	for wanted, want := range map[string]int32{"": 8080, "https": 6443, "6443": 6443, "other": 0} {
		if got, ok := choose(ports, wanted); got != want || ok != (want != 0) {
			t.Errorf("port %q is %d, want %d", wanted, got, want)
		}
	}
}

type runningProxy struct {
	*Proxy
	stop  context.CancelFunc
	ended chan error
}

func startProxy(t *testing.T, drain time.Duration, endpoints ...client.Object) (*runningProxy, string) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p := &runningProxy{
		Proxy: &Proxy{Endpoints: fake.NewClientBuilder().WithScheme(scheme).WithObjects(endpoints...).Build(), Table: NewTable(), Drain: drain},
		stop:  cancel, ended: make(chan error, 1),
	}
	go func() { p.ended <- p.Serve(ctx, listener) }()
	t.Cleanup(cancel)
	return p, listener.Addr().String()
}

func slice(service string, port int32, addresses ...string) client.Object {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		Ports:      []discoveryv1.EndpointPort{{Name: ptr.To("https"), Port: &port, Protocol: ptr.To(corev1.ProtocolTCP)}},
		Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)}}},
	}
	for _, address := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
	}
	return s
}

// backend is a pod that ends TLS itself and says everything back.
type backend struct {
	port  int32
	roots *x509.CertPool
}

func newBackend(t *testing.T) *backend {
	t.Helper()
	// Only for its certificate, which is for example.com.
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: server.TLS.Certificates, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	b := &backend{port: int32(listener.Addr().(*net.TCPAddr).Port), roots: x509.NewCertPool()}
	b.roots.AddCert(server.Certificate())
	return b
}

func (b *backend) config(name string) *tls.Config {
	return &tls.Config{RootCAs: b.roots, ServerName: name, MinVersion: tls.VersionTLS12}
}

func dial(t *testing.T, b *backend, address, name string) *tls.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", address, b.config(name))
	if err != nil {
		t.Fatalf("connect to %s: %v", name, err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func say(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := fmt.Fprintln(conn, text); err != nil {
		t.Fatal(err)
	}
	if got, err := bufio.NewReader(conn).ReadString('\n'); err != nil || got != text+"\n" {
		t.Fatalf("the pod answers %q: %v", got, err)
	}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("after 30 s it is not true that %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
