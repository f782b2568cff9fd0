package cleanup

import (
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
)

// of is an object of one of OpenShift's kinds.
func of(kind schema.GroupVersionKind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// brings plays the version operator: it defines the kinds, and makes an object of each as soon as it can.
func (f *fixture) brings(objects ...*unstructured.Unstructured) {
	f.Helper()
	for _, obj := range guesttest.OpenShiftDefinitions(f.T) {
		if name := obj.(*apiextensionsv1.CustomResourceDefinition).Name; slices.Contains([]string{"ingresscontrollers.operator.openshift.io", "configs.imageregistry.operator.openshift.io"}, name) {
			f.create(obj)
		}
	}
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ingressNamespace}})
	for _, obj := range objects {
		var err error
		for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			if err = f.client.Create(f.Context(), obj); err == nil {
				break
			}
		}
		if err != nil {
			f.Fatal(err)
		}
	}
}

// TestCleanupOfOpenShift: the registry's operator is told to take its storage away, and the routers go; both are waited for, and no new router
// comes. A registry with storage of the user's is left alone.
func TestCleanupOfOpenShift(t *testing.T) {
	f := newFixture(t)
	registry := of(registryConfig, "", registryName, map[string]any{"managementState": "Managed", "replicas": int64(2)})
	router := of(ingressControllers, ingressNamespace, "default", map[string]any{})
	router.SetFinalizers([]string{"ingresscontroller.operator.openshift.io/finalizer-ingresscontroller"})
	f.brings(registry, router)
	f.deletes(true, true)
	f.expect("False RemainingCloudResources", "image-registry (cluster)", "ingress-controllers (openshift-ingress-operator/default)")
	if !f.gone(router) {
		t.Error("the router stays")
	}
	webhook := &admissionv1.ValidatingWebhookConfiguration{}
	if err := f.client.Get(t.Context(), client.ObjectKey{Name: blockName}, webhook); err != nil || len(webhook.Webhooks[0].Rules) != 2 ||
		!slices.Equal(webhook.Webhooks[0].Rules[1].Resources, []string{"ingresscontrollers"}) || webhook.Webhooks[0].Name != "block-resources.hypershift.openshift.io" {
		t.Errorf("new routers are let in: %v %v", err, webhook.Webhooks)
	}

	// The operators have done their work, the registry's in two steps.
	router.SetFinalizers(nil)
	if err := f.client.Update(t.Context(), router); err != nil {
		t.Fatal(err)
	}
	says := func(removed, storage string) {
		t.Helper()
		if err := f.client.Get(t.Context(), client.ObjectKeyFromObject(registry), registry); err != nil {
			t.Fatal(err)
		}
		if state, _, _ := unstructured.NestedString(registry.Object, "spec", "managementState"); state != "Removed" {
			t.Errorf("the registry is %s", state)
		}
		condition := func(name, status string) any {
			return map[string]any{"type": name, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}
		}
		registry.Object["status"] = map[string]any{"storageManaged": true, "storage": map[string]any{}, "readyReplicas": int64(0),
			"conditions": []any{condition(registryRemoved, removed), condition(storageExists, storage)}}
		if err := f.client.Status().Update(t.Context(), registry); err != nil {
			t.Fatal(err)
		}
	}
	says("True", "True")
	f.expect("False RemainingCloudResources", "image-registry (cluster)")
	says("True", "False")
	f.expect("True CloudResourcesDestroyed")
}

// TestCleanupKeepsStorageOfUsers: a registry whose storage the user looks after is no cloud resource of the guest's.
func TestCleanupKeepsStorageOfUsers(t *testing.T) {
	f := newFixture(t)
	registry := of(registryConfig, "", registryName, map[string]any{"managementState": "Managed", "replicas": int64(2),
		"storage": map[string]any{"managementState": "Unmanaged"}})
	f.brings(registry)
	f.deletes(true, true)
	f.expect("True CloudResourcesDestroyed")
	if err := f.client.Get(t.Context(), types.NamespacedName{Name: registryName}, registry); err != nil {
		t.Fatal(err)
	}
	if state, _, _ := unstructured.NestedString(registry.Object, "spec", "managementState"); state != "Managed" {
		t.Errorf("the registry is %s", state)
	}
}
