package routes

import (
	"crypto/tls"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/pki"
)

// TestRouterServes: a connection goes to a pod of the Route that has the name it asks for, with all that the client has said, and
// nowhere else; a pod that does not answer is passed over; the TLS is the application's own.
func TestRouterServes(t *testing.T) {
	base := filepath.Join(t.TempDir(), "web")
	ca, err := pki.EnsureCA(base+"-ca", "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := ca.Issue(base, pki.Identity{Name: "web.example", Hosts: []string{"web.example"}}); err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.LoadX509KeyPair(base+".crt", base+".key")
	if err != nil {
		t.Fatal(err)
	}
	application, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer application.Close()
	go answer(application)

	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = dead.Close()
	table, _ := routeWorld(t, service("web"), slice(t, "web", "web-1", dead.Addr()), slice(t, "web", "web-2", application.Addr()),
		service("empty"), service("dead"), slice(t, "dead", "dead-1", dead.Addr()))
	table.hosts["web.example"] = target{route: "ns/web", namespace: "ns", service: "web"}
	table.hosts["empty.example"] = target{route: "ns/empty", namespace: "ns", service: "empty"}
	table.hosts["dead.example"] = target{route: "ns/dead", namespace: "ns", service: "dead"}
	table.hosts["gone.example"] = target{route: "ns/gone", namespace: "ns", service: "gone"}
	for name, want := range map[string]string{
		"web.example": "hello from web.example", "WEB.example": "hello from web.example", "other.example": "", "empty.example": "", "dead.example": "", "gone.example": "",
	} {
		if got := askRouter(t, table, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func answer(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "hello from web.example")
		_ = conn.Close()
	}
}

func service(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "Service", "metadata": object{"namespace": "ns", "name": name},
		"spec": object{"ports": []any{object{"port": int64(443)}}}}}
}

// slice has one pod of the service, which answers at the address.
func slice(t *testing.T, service, name string, at net.Addr) *unstructured.Unstructured {
	t.Helper()
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseInt(port, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: object{"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
		"metadata":    object{"namespace": "ns", "name": name, "labels": object{"kubernetes.io/service-name": service}},
		"addressType": "IPv4", "ports": []any{object{"name": "", "port": number}}, "endpoints": []any{object{"addresses": []any{host}}}}}
}

// askRouter is what a client that asks for the name gets, "" where the connection ends without an answer.
func askRouter(t *testing.T, table *table, name string) string {
	t.Helper()
	here, there := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		table.serve(t.Context(), here)
	}()
	client := tls.Client(there, &tls.Config{ServerName: name, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	_ = there.SetDeadline(time.Now().Add(10 * time.Second))
	text, _ := io.ReadAll(client)
	_ = there.Close()
	<-done
	return string(text)
}
