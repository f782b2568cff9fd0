package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

func testConfig(t *testing.T) Config {
	t.Helper()
	c := Config{Dir: t.TempDir(), Bin: "/bin", Debian: "/debian", Self: "/hypershift"}
	if err := EnsurePKI(c.Dir); err != nil {
		t.Fatal(err)
	}
	if err := EnsureCredentials(c.Dir); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPartsAreAValidPlan(t *testing.T) {
	c := testConfig(t)
	if err := (supervise.Plan{Parts: c.Parts()}).Validate(); err != nil {
		t.Fatal(err)
	}
	secret, err := ClientSecret(c.Dir)
	if err != nil || len(secret) < 32 {
		t.Fatalf("client secret %q: %v", secret, err)
	}
	for _, part := range c.Parts() {
		if strings.Contains(strings.Join(append(part.Argv, part.Env...), " "), secret) {
			t.Errorf("%s: a secret is among its arguments", part.Name)
		}
	}
}

// A management cluster must not restart the Azure that runs already.
func TestAzureIsTheSameWithAndWithoutCluster(t *testing.T) {
	c := testConfig(t)
	alone := Config{Dir: c.Dir, Self: c.Self}.AzurePart(true)
	if with := c.Parts()[0]; strings.Join(with.Argv, " ") != strings.Join(alone.Argv, " ") || with.Ready != alone.Ready || with.Address != alone.Address {
		t.Errorf("with a cluster %+v, alone %+v", with, alone)
	}
}

func TestPrepareTwiceChangesNothing(t *testing.T) {
	c := testConfig(t)
	steps := []func() error{c.ensureClusterPKI, c.ensureRegistries, c.writeContainerd, c.writeKubelet, c.writeKubeProxy, c.writeCloudConfig}
	content := func() map[string]string {
		for _, step := range steps {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		files := map[string]string{}
		_ = filepath.Walk(c.Dir, func(path string, info os.FileInfo, err error) error {
			if err == nil && !info.IsDir() {
				text, _ := os.ReadFile(path)
				files[path] = string(text)
			}
			return nil
		})
		return files
	}
	first, second := content(), content()
	for path, text := range second {
		if first[path] != text {
			t.Errorf("%s changes", path)
		}
	}
	for _, path := range []string{c.pki("ca.key"), c.pki("admin.key"), c.Kubeconfig(), c.PullSecretFile(), c.CredentialsFile(), c.cloudConfigPath(),
		c.path("pki", "ca.key"), c.path("registry", "htpasswd"), c.path("registry", "config.yml")} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestRegistryCertificate(t *testing.T) {
	c := testConfig(t)
	if err := c.ensureRegistries(); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	bundle, err := os.ReadFile(c.Bundle())
	if err != nil || !roots.AppendCertsFromPEM(bundle) {
		t.Fatal(err)
	}
	for _, r := range containers {
		pair, err := tls.LoadX509KeyPair(c.path(r.folder, "tls", "registry.crt"), c.path(r.folder, "tls", "registry.key"))
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range r.hosts {
			if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots}); err != nil {
				t.Errorf("%s: %v", host, err)
			}
		}
	}
}

// The pull secret opens both registries, each with a password of its own.
func TestPullSecret(t *testing.T) {
	c := testConfig(t)
	if err := c.ensureRegistries(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(c.PullSecretFile())
	if err != nil {
		t.Fatal(err)
	}
	var secret struct {
		Auths map[string]struct {
			Auth []byte `json:"auth"`
		} `json:"auths"`
	}
	if err := json.Unmarshal(text, &secret); err != nil {
		t.Fatal(err)
	}
	passwords := map[string]bool{}
	for _, host := range []string{"quay.io", OwnRegistryHost} {
		user, password, found := strings.Cut(string(secret.Auths[host].Auth), ":")
		if !found || user == "" || password == "" {
			t.Errorf("no credentials of %s", host)
		}
		passwords[password] = true
	}
	if len(passwords) != 2 {
		t.Error("both registries have one password")
	}
}

func TestRender(t *testing.T) {
	c := testConfig(t)
	if err := c.ensureRegistries(); err != nil {
		t.Fatal(err)
	}
	objects, err := c.render(map[string]string{"coredns": "quay.io/a/coredns@sha256:1", "local-path-provisioner": "quay.io/a/local@sha256:2"})
	if err != nil {
		t.Fatal(err)
	}
	rank := map[string]int{"CustomResourceDefinition": 0, "Namespace": 1}
	last, proxies := 0, 0
	for _, o := range objects {
		if _, known := resources[o.GroupVersionKind().GroupKind()]; !known {
			t.Errorf("no resource is known for %s", o.GroupVersionKind())
		}
		now, early := rank[o.GetKind()]
		if !early {
			now = 2
		}
		if now < last {
			t.Errorf("%s %s comes too late", o.GetKind(), o.GetName())
		}
		last = now
		if o.GetKind() == "Proxy" {
			proxies++
			if https, _, _ := unstructured.NestedString(o.Object, "status", "httpsProxy"); https != ProxyURL {
				t.Errorf("Proxy: %q", https)
			}
		}
	}
	if proxies != 1 || len(objects) < 20 {
		t.Errorf("%d objects, %d of them Proxy", len(objects), proxies)
	}
}

func TestCleanupScript(t *testing.T) {
	saved := `*nat
:PREROUTING ACCEPT [0:0]
:CNI-abc - [0:0]
:DOCKER - [0:0]
:KUBE-SERVICES - [0:0]
-A PREROUTING -m comment --comment "kubernetes" -j KUBE-SERVICES
-A PREROUTING -j DOCKER
-A KUBE-SERVICES -j CNI-abc
-A CNI-abc -d 10.200.0.0/16 -j ACCEPT
COMMIT
*filter
:INPUT ACCEPT [0:0]
-A INPUT -j ACCEPT
COMMIT
`
	want := `*nat
-D PREROUTING -m comment --comment "kubernetes" -j KUBE-SERVICES
-F CNI-abc
-F KUBE-SERVICES
-X CNI-abc
-X KUBE-SERVICES
COMMIT
`
	if got := cleanupScript(saved); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := cleanupScript("*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n"); got != "" {
		t.Errorf("nothing of ours, and yet %q", got)
	}
}

func TestHasRules(t *testing.T) {
	empty := "table ip nat {\n\tchain PREROUTING {\n\t\ttype nat hook prerouting priority dstnat; policy accept;\n\t}\n}\n"
	if hasRules(empty) {
		t.Error("empty chains are no rules")
	}
	if !hasRules(strings.Replace(empty, "accept;\n", "accept;\n\t\tip daddr 1.2.3.4 drop\n", 1)) {
		t.Error("a rule is overlooked")
	}
}

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

func routeWorld(t *testing.T, objects ...runtime.Object) (*routeTable, client) {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{routesResource: "RouteList", servicesResource: "ServiceList"}
	k := client{fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)}
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, o := range objects {
		if o.GetObjectKind().GroupVersionKind().Kind == "Service" {
			if err := indexer.Add(o); err != nil {
				t.Fatal(err)
			}
		}
	}
	return &routeTable{client: k, hosts: map[string]target{}, services: cache.NewGenericLister(indexer, servicesResource.GroupResource())}, k
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
	if host != "unnamed-ns."+AppsDomain {
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

func TestReadiness(t *testing.T) {
	since := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) string { return since.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339) }
	node := func(status, heartbeat string) object {
		return object{"status": object{"conditions": []any{object{"type": "Ready", "status": status, "lastHeartbeatTime": heartbeat}}}}
	}
	for _, test := range []struct {
		node  object
		since time.Time
		want  bool
	}{
		{node("True", at(0)), since, true}, {node("True", at(-1)), since, false}, {node("True", at(-1)), time.Time{}, true},
		{node("Unknown", at(1)), since, false}, {object{}, time.Time{}, false},
	} {
		if got := hasCondition(test.node, "Ready", test.since); got != test.want {
			t.Errorf("%v since %v: %v", test.node, test.since, got)
		}
	}
	pod := func(ready, started string) unstructured.Unstructured {
		o := node(ready, at(0))
		o["metadata"] = object{"name": "p"}
		o["status"].(object)["containerStatuses"] = []any{object{"state": object{"running": object{"startedAt": started}}}}
		return unstructured.Unstructured{Object: o}
	}
	if !anyRuns([]unstructured.Unstructured{pod("False", at(2)), pod("True", at(1))}, since) {
		t.Error("a ready pod is overlooked")
	}
	if anyRuns([]unstructured.Unstructured{pod("True", at(-5)), pod("False", at(1))}, since) {
		t.Error("a pod of before counts")
	}
}

func TestBuildIsTheProgramsContentNotItsDate(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, content, 0o755); err != nil {
		t.Fatal(err)
	}
	first, second := Config{Self: self}.Build(), Config{Self: copied}.Build()
	if first == "unknown" || first != second {
		t.Fatalf("%s and a copy of it: %s", first, second)
	}
}
