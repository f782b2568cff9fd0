package install

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// metricsPolicyName is the name of the NetworkPolicy that restricts who reads the installation's metrics.
const metricsPolicyName = "metrics"

// metricsPolicy closes the metrics of the operator and of ExternalDNS to all but the management cluster's monitoring: they name every
// tenant's hosted clusters. The webhooks stay open, because API servers may be anywhere.
func (o *Options) metricsPolicy() client.Object {
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: metricsPolicyName},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "name", Operator: metav1.LabelSelectorOpIn, Values: []string{operatorName, externalDNSName}}}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				{From: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{
					MatchLabels: map[string]string{contract.PolicyGroupLabel: "monitoring"}}}}},
				{Ports: []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(webhookPort))}}},
			},
		},
	}
}
