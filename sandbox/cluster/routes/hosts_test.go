package routes

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/tools/cache"
)

// hostWorld has routes a, b, …, the first one being the oldest, and takes them in the order of the arguments.
type hostWorld struct {
	t     *testing.T
	table *table
	k     *fake.FakeDynamicClient
}

func newHostWorld(t *testing.T, hosts ...string) hostWorld {
	t.Helper()
	var objects []runtime.Object
	for i, host := range hosts {
		r := route("ns", string(rune('a'+i)), host, "web", nil)
		r.SetCreationTimestamp(metav1.NewTime(time.Unix(int64(1000+i), 0)))
		objects = append(objects, r)
	}
	table, k := routeWorld(t, objects...)
	return hostWorld{t, table, k.(*fake.FakeDynamicClient)}
}

// get is a route as the API server has it.
func (w hostWorld) get(name string) *unstructured.Unstructured {
	w.t.Helper()
	o, err := w.k.Resource(routesResource).Namespace("ns").Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// set changes a route, and tells the router as the informer does.
func (w hostWorld) set(name string, change func(*unstructured.Unstructured)) {
	w.t.Helper()
	o := w.get(name)
	if change != nil {
		change(o)
		if _, err := w.k.Resource(routesResource).Namespace("ns").Update(w.t.Context(), o, metav1.UpdateOptions{}); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := w.table.routes.Update(o); err != nil {
		w.t.Fatal(err)
	}
	w.table.changed(w.t.Context(), o)
}

func (w hostWorld) want(what, host, owner string, admitted map[string]string) {
	w.t.Helper()
	got := w.table.hosts[host].route
	if owner != "" {
		owner = "ns/" + owner
	}
	if got != owner {
		w.t.Errorf("%s: %s leads to %q, want %q", what, host, got, owner)
	}
	for name, status := range admitted {
		if !isAdmitted(w.get(name), host, status) {
			w.t.Errorf("%s: route %s is not told that %s is admitted: %s; it has %v", what, name, host, status, w.get(name).Object["status"])
		}
	}
}

func toHost(host string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) { _ = unstructured.SetNestedField(o.Object, host, "spec", "host") }
}

// The oldest route has a name, in whatever order they are seen; the other ones are told so, also when they had it already.
func TestTheOldestRouteHasTheName(t *testing.T) {
	for _, order := range [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}} {
		w := newHostWorld(t, "x.example", "X.example", "x.example")
		for _, name := range order {
			w.set(name, nil)
		}
		w.want("in order "+order[0]+order[1]+order[2], "x.example", "a", map[string]string{"a": "True", "b": "False", "c": "False"})
	}
}

// A name that a route gives up is the next one's, however it does so.
func TestNamesAreGivenOn(t *testing.T) {
	for what, giveUp := range map[string]func(w hostWorld){
		"it takes another name": func(w hostWorld) { w.set("a", toHost("y.example")) },
		"it is another router's": func(w hostWorld) {
			w.set("a", func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{hostedLabel: "demo"}) })
		},
		"it is deleted": func(w hostWorld) {
			gone := w.get("a")
			if err := w.table.routes.Delete(gone); err != nil {
				w.t.Fatal(err)
			}
			w.table.removed(w.t.Context(), gone)
		},
	} {
		w := newHostWorld(t, "x.example", "x.example", "x.example", "z.example")
		for _, name := range []string{"a", "b", "c", "d"} {
			w.set(name, nil)
		}
		giveUp(w)
		w.want(what, "x.example", "b", map[string]string{"b": "True", "c": "False"})
		w.want(what, "z.example", "d", map[string]string{"d": "True"})
	}
	w := newHostWorld(t, "x.example")
	w.set("a", nil)
	w.set("a", toHost("y.example"))
	w.want("nobody else wants it", "x.example", "", nil)
	w.want("nobody else wants it", "y.example", "a", map[string]string{"a": "True"})
}

// A route that is as it was is not written again: each write would come back as a change.
func TestStatusIsWrittenOnce(t *testing.T) {
	w := newHostWorld(t, "x.example", "x.example")
	for range 3 {
		w.set("a", nil)
		w.set("b", nil)
	}
	writes := 0
	for _, action := range w.k.Actions() {
		if action.GetVerb() == "patch" {
			writes++
		}
	}
	if writes != 2 {
		t.Errorf("%d writes for two routes", writes)
	}
	// What another router says of the route counts for nothing here.
	w.set("a", func(o *unstructured.Unstructured) {
		ingress, _, _ := unstructured.NestedSlice(o.Object, "status", "ingress")
		ingress[0].(object)["routerName"] = "other"
		_ = unstructured.SetNestedSlice(o.Object, ingress, "status", "ingress")
	})
	w.want("another router's status", "x.example", "a", map[string]string{"a": "True"})
}

// ConfigMaps that ask for the bundle have it, and have it again when somebody took it out; others are left alone.
func TestBundleIsInjected(t *testing.T) {
	bundle := filepath.Join(t.TempDir(), "bundle.pem")
	if err := os.WriteFile(bundle, []byte("the roots"), 0o600); err != nil {
		t.Fatal(err)
	}
	configMap := func(name, label string, data object) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "ConfigMap", "data": data,
			"metadata": object{"namespace": "ns", "name": name, "labels": object{injectLabel: label}}}}
	}
	k := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{configMapsResource: "ConfigMapList"},
		configMap("asks", "true", object{"own": "text"}), configMap("does-not", "false", object{}), configMap("has-it", "true", object{bundleKey: "the roots"}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	synced, err := startInjector(ctx, bundle, k)
	if err != nil || !cache.WaitForCacheSync(ctx.Done(), synced) {
		t.Fatal(err)
	}
	data := func(name string) map[string]string {
		o, err := k.Resource(configMapsResource).Namespace("ns").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := unstructured.NestedStringMap(o.Object, "data")
		return text
	}
	if got := data("asks"); got[bundleKey] != "the roots" || got["own"] != "text" {
		t.Errorf("who asks has %v", got)
	}
	if got := data("does-not"); len(got) != 0 {
		t.Errorf("who does not ask has %v", got)
	}
	if _, err := k.Resource(configMapsResource).Namespace("ns").Update(ctx, configMap("asks", "true", object{bundleKey: "others"}),
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); data("asks")[bundleKey] != "the roots"; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("what was taken out is not there again: %v", data("asks"))
		}
	}
	for _, action := range k.Actions() {
		if patch, ok := action.(interface{ GetName() string }); ok && action.GetVerb() == "patch" && patch.GetName() != "asks" {
			t.Errorf("%s is written", patch.GetName())
		}
	}
	if _, err := startInjector(ctx, bundle+"-none", k); err == nil {
		t.Error("without a bundle nothing is amiss")
	}
}
