package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster"
	"github.com/hypershift-on-azure/hypershift/internal/install"
)

// right is one verb on one resource of one group; each may be "*".
type right struct{ group, resource, verb string }

func (r right) String() string { return r.verb + " " + r.resource + "." + r.group }

// ownCalls are the operator's own calls beyond what it grants, and which part of it makes them.
var ownCalls = map[string][]right{
	"conversion: tells the API server whom to trust":             rights("apiextensions.k8s.io", "customresourcedefinitions", "get", "list", "watch", "patch"),
	"conversion: takes former versions off a definition":         rights("apiextensions.k8s.io", "customresourcedefinitions/status", "patch"),
	"conversion: stores addresses in another version":            rights("ipam.cluster.x-k8s.io", "*", "patch"),
	"hostedcluster: the control-plane namespace":                 rights("", "namespaces", "get", "list", "watch", "create", "update", "patch", "delete"),
	"hostedcluster: rights of workloads outside of it":           rights("rbac.authorization.k8s.io", "clusterroles", "get", "list", "watch", "create", "update", "patch", "delete"),
	"hostedcluster: their bindings":                              rights("rbac.authorization.k8s.io", "clusterrolebindings", "get", "list", "watch", "create", "update", "patch", "delete"),
	"hostedcluster: networks that control planes must not reach": rights("config.openshift.io", "networks", "get", "list", "watch"),
	"hostedcluster: the same, as nodes have them":                rights("", "nodes", "list"),
	"hostedcluster: mirrors of the management cluster":           rights("config.openshift.io", "imagedigestmirrorsets", "get", "list", "watch"),
	"hostedcluster: their former kind":                           rights("operator.openshift.io", "imagecontentsourcepolicies", "get", "list", "watch"),
}

func rights(group, resource string, verbs ...string) []right {
	var out []right
	for _, verb := range verbs {
		out = append(out, right{group, resource, verb})
	}
	return out
}

func expand(rules []rbacv1.PolicyRule) []right {
	var out []right
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				out = append(out, rights(group, resource, rule.Verbs...)...)
			}
		}
	}
	return out
}

// covers tells whether what is held includes what is needed.
func covers(held []right, needed right) bool {
	return slices.ContainsFunc(held, func(h right) bool {
		return h.group == needed.group && (h.resource == "*" || h.resource == needed.resource) && (h.verb == "*" || h.verb == needed.verb)
	})
}

func operatorRights(t *testing.T) []right {
	t.Helper()
	for _, obj := range (&install.Options{Namespace: "hypershift"}).Objects() {
		if role, ok := obj.(*rbacv1.ClusterRole); ok && role.Name == "hypershift-operator" {
			return expand(role.Rules)
		}
	}
	t.Fatal("install makes no ClusterRole hypershift-operator")
	return nil
}

func neededRights() []right {
	needed := expand(hostedcluster.Grants())
	for _, calls := range ownCalls {
		needed = append(needed, calls...)
	}
	return needed
}

// TestOperatorHoldsNoMoreThanItNeeds lists each right of the operator that it neither grants nor uses, and each that it lacks.
func TestOperatorHoldsNoMoreThanItNeeds(t *testing.T) {
	held, needed := operatorRights(t), neededRights()
	for _, h := range held {
		if !covers(needed, h) {
			t.Errorf("nothing uses the right to %s", h)
		}
	}
	for _, n := range needed {
		if !covers(held, n) {
			t.Errorf("the right to %s is needed and not held", n)
		}
	}
}

// TestNobodyHoldsEveryVerb: "*" is more than anybody thinks of, "impersonate" and "escalate" among it.
func TestNobodyHoldsEveryVerb(t *testing.T) {
	for _, r := range append(operatorRights(t), expand(hostedcluster.Grants())...) {
		if r.verb == "*" {
			t.Errorf("the right to %s", r)
		}
	}
}

// TestWildcardsAreSeen: a right to everything must not pass for the right to something.
func TestWildcardsAreSeen(t *testing.T) {
	some := []right{{"apps", "deployments", "get"}}
	for _, held := range []right{{"apps", "deployments", "*"}, {"apps", "*", "get"}, {"*", "deployments", "get"}} {
		if covers(some, held) {
			t.Errorf("%s passes for %s", held, some[0])
		}
		if held.group != "*" && !covers([]right{held}, some[0]) {
			t.Errorf("%s does not cover %s", held, some[0])
		}
	}
}

// recorder is a way to the API server as the operator's service account, with its rights and no others, that writes down the rights
// that are used.
type recorder struct {
	mu   sync.Mutex
	used map[right]bool
}

func newRecorder(t *testing.T, c client.Client, restConfig *rest.Config) (*recorder, *rest.Config) {
	t.Helper()
	for _, obj := range (&install.Options{Namespace: "hypershift"}).Objects() {
		switch obj.(type) {
		case *rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding, *rbacv1.Role, *rbacv1.RoleBinding:
			if err := c.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
	}
	transport, err := rest.TransportFor(restConfig)
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse("https://" + strings.TrimPrefix(restConfig.Host, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{used: map[right]bool{}}
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(request *httputil.ProxyRequest) {
		request.SetURL(server)
		r.record(request.In)
		request.Out.Header.Set("Impersonate-User", "system:serviceaccount:hypershift:operator")
		request.Out.Header["Impersonate-Group"] = []string{"system:serviceaccounts", "system:serviceaccounts:hypershift", "system:authenticated"}
	}}
	front := httptest.NewTLSServer(proxy)
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	return r, &rest.Config{Host: front.URL, TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})}}
}

// record reads a request as the API server's authorization does.
func (r *recorder) record(request *http.Request) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	default:
		return // discovery
	}
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		parts = parts[2:]
	}
	resource, named := parts[0], len(parts) > 1
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	verb := map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[request.Method]
	switch {
	case request.Method == http.MethodDelete && !named:
		verb = "deletecollection"
	case request.Method == http.MethodGet && request.URL.Query().Get("watch") != "":
		verb = "watch"
	case request.Method == http.MethodGet && named:
		verb = "get"
	case request.Method == http.MethodGet:
		verb = "list"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used[right{group, resource, verb}] = true
}

// check finds calls that the table above does not know, or that were forbidden.
func (r *recorder) check(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	needed := neededRights()
	for used := range r.used {
		if !covers(needed, used) {
			t.Errorf("the operator uses the right to %s, which is neither granted nor in the table of its own calls", used)
		}
	}
	if len(r.used) < 30 {
		t.Errorf("only %d rights were used: the recorder misses requests", len(r.used))
	}
}
