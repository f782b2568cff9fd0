package endpoints

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

func endpointOf(t *testing.T, server *httptest.Server) publish.Endpoint {
	t.Helper()
	address, ok := server.Listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal(server.Listener.Addr())
	}
	return publish.Endpoint{Host: address.IP.String(), Port: int32(address.Port)}
}

// TestProbeTellsWhatIsWrong: an API server that answers with anything but 200 is no API server that serves, and the words lead to the place.
func TestProbeTellsWhatIsWrong(t *testing.T) {
	for status, says := range map[int]string{
		http.StatusOK: "", http.StatusInternalServerError: "500 Internal Server Error",
		http.StatusMovedPermanently: "301 Moved Permanently", http.StatusForbidden: "403 Forbidden",
	} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/healthz" {
				t.Errorf("the probe asks for %s", r.URL.Path)
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		}))
		shown := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		endpoint := endpointOf(t, server)
		err := probeHTTPS(t.Context(), endpoint, shown)
		server.Close()
		if says == "" {
			if err != nil {
				t.Errorf("%d: %v", status, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), endpoint.URL()+"/healthz") {
			t.Errorf("%d: %v", status, err)
		}
		if err := probeHTTPS(t.Context(), endpoint, shown); err == nil || !strings.Contains(err.Error(), "does not answer at "+endpoint.URL()) {
			t.Errorf("a server that is gone: %v", err)
		}
	}
}

// TestProbeIsNotBlind: neither without an authority nor with an old protocol does a server pass.
func TestProbeIsNotBlind(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10} // what must not pass
	server.StartTLS()
	defer server.Close()
	shown := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := probeHTTPS(t.Context(), endpointOf(t, server), shown); err == nil {
		t.Error("TLS 1.1 passes")
	}
	modern := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer modern.Close()
	for name, trusted := range map[string][]byte{"none": nil, "no PEM": []byte("garbage")} {
		if err := probeHTTPS(t.Context(), endpointOf(t, modern), trusted); err == nil {
			t.Errorf("authorities %s: the server passes", name)
		}
	}
}

// TestPatience: an API server that comes up is asked again soon, one that has served gets time to answer.
func TestPatience(t *testing.T) {
	for ready, want := range map[bool]time.Duration{false: firstProbeTimeout, true: probeTimeout} {
		err := Ask(t.Context(), func(ctx context.Context, endpoint publish.Endpoint, _ []byte) error {
			deadline, ok := ctx.Deadline()
			if left := time.Until(deadline); !ok || left > want || left < want-time.Second || endpoint.Port != 7443 {
				t.Errorf("ready %t: it has %s to answer at %+v", ready, left, endpoint)
			}
			return errors.New("as the probe says")
		}, publish.Endpoint{Host: "a.test", Port: 7443}, pki.Secrets{}, ready)
		if err == nil || err.Error() != "as the probe says" {
			t.Errorf("%v", err)
		}
	}
}

// TestPublish: a first pass brings what is published and says what it waits for; one after the cloud has given an address knows where the API server is.
func TestPublish(t *testing.T) {
	hcp := planetest.Plane()
	hcp.UID = "a-uid"
	c := fake.NewClientBuilder().Build()
	w := component.Writer{Client: c, HCP: hcp}
	found, err := Publish(t.Context(), w, "apps.example.com", time.Now())
	if err != nil || found.APIServer.Known() || len(found.Waiting) != 1 || !strings.Contains(found.Waiting[0], publish.APIServerLoadBalancer) {
		t.Fatalf("%+v, %v", found, err)
	}
	if want := (publish.Endpoint{Host: "ignition-server-clusters-demo.apps.example.com", Port: 443}); found.Ignition != want {
		t.Errorf("machines ask %+v", found.Ignition)
	}
	balancer := &corev1.Service{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: hcp.Namespace, Name: publish.APIServerLoadBalancer}, balancer); err != nil {
		t.Fatal(err)
	}
	if len(balancer.OwnerReferences) != 1 || balancer.OwnerReferences[0].UID != "a-uid" {
		t.Errorf("the load balancer outlives its control plane: %+v", balancer.OwnerReferences)
	}
	balancer.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.51.100.7"}}
	if err := c.Status().Update(t.Context(), balancer); err != nil {
		t.Fatal(err)
	}
	found, err = Publish(t.Context(), w, "apps.example.com", time.Now())
	if want := (publish.Endpoint{Host: "198.51.100.7", Port: 7443}); err != nil || found.APIServer != want || len(found.Waiting) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestPublishByOwnRouter: a Route of the cluster's own router is admitted in the pass after its load balancer has an address.
func TestPublishByOwnRouter(t *testing.T) {
	hcp := planetest.Plane()
	hcp.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
		Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: "api.demo.test"}}}}
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(publish.RouteKind)
	route.SetNamespace(hcp.Namespace)
	route.SetName(contract.APIServer)
	route.Object["status"] = map[string]any{"ingress": []any{}}
	balancer := &corev1.Service{}
	balancer.Namespace, balancer.Name = hcp.Namespace, publish.RouterService
	balancer.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.51.100.8"}}
	c := fake.NewClientBuilder().WithObjects(balancer, route).WithStatusSubresource(route).Build()
	found, err := Publish(t.Context(), component.Writer{Client: c, HCP: hcp}, "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if want := (publish.Endpoint{Host: "api.demo.test", Port: 443}); found.APIServer != want {
		t.Errorf("%+v, waiting for %v", found.APIServer, found.Waiting)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(route), route); err != nil || publish.AdmittedHost(route) != "api.demo.test" {
		t.Errorf("%v, %v", route.Object["status"], err)
	}
	for _, waiting := range found.Waiting {
		if strings.Contains(waiting, contract.APIServer) {
			t.Errorf("it waits: %s", waiting)
		}
	}
}
