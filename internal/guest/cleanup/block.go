package cleanup

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// blockName is the webhook's configuration; there is no such Service, so that whatever it is asked about is refused.
const blockName = "hosted-cluster-resource-cleanup"

// block lets nothing new in that could have something in Azure, or hold it.
func (r *reconciler) block(ctx context.Context) error {
	configuration := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: blockName},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: blockName + ".hypershift.openshift.io",
			ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{
				Namespace: "default", Name: "xxx-invalid-service-xxx", Path: ptr.To("/validate"), Port: ptr.To[int32](443)}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Scope: ptr.To(admissionv1.AllScopes),
					Resources: []string{"pods", "persistentvolumeclaims", "persistentvolumes", "services"}},
			}},
			FailurePolicy: ptr.To(admissionv1.Fail), SideEffects: ptr.To(admissionv1.SideEffectClassNone),
			TimeoutSeconds: ptr.To[int32](30), AdmissionReviewVersions: []string{"v1"},
		}},
	}
	if err := r.guest.Create(ctx, configuration); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("let no new Services and volumes in: %w", err)
	}
	return nil
}
