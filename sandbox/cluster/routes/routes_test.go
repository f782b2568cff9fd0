package routes

import (
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
	kinds := map[schema.GroupVersionResource]string{routesResource: "RouteList", servicesResource: "ServiceList"}
	k := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, o := range objects {
		if o.GetObjectKind().GroupVersionKind().Kind == "Service" {
			if err := indexer.Add(o); err != nil {
				t.Fatal(err)
			}
		}
	}
	return &table{client: k, hosts: map[string]target{}, services: cache.NewGenericLister(indexer, servicesResource.GroupResource())}, k
}

func TestRouteAddress(t *testing.T) {
	service := &unstructured.Unstructured{Object: object{
		"apiVersion": "v1", "kind": "Service", "metadata": object{"namespace": "ns", "name": "web"},
		"spec": object{"clusterIP": "10.201.0.7", "ports": []any{
			object{"name": "https", "port": int64(443), "targetPort": int64(8443)}, object{"name": "admin", "port": int64(9000), "targetPort": "adm"}}},
	}}
	table, _ := routeWorld(t, service)
	for _, test := range []struct {
		port any
		want string
	}{
		{nil, "10.201.0.7:443"}, {"https", "10.201.0.7:443"}, {int64(8443), "10.201.0.7:443"}, {"adm", "10.201.0.7:9000"}, {int64(9000), "10.201.0.7:9000"}, {"other", ""},
	} {
		got, err := table.address(targetOf(route("ns", "r", "h", "web", test.port)))
		if got != test.want || (err == nil) != (test.want != "") {
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
	table.routes = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	if err := table.routes.Add(get("second")); err != nil {
		t.Fatal(err)
	}
	table.deleted(t.Context(), first)
	if !isAdmitted(get("second"), "a.example", "True") {
		t.Error("the host of a deleted route is not given on")
	}
}
