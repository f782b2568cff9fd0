package routes

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
)

func route(namespace, name, host, service string, port any) *unstructured.Unstructured {
	spec := object{"to": object{"name": service}}
	if host != "" {
		spec["host"] = host
	}
	if port != nil {
		spec["port"] = object{"targetPort": port}
	}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "route.openshift.io/v1", "kind": "Route",
		"metadata": object{"namespace": namespace, "name": name}, "spec": spec,
	}}
}

func routeWorld(t *testing.T, objects ...runtime.Object) (*table, dynamic.Interface) {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{routesResource: "RouteList", servicesResource: "ServiceList", slicesResource: "EndpointSliceList"}
	k := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
	lister := func(kind string, resource schema.GroupVersionResource) cache.GenericLister {
		indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		for _, o := range objects {
			if o.GetObjectKind().GroupVersionKind().Kind == kind {
				if err := indexer.Add(o); err != nil {
					t.Fatal(err)
				}
			}
		}
		return cache.NewGenericLister(indexer, resource.GroupResource())
	}
	routes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, o := range objects {
		if o.GetObjectKind().GroupVersionKind().Kind == "Route" {
			if err := routes.Add(o); err != nil {
				t.Fatal(err)
			}
		}
	}
	return &table{client: k, hosts: map[string]target{}, routes: routes, services: lister("Service", servicesResource),
		slices: lister("EndpointSlice", slicesResource)}, k
}

// endpointSlice has two pods that are ready and one that is not.
func endpointSlice(service, name string, ports ...any) *unstructured.Unstructured {
	pod := func(ip string, ready bool) object {
		return object{"addresses": []any{ip}, "conditions": object{"ready": ready}}
	}
	return &unstructured.Unstructured{Object: object{"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
		"metadata":    object{"namespace": "ns", "name": name, "labels": object{"kubernetes.io/service-name": service}},
		"addressType": "IPv4", "ports": ports, "endpoints": []any{pod("10.200.0.9", true), pod("10.200.16.9", true), pod("10.200.32.9", false)}}}
}

// TestBackends: a Route's connections go to the pods that are ready, at the port that it means, whatever the Service calls it.
func TestBackends(t *testing.T) {
	service := &unstructured.Unstructured{Object: object{
		"apiVersion": "v1", "kind": "Service", "metadata": object{"namespace": "ns", "name": "web"},
		"spec": object{"clusterIP": "10.201.0.7", "ports": []any{
			object{"name": "https", "port": int64(443), "targetPort": int64(8443)}, object{"name": "admin", "port": int64(9000), "targetPort": "adm"}}},
	}}
	table, _ := routeWorld(t, service, endpointSlice("web", "web-1", object{"name": "https", "port": int64(8443)}, object{"name": "admin", "port": int64(9001)}),
		endpointSlice("other", "other-1", object{"name": "https", "port": int64(1)}))
	https, admin := "10.200.0.9:8443 10.200.16.9:8443", "10.200.0.9:9001 10.200.16.9:9001"
	for _, test := range []struct {
		port any
		want string
	}{
		{nil, https}, {"https", https}, {int64(8443), https}, {int64(443), https}, {"adm", admin}, {int64(9000), admin}, {"other", ""},
	} {
		got, err := table.backends(targetOf(route("ns", "r", "h", "web", test.port)))
		slices.Sort(got)
		if strings.Join(got, " ") != test.want || (err == nil) != (test.want != "") {
			t.Errorf("port %v: %q, %v", test.port, got, err)
		}
	}
}

func TestRouteAdmission(t *testing.T) {
	unnamed, first, second := route("ns", "unnamed", "", "web", nil), route("ns", "first", "a.example", "web", nil), route("ns", "second", "A.example", "web", nil)
	hosted := route("ns", "hosted", "h.example", "web", nil)
	hosted.SetLabels(map[string]string{hostedLabel: "x"})
	table, k := routeWorld(t, unnamed, first, second, hosted)
	for _, r := range []*unstructured.Unstructured{unnamed, first, second, hosted} {
		table.changed(t.Context(), r)
	}
	get := func(name string) *unstructured.Unstructured {
		o, err := k.Resource(routesResource).Namespace("ns").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	host, _, _ := unstructured.NestedString(get("unnamed").Object, "spec", "host")
	if host != "unnamed-ns."+names.AppsDomain {
		t.Errorf("host %q", host)
	}
	if !isAdmitted(get("first"), "a.example", "True") || !isAdmitted(get("second"), "a.example", "False") {
		t.Error("the first route of a host must have it, the second not")
	}
	if list, _, _ := unstructured.NestedSlice(get("hosted").Object, "status", "ingress"); len(list) != 0 {
		t.Error("a hosted cluster's route was admitted")
	}
	if err := table.routes.Delete(first); err != nil {
		t.Fatal(err)
	}
	table.removed(t.Context(), first)
	if !isAdmitted(get("second"), "a.example", "True") {
		t.Error("the host of a deleted route is not given on")
	}
}
