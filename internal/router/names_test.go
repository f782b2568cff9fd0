package router

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestTheOldestHasTheNameInAllNamespaces: a Route of another namespace gets no connections of a host name that is taken, and its status does
// not say by whom.
func TestTheOldestHasTheNameInAllNamespaces(t *testing.T) {
	victim, attacker := newTestRoute("route", "api.victim.test", "passthrough"), newTestRoute("route", "API.victim.test", "passthrough")
	victim.SetNamespace("victims-namespace")
	attacker.SetNamespace("attackers-namespace")
	victim.SetCreationTimestamp(metav1.NewTime(time.Unix(1, 0)))
	attacker.SetCreationTimestamp(metav1.NewTime(time.Unix(2, 0)))
	c := fake.NewClientBuilder().WithObjects(victim, attacker).WithStatusSubresource(newRoute()).Build()
	admitter := &Admitter{Client: c, Domain: domain, Table: NewTable()}
	admit := func(route *unstructured.Unstructured) {
		t.Helper()
		if _, err := admitter.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(route)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, route := range []*unstructured.Unstructured{attacker, victim, attacker} {
		admit(route)
	}
	if target, ok := admitter.Table.lookup("api.victim.test"); !ok || target.Namespace != "victims-namespace" {
		t.Errorf("connections go to %+v", target)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(attacker), attacker); err != nil {
		t.Fatal(err)
	}
	status, err := json.Marshal(attacker.Object["status"])
	if err != nil || !bytes.Contains(status, []byte("HostAlreadyClaimed")) || bytes.Contains(status, []byte("victims-namespace")) {
		t.Errorf("%s (%v)", status, err)
	}
	// Nor does it change hands when the other goes.
	if err := c.Delete(t.Context(), attacker); err != nil {
		t.Fatal(err)
	}
	admit(attacker)
	if target, _ := admitter.Table.lookup("api.victim.test"); target.Namespace != "victims-namespace" {
		t.Errorf("connections go to %+v", target)
	}
}
