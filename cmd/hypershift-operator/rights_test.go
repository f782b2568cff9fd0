package main

import (
	"encoding/pem"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster"
	"github.com/hypershift-on-azure/hypershift/internal/install"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

// ownCalls are the operator's own calls beyond what it grants, and which part of it makes them.
var ownCalls = map[string][]kubetest.Right{
	"conversion: tells the API server whom to trust":             kubetest.Rights("apiextensions.k8s.io", "customresourcedefinitions", "get", "list", "watch", "patch"),
	"conversion: takes former versions off a definition":         kubetest.Rights("apiextensions.k8s.io", "customresourcedefinitions/status", "patch"),
	"conversion: stores addresses in another version":            kubetest.Rights("ipam.cluster.x-k8s.io", "*", "get", "list", "watch", "patch"),
	"conversion: stores resource sets in another version":        kubetest.Rights("addons.cluster.x-k8s.io", "*", "get", "list", "watch", "patch"),
	"conversion: stores infrastructure in another version":       kubetest.Rights("infrastructure.cluster.x-k8s.io", "*", "get", "list", "watch", "patch"),
	"hostedcluster: the finalizer and identifiers of its own":    kubetest.Rights("hypershift.openshift.io", "hostedclusters", "patch"),
	"hostedcluster: what it tells":                               kubetest.Rights("hypershift.openshift.io", "hostedclusters/status", "update"),
	"hostedcluster: the node pools that go with it":              kubetest.Rights("hypershift.openshift.io", "nodepools", "delete"),
	"nodepool: the finalizer and owner of its own":               kubetest.Rights("hypershift.openshift.io", "nodepools", "patch"),
	"nodepool: what it tells":                                    kubetest.Rights("hypershift.openshift.io", "nodepools/status", "patch"),
	"hostedcluster: the control-plane namespace":                 kubetest.Rights("", "namespaces", "get", "list", "watch", "create", "update", "patch", "delete"),
	"hostedcluster: what isolates it":                            kubetest.Rights("networking.k8s.io", "networkpolicies", "get", "list", "watch", "create", "patch", "delete"),
	"hostedcluster: rights of workloads outside of it":           kubetest.Rights("rbac.authorization.k8s.io", "clusterroles", "get", "list", "watch", "create", "patch", "delete"),
	"hostedcluster: their bindings":                              kubetest.Rights("rbac.authorization.k8s.io", "clusterrolebindings", "get", "list", "watch", "create", "patch", "delete"),
	"hostedcluster: what its end stops, Deployments":             kubetest.Rights("apps", "deployments", "deletecollection"),
	"hostedcluster: what its end stops, StatefulSets":            kubetest.Rights("apps", "statefulsets", "deletecollection"),
	"hostedcluster: what its end stops, pods of lost nodes":      kubetest.Rights("", "pods", "delete"),
	"hostedcluster: what its end drops":                          kubetest.Rights("", "persistentvolumeclaims", "list", "deletecollection"),
	"hostedcluster: who the machine provider is":                 kubetest.Rights("infrastructure.cluster.x-k8s.io", "azureclusteridentities", "create"),
	"hostedcluster: the cluster's place in Azure":                kubetest.Rights("infrastructure.cluster.x-k8s.io", "azureclusters", "create"),
	"nodepool: templates of machines":                            kubetest.Rights("infrastructure.cluster.x-k8s.io", "azuremachinetemplates", "create", "delete"),
	"hostedcluster: networks that control planes must not reach": kubetest.Rights("config.openshift.io", "networks", "get", "list", "watch"),
	"hostedcluster: the same, as nodes have them":                kubetest.Rights("", "nodes", "list"),
	"hostedcluster: mirrors of the management cluster":           kubetest.Rights("config.openshift.io", "imagedigestmirrorsets", "get", "list", "watch"),
	"hostedcluster: their former kind":                           kubetest.Rights("operator.openshift.io", "imagecontentsourcepolicies", "get", "list", "watch"),
}

func operatorRights(t *testing.T) []kubetest.Right {
	t.Helper()
	for _, obj := range (&install.Options{Namespace: "hypershift"}).Objects() {
		if role, ok := obj.(*rbacv1.ClusterRole); ok && role.Name == "hypershift-operator" {
			return kubetest.Expand(role.Rules)
		}
	}
	t.Fatal("install makes no ClusterRole hypershift-operator")
	return nil
}

func neededRights() []kubetest.Right {
	needed := kubetest.Expand(hostedcluster.Grants())
	for _, calls := range ownCalls {
		needed = append(needed, calls...)
	}
	return needed
}

// TestOperatorHoldsNoMoreThanItNeeds lists each right of the operator that it neither grants nor uses, and each that it lacks.
func TestOperatorHoldsNoMoreThanItNeeds(t *testing.T) {
	held, needed := operatorRights(t), neededRights()
	for _, h := range held {
		if !kubetest.Covers(needed, h) {
			t.Errorf("nothing uses the right to %s", h)
		}
	}
	for _, n := range needed {
		if !kubetest.Covers(held, n) {
			t.Errorf("the right to %s is needed and not held", n)
		}
	}
}

// TestNobodyHoldsEveryVerb: "*" is more than anybody thinks of, "impersonate" and "escalate" among it.
func TestNobodyHoldsEveryVerb(t *testing.T) {
	for _, r := range append(operatorRights(t), kubetest.Expand(hostedcluster.Grants())...) {
		if r.Verb == "*" {
			t.Errorf("the right to %s", r)
		}
	}
}

// recorder is a way to the API server as the operator's service account, with its rights and no others, that writes down the rights
// that are used.
type recorder struct{ kubetest.Calls }

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
	r := &recorder{}
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(request *httputil.ProxyRequest) {
		request.SetURL(server)
		r.Record(request.In)
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

// check finds calls that the table above does not know, or that were forbidden.
func (r *recorder) check(t *testing.T) {
	t.Helper()
	needed, all := neededRights(), r.Used()
	for _, used := range all {
		if !kubetest.Covers(needed, used) {
			t.Errorf("the operator uses the right to %s, which is neither granted nor in the table of its own calls", used)
		}
	}
	if len(all) < 30 {
		t.Errorf("only %d rights were used: the recorder misses requests", len(all))
	}
}
