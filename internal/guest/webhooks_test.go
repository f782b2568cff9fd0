package guest

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// webhooksOfTheControlPlane go, however the control plane is called; others stay.
func (s *server) webhooksOfTheControlPlane() {
	s.t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "etcd-client"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 2379}}}}
	s.create(service)
	rules := []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule: admissionv1.Rule{APIGroups: []string{"example.com"}, APIVersions: []string{"v1"}, Resources: []string{"nothing"}}}}
	validating := func(name, target string) client.Object {
		return &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "hook.example.com", ClientConfig: admissionv1.WebhookClientConfig{URL: ptr.To(target)}, Rules: rules,
			SideEffects: ptr.To(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}}}}
	}
	mutating := func(name, target string) client.Object {
		return &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admissionv1.MutatingWebhook{{
			Name: "hook.example.com", ClientConfig: admissionv1.WebhookClientConfig{URL: ptr.To(target)}, Rules: rules,
			SideEffects: ptr.To(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}}}}
	}
	refused := []client.Object{
		validating("by-name", "https://kube-apiserver."+testNamespace+".svc:6443/x"), validating("by-address", "https://"+service.Spec.ClusterIP+"/x"),
		mutating("by-name", "https://etcd-client:2379/x"),
	}
	stays := []client.Object{validating("outside", "https://hooks.example.com/x"), mutating("outside", "https://hooks.example.com/x")}
	s.create(append(stays, refused...)...)
	for _, obj := range refused {
		s.eventually(func() error {
			if err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(obj), obj); !apierrors.IsNotFound(err) {
				return fmt.Errorf("webhook configuration %s is still there (%v)", obj.GetName(), err)
			}
			return nil
		})
	}
	for _, obj := range stays {
		s.must(s.client.Get(s.t.Context(), client.ObjectKeyFromObject(obj), obj))
	}
}
