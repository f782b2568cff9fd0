package controlplane

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// TestRouterAdmitsItsRoutes: as soon as the cluster's router has an address its Routes tell it, before what any other router says, and
// nothing is written again until the address changes.
func TestRouterAdmitsItsRoutes(t *testing.T) {
	f := newFixture(t)
	f.hcp = inNamespace("admitted")
	published[planeRouteHostname](f.hcp)
	ctx := context.Background()
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.hcp.Namespace}}, f.hcp)
	if err := kube.Apply(ctx, f.client, component.FieldManager, publish.Objects(f.hcp, "apps.mgmt.hypershift.test")...); err != nil {
		t.Fatal(err)
	}
	admit := func() int64 {
		t.Helper()
		before := f.writes.Load()
		if err := publish.Admit(ctx, f.client, f.hcp, time.Now()); err != nil {
			t.Fatal(err)
		}
		return f.writes.Load() - before
	}
	read := func() publish.Endpoints {
		t.Helper()
		endpoints, err := publish.Read(ctx, f.client, f.hcp)
		if err != nil {
			t.Fatal(err)
		}
		return endpoints
	}
	if writes := admit(); writes != 0 {
		t.Errorf("%d Routes are admitted without an address", writes)
	}
	// The name is certain, the way there is not.
	if e := read(); e.APIServer.URL() != "https://api.demo.example.com:443" || len(e.Waiting) != 3 {
		t.Errorf("before the router has an address: %+v", e)
	}

	stranger := map[string]any{"host": "api.demo.example.com", "routerName": "default", "routerCanonicalHostname": "router-default.apps.test"}
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(publish.RouteKind)
	f.get(route, publish.APIServerService)
	if err := unstructured.SetNestedSlice(route.Object, []any{stranger}, "status", "ingress"); err != nil {
		t.Fatal(err)
	}
	if err := f.client.Status().Update(ctx, route); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"198.18.16.9", "198.18.16.10"} {
		router := &corev1.Service{}
		f.get(router, publish.RouterService)
		router.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
		if err := f.client.Status().Update(ctx, router); err != nil {
			t.Fatal(err)
		}
		if writes := admit(); writes != 3 {
			t.Errorf("%s: %d writes for three Routes", address, writes)
		}
		if writes := admit(); writes != 0 {
			t.Errorf("%s: %d writes with nothing to say", address, writes)
		}
		f.get(route, publish.APIServerService)
		ingresses, _, _ := unstructured.NestedSlice(route.Object, "status", "ingress")
		if len(ingresses) != 2 {
			t.Fatalf("ingresses %v", ingresses)
		}
		first, _ := ingresses[0].(map[string]any)
		if first["routerCanonicalHostname"] != address || first["host"] != "api.demo.example.com" {
			t.Errorf("ExternalDNS would take %v", first)
		}
	}
	if e := read(); len(e.Waiting) != 0 || !e.Konnectivity.Known() || !e.Ignition.Known() {
		t.Errorf("endpoints %+v", e)
	}
}
