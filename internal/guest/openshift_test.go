package guest

import (
	"errors"
	"fmt"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/guest/configuration"
)

// usersKeep: what users of the guest set where it is theirs stays, and the rest comes back.
func (s *server) usersKeep() {
	s.t.Helper()
	at := func(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(kind)
		obj.SetNamespace(namespace)
		obj.SetName(name)
		s.must(s.client.Get(s.t.Context(), client.ObjectKeyFromObject(obj), obj))
		return obj
	}
	credential := operatorv1.GroupVersion.WithKind("CloudCredential")
	controller := operatorv1.GroupVersion.WithKind("IngressController")
	secret, _, _ := unstructured.NestedString(at(configuration.RegistryKind, "", configuration.Singleton).Object, "spec", "httpSecret")
	if len(secret) != 128 {
		s.t.Errorf("httpSecret has %d characters", len(secret))
	}
	patch := func(obj *unstructured.Unstructured, text string) {
		s.must(s.client.Patch(s.t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(text)), client.FieldOwner("somebody")))
	}
	patch(at(configuration.RegistryKind, "", configuration.Singleton), `{"spec":{"managementState":"Unmanaged","replicas":5}}`)
	patch(at(controller, "openshift-ingress-operator", "default"), `{"spec":{"replicas":3}}`)
	patch(at(credential, "", configuration.Singleton), `{"spec":{"credentialsMode":"Mint","managementState":"Unmanaged"}}`)
	hcp := s.plane()
	hcp.Annotations = map[string]string{"poke": "it"}
	s.must(s.client.Update(s.t.Context(), hcp))
	s.eventually(func() error {
		return within(map[string]any{"credentialsMode": "Manual", "managementState": "Unmanaged"}, at(credential, "", configuration.Singleton).Object["spec"], "CloudCredential")
	})
	registry := at(configuration.RegistryKind, "", configuration.Singleton)
	s.must(errors.Join(
		within(map[string]any{"managementState": "Unmanaged", "replicas": 5, "httpSecret": secret}, registry.Object["spec"], "registry"),
		within(map[string]any{"replicas": 3}, at(controller, "openshift-ingress-operator", "default").Object["spec"], "IngressController")))
	if !slices.Contains(registry.GetFinalizers(), "imageregistry.operator.openshift.io/finalizer") {
		s.must(fmt.Errorf("finalizers %v", registry.GetFinalizers()))
	}
}
