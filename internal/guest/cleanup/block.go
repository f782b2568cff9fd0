package cleanup

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// blockName is the webhook's configuration; there is no such Service, so that whatever it is asked about is refused.
const blockName = "hosted-cluster-resource-cleanup"

// block lets nothing new in that could have something in Azure, or hold it.
func (r *reconciler) block(ctx context.Context) error {
	rules := []admissionv1.RuleWithOperations{made(corev1.GroupName, "pods", "persistentvolumeclaims", "persistentvolumes", "services")}
	_, err := r.guest.RESTMapper().RESTMapping(ingressControllers.GroupKind(), ingressControllers.Version)
	if err == nil {
		rules = append(rules, made(ingressControllers.Group, "ingresscontrollers"))
	} else if !meta.IsNoMatchError(err) {
		return fmt.Errorf("find kind %s in the guest: %w", ingressControllers.Kind, err)
	}
	configuration := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: blockName},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "block-resources.hypershift.openshift.io",
			ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{
				Namespace: "default", Name: "xxx-invalid-service-xxx", Path: ptr.To("/validate"), Port: ptr.To[int32](443)}},
			Rules:         rules,
			FailurePolicy: ptr.To(admissionv1.Fail), SideEffects: ptr.To(admissionv1.SideEffectClassNone),
			TimeoutSeconds: ptr.To[int32](30), AdmissionReviewVersions: []string{"v1"},
		}},
	}
	if err := r.guest.Create(ctx, configuration); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("let no new Services and volumes in: %w", err)
	}
	return nil
}

// made are new objects of resources of a group.
func made(group string, resources ...string) admissionv1.RuleWithOperations {
	return admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Scope: ptr.To(admissionv1.AllScopes), Resources: resources},
	}
}
