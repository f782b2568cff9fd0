package twin

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"
	"time"

	oauthv1 "github.com/openshift/api/oauth/v1"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

// OAuthClients are applied, read, listed and deleted by a client as the config operator has it, and lie in etcd.
func TestKeptObjects(t *testing.T) {
	address, peer := kubetest.FreeAddress(t), kubetest.FreeAddress(t)
	etcd := exec.CommandContext(t.Context(), kubetest.Program(t, "etcd"), "--data-dir="+t.TempDir(), "--listen-client-urls=http://"+address, "--advertise-client-urls=http://"+address,
		"--listen-peer-urls=http://"+peer, "--log-level=error")
	if err := etcd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = etcd.Process.Kill()
		_ = etcd.Wait()
	})
	store, err := clientv3.New(clientv3.Config{Context: t.Context(), Endpoints: []string{"http://" + address}, DialTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	programs, err := Programs()
	if err != nil {
		t.Fatal(err)
	}
	kept := &apis{program: *Find(programs, "oauth-apiserver"), store: store}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path { // what the API server in front answers by itself
		case "/api":
			answer(w, http.StatusOK, map[string]any{"kind": "APIVersions", "versions": []string{}})
		case "/apis":
			answer(w, http.StatusOK, map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{map[string]any{"name": "oauth.openshift.io",
				"versions": []any{map[string]any{"groupVersion": "oauth.openshift.io/v1", "version": "v1"}}}}})
		case "/apis/oauth.openshift.io":
			answer(w, http.StatusOK, map[string]any{"kind": "APIGroup", "apiVersion": "v1", "name": "oauth.openshift.io",
				"versions": []any{map[string]any{"groupVersion": "oauth.openshift.io/v1", "version": "v1"}}})
		default:
			kept.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	c, err := client.New(&rest.Config{Host: server.URL}, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of := func() *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(oauthv1.GroupVersion.WithKind("OAuthClient"))
		obj.SetName("openshift-cli-client")
		return obj
	}
	live := of()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(live), live); !apierrors.IsNotFound(err) {
		t.Fatalf("an object that nobody made: %v", err)
	}
	wanted := of()
	wanted.Object["grantMethod"] = "auto"
	if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner("test"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	live = of()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil || live.Object["grantMethod"] != "auto" || live.GetResourceVersion() == "" || live.GetUID() == "" {
		t.Errorf("%v: %v", err, live.Object)
	}
	again := of()
	again.Object["grantMethod"] = "prompt"
	if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(again), client.FieldOwner("test"), client.ForceOwnership); err != nil ||
		again.GetUID() != live.GetUID() || again.GetResourceVersion() == live.GetResourceVersion() {
		t.Errorf("%v: %v", err, again.Object)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(oauthv1.GroupVersion.WithKind("OAuthClientList"))
	if err := c.List(t.Context(), list); err != nil || len(list.Items) != 1 {
		t.Errorf("%v: %d items", err, len(list.Items))
	}
	if err := c.Delete(t.Context(), live); err != nil {
		t.Error(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(live), of()); !apierrors.IsNotFound(err) {
		t.Errorf("an object that is deleted: %v", err)
	}
}
