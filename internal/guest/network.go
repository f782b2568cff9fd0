package guest

import (
	"context"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

const (
	// flannelNetworkType is what the guest's Network says while flannel carries the pods, whatever network was asked for.
	flannelNetworkType = "Flannel"

	// policiesEnforced is the condition of ClusterOperator `network` that tells whether NetworkPolicies have an effect.
	policiesEnforced configv1.ClusterStatusConditionType = "NetworkPoliciesEnforced"
	policiesIgnored  string                              = "NotSupportedByNetwork"
	// policyNotice warns whoever writes a NetworkPolicy.
	policyNotice        string = "networkpolicy-not-enforced"
	policyNoticeMessage string = "flannel, the network of this release, does not enforce NetworkPolicies: traffic flows as if there were none, unless something added to this cluster enforces them"
)

var networkKind = configv1.GroupVersion.WithKind("Network")

// runsFlannel is true where flannel is the network. It connects pods, and looks at no NetworkPolicy; where another network
// runs, whether it enforces them is its own operator's to say.
func runsFlannel(facts *Facts) bool {
	return !facts.OwnNetwork && wanted(addon{images: []string{flannelName}}, facts.Images)
}

// networkPlugin is that of the payload, unless the user brings one.
func networkPlugin(facts *Facts) []client.Object {
	if facts.OwnNetwork {
		return nil
	}
	return flannel(facts)
}

// ownNetwork tells whether the user's plugin is to be the only one. A cluster that has the payload's plugin already keeps it: its pods
// would lose their network.
func (r *resourceReconciler) ownNetwork(ctx context.Context, hcp *hyperv1.HostedControlPlane) (bool, error) {
	if !component.OwnNetwork(hcp) {
		return false, nil
	}
	err := r.guest.Get(ctx, client.ObjectKey{Namespace: kubeSystem, Name: flannelName}, &appsv1.DaemonSet{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the network plugin in the guest: %w", err)
	}
	return false, nil
}

// networkObject has in its specification what was asked for, and in its status what runs, where no network operator writes it.
func networkObject(facts *Facts, user map[string]any) *unstructured.Unstructured {
	spec := networkSpec(facts.HCP, user)
	kind := spec["networkType"]
	switch {
	case runsFlannel(facts):
		kind = flannelNetworkType
	case !facts.OwnNetwork || facts.Images[networkOperatorImage] != "":
		return configObject(networkKind.Kind, clusterSingleton, spec, nil)
	}
	status := map[string]any{"networkType": kind, "clusterNetwork": spec["clusterNetwork"], "serviceNetwork": spec["serviceNetwork"]}
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
