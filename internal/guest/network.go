package guest

import (
	configv1 "github.com/openshift/api/config/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
)

const (
	flannelKey = "flannel"
	// flannelNetworkType is what the guest's Network says while flannel carries the pods, whatever network was asked for.
	flannelNetworkType = "Flannel"

	// policiesEnforced is the condition of ClusterOperator `network` that tells whether NetworkPolicies have an effect.
	policiesEnforced configv1.ClusterStatusConditionType = "NetworkPoliciesEnforced"
	policiesIgnored                                      = "NotSupportedByNetwork"
	// policyNotice warns whoever writes a NetworkPolicy.
	policyNotice        = "networkpolicy-not-enforced"
	policyNoticeMessage = "flannel, the network of this release, does not enforce NetworkPolicies: traffic flows as if there were none, unless something added to this cluster enforces them"
)

var networkKind = configv1.GroupVersion.WithKind("Network")

// runsFlannel is true where flannel is the network. It connects pods, and looks at no NetworkPolicy; where another network
// runs, whether it enforces them is its own operator's to say.
func runsFlannel(facts *Facts) bool {
	return wanted(addon{images: []string{flannelKey}}, facts.Images)
}

// network has in its specification what was asked for, and in its status what runs, where no network operator writes it.
func network(facts *Facts, user map[string]any) *unstructured.Unstructured {
	spec := networkSpec(facts.HCP, user)
	if !runsFlannel(facts) {
		return configObject(networkKind.Kind, clusterSingleton, spec, nil)
	}
	// kube-proxy and flannel use one range of each kind.
	status := map[string]any{"networkType": flannelNetworkType, "clusterNetwork": spec["clusterNetwork"], "serviceNetwork": spec["serviceNetwork"]}
	return configObject(networkKind.Kind, clusterSingleton, spec, status)
}

// policyNotices tell the author of a NetworkPolicy, at once and where the author looks, that it has no effect.
func policyNotices(facts *Facts) []*unstructured.Unstructured {
	if !runsFlannel(facts) {
		return nil
	}
	all := &metav1.LabelSelector{}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: policyNotice},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Ignore),
			MatchConstraints: &admissionv1.MatchResources{
				MatchPolicy: ptr.To(admissionv1.Equivalent), NamespaceSelector: all, ObjectSelector: all,
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule: admissionv1.Rule{APIGroups: []string{"networking.k8s.io"}, APIVersions: []string{"*"}, Resources: []string{"networkpolicies"},
						Scope: ptr.To(admissionv1.NamespacedScope)},
				}}},
			},
			Validations: []admissionv1.Validation{{Expression: sameSpec, Message: policyNoticeMessage}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policyNotice + "-binding"},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policyNotice, ValidationActions: []admissionv1.ValidationAction{admissionv1.Warn},
		},
	}
	return []*unstructured.Unstructured{admission("ValidatingAdmissionPolicy", policy), admission("ValidatingAdmissionPolicyBinding", binding)}
}

// networkNotes are what ClusterOperator `network` says beside what its workloads do.
func networkNotes(facts *Facts) []configv1.ClusterOperatorStatusCondition {
	if !runsFlannel(facts) {
		return nil
	}
	return []configv1.ClusterOperatorStatusCondition{{
		Type: policiesEnforced, Status: configv1.ConditionFalse, Reason: policiesIgnored, Message: policyNoticeMessage,
	}}
}
