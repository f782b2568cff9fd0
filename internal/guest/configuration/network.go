package configuration

import (
	configv1 "github.com/openshift/api/config/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig/singletons"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

const (
	// flannelNetworkType is what the guest's Network says while flannel carries the pods, whatever network was asked for.
	flannelNetworkType = "Flannel"

	// policyNotice warns whoever writes a NetworkPolicy.
	policyNotice = "networkpolicy-not-enforced"
	// PolicyNoticeMessage says that NetworkPolicies have no effect.
	PolicyNoticeMessage = "flannel, the network of this release, does not enforce NetworkPolicies: traffic flows as if there were none, unless something added to this cluster enforces them"
)

// NetworkKind is OpenShift's Network of group config.openshift.io.
var NetworkKind = configv1.GroupVersion.WithKind("Network")

// networkObject has in its specification what was asked for, and in its status what runs, where no network operator writes it.
func networkObject(facts *inside.Facts, user map[string]any) *unstructured.Unstructured {
	spec := singletons.NetworkSpec(facts.HCP, user)
	kind := spec["networkType"]
	switch {
	case facts.RunsFlannel():
		kind = flannelNetworkType
	case !facts.OwnNetwork || facts.Images[contract.NetworkOperator] != "":
		return singletons.Object(NetworkKind.Kind, Singleton, spec, nil)
	}
	status := map[string]any{"networkType": kind, "clusterNetwork": spec["clusterNetwork"], "serviceNetwork": spec["serviceNetwork"]}
	return singletons.Object(NetworkKind.Kind, Singleton, spec, status)
}

// policyNotices tell the author of a NetworkPolicy, at once and where the author looks, that it has no effect.
func policyNotices(facts *inside.Facts) []*unstructured.Unstructured {
	if !facts.RunsFlannel() {
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
			Validations: []admissionv1.Validation{{Expression: sameSpec, Message: PolicyNoticeMessage}},
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
