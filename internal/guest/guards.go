package guest

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// bootstrapUser is the identity of what renders an OpenShift payload's first objects.
const bootstrapUser = "system:kas-bootstrap-container"

// guards keep the configuration of a hosted cluster where its users edit it, in the HostedCluster: in the guest it is refused, with
// the reason, instead of being undone in silence.
func guards(*Facts) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, guard := range []struct {
		name       string
		operations []admissionv1.OperationType
		resources  []string
	}{
		{"config", []admissionv1.OperationType{admissionv1.Update, admissionv1.Delete}, []string{
			"apiservers", "authentications", "dnses", "featuregates", "images", "imagecontentpolicies", "ingresses", "networks", "oauths", "proxies", "schedulers"}},
		{"infra", []admissionv1.OperationType{admissionv1.Update, admissionv1.Delete}, []string{"infrastructures"}},
		{"mirror", []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete}, []string{"imagedigestmirrorsets", "imagetagmirrorsets"}},
	} {
		out = append(out, admission("ValidatingAdmissionPolicy", guardPolicy(guard.name, guard.operations, guard.resources)),
			admission("ValidatingAdmissionPolicyBinding", guardBinding(guard.name)))
	}
	return out
}

// admission is a typed object in the form of the configuration; its status is Kubernetes' own.
func admission(kind string, typed any) *unstructured.Unstructured {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil { // these types always convert
		panic(err)
	}
	delete(content, "status")
	obj := &unstructured.Unstructured{Object: content}
	obj.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind(kind))
	return obj
}

func guardPolicy(name string, operations []admissionv1.OperationType, resources []string) *admissionv1.ValidatingAdmissionPolicy {
	fail, equivalent, all := admissionv1.Fail, admissionv1.Equivalent, admissionv1.AllScopes
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{
				MatchPolicy: &equivalent, NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: operations,
					Rule:       admissionv1.Rule{APIGroups: []string{"config.openshift.io"}, APIVersions: []string{"*"}, Resources: resources, Scope: &all},
				}}},
			},
			Validations: []admissionv1.Validation{{
				Expression: fmt.Sprintf(`request.userInfo.username in ['%s', '%s'] || (request.operation == 'UPDATE' && has(object.spec) && has(oldObject.spec) && object.spec == oldObject.spec)`,
					configOperatorUser, bootstrapUser),
				Message: "this configuration follows the HostedCluster of the management cluster; change spec.configuration there",
			}},
		},
	}
}

func guardBinding(name string) *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-binding"},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
}
