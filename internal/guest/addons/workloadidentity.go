package addons

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

const (
	// webhookName is also the payload's key.
	webhookName      = contract.WorkloadIdentityWebhook
	webhookNamespace = contract.AuthenticationNamespace
	// webhookURL is beside the API server, in its pod.
	webhookURL = "https://127.0.0.1:9443/mutate-v1-pod"
)

// workloadIdentityWebhook makes the API server hand pods that ask for a workload identity to Azure's webhook, and lets that read
// the annotations of service accounts.
func workloadIdentityWebhook(facts *inside.Facts) []client.Object {
	if facts.HCP.Spec.Platform.Azure == nil {
		return nil
	}
	account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: webhookNamespace, Name: webhookName}
	return []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: webhookNamespace, Name: webhookName}},
		access.ClusterRole(webhookName, rbac.Rule("", rbac.Read, "serviceaccounts")),
		access.Bind(webhookName, webhookName, account),
		&admissionv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: webhookName},
			Webhooks: []admissionv1.MutatingWebhook{{
				Name:         "pod-identity-webhook.azure.mutate.io",
				ClientConfig: admissionv1.WebhookClientConfig{URL: ptr.To(webhookURL), CABundle: []byte(facts.RootCA)},
				Rules: []admissionv1.RuleWithOperations{{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				}},
				ObjectSelector:          &metav1.LabelSelector{MatchLabels: map[string]string{"azure.workload.identity/use": "true"}},
				FailurePolicy:           ptr.To(admissionv1.Ignore),
				ReinvocationPolicy:      ptr.To(admissionv1.IfNeededReinvocationPolicy),
				SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
				AdmissionReviewVersions: []string{"v1"},
			}},
		},
	}
}
