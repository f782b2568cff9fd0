package configuration

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

const (
	// bootstrapUser is the identity of what renders an OpenShift payload's first objects.
	bootstrapUser = "system:kas-bootstrap-container"
	// networkOperatorUser is the account of OpenShift's network operator, which writes what it found out into the Infrastructure.
	networkOperatorUser = "system:serviceaccount:openshift-network-operator:cluster-network-operator"

	configGroup = "config.openshift.io"
	// sameSpec and sameData let a change pass that changes nothing of what is guarded.
	sameSpec = "request.operation == 'UPDATE' && has(object.spec) && has(oldObject.spec) && object.spec == oldObject.spec"
	sameData = "request.operation == 'UPDATE' && has(object.data) && has(oldObject.data) && object.data == oldObject.data && !has(object.binaryData)"
)

var (
	changes = []admissionv1.OperationType{admissionv1.Update, admissionv1.Delete}
	writes  = []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete}
)

// guard refuses operations on resources to all but some users.
type guard struct {
	name       string
	operations []admissionv1.OperationType
	group      string
	resources  []string
	// labelled are the objects that it looks at, all of them where empty.
	labelled string
	// users beside the config operator and the bootstrap.
	users []string
	// unless lets an operation pass, in CEL.
	unless  string
	message string
}

// guards keep the configuration of a hosted cluster where its users edit it, in the HostedCluster: in the guest it is refused, with
// the reason, instead of being undone in silence.
func guards(facts *inside.Facts) []*unstructured.Unstructured {
	const follows = "this configuration follows the HostedCluster of the management cluster; change spec.configuration there"
	const sources = "mirrors follow the HostedCluster of the management cluster; change spec.imageContentSources there"
	config := []string{"apiservers", "authentications", "dnses", "featuregates", "images", "imagecontentpolicies", "networks", "oauths", "proxies", "schedulers"}
	if inside.Capable(facts.HCP, inside.IngressCapability) {
		config = append(config, "ingresses")
	}
	if !inside.CatalogsInGuest(facts.HCP) {
		config = append(config, "operatorhubs")
	}
	var network []string
	if facts.Images[contract.NetworkOperator] != "" {
		network = []string{networkOperatorUser}
	}
	all := []guard{
		{name: "config", operations: changes, group: configGroup, resources: config, unless: sameSpec, message: follows},
		{name: "infra", operations: changes, group: configGroup, resources: []string{"infrastructures"}, users: network, unless: sameSpec, message: follows},
		{name: "mirror", operations: writes, group: configGroup, resources: []string{"imagedigestmirrorsets", "imagetagmirrorsets", "operatorhubs"}, unless: sameSpec, message: sources},
		{name: "icsp", operations: writes, group: "operator.openshift.io", resources: []string{"imagecontentsourcepolicies"}, unless: sameSpec, message: sources},
		{name: "ntomirroredconfigmaps", operations: writes, resources: []string{"configmaps"}, labelled: contract.MirroredLabel, unless: sameData,
			message: "this ConfigMap follows the configuration of a NodePool of the management cluster; change it there"},
	}
	if facts.HCP.Spec.Platform.Azure != nil && inside.Capable(facts.HCP, inside.RegistryCapability) {
		all = append(all, guard{name: "deny-removed-managementstate", operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			group: "imageregistry.operator.openshift.io", resources: []string{"configs"}, unless: "!has(object.spec.managementState) || object.spec.managementState != 'Removed'",
			message: "the registry cannot be removed from inside a hosted cluster; disable the capability ImageRegistry of the HostedCluster when it is made"})
	}
	var out []*unstructured.Unstructured
	for _, g := range all {
		out = append(out, admission("ValidatingAdmissionPolicy", g.policy()), admission("ValidatingAdmissionPolicyBinding", guardBinding(g.name)))
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

func (g guard) policy() *admissionv1.ValidatingAdmissionPolicy {
	fail, equivalent, all := admissionv1.Fail, admissionv1.Equivalent, admissionv1.AllScopes
	selector := &metav1.LabelSelector{}
	if g.labelled != "" {
		selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: g.labelled, Operator: metav1.LabelSelectorOpExists}}
	}
	users := "'" + strings.Join(append([]string{access.ConfigOperatorUser, bootstrapUser}, g.users...), "', '") + "'"
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: g.name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{
				MatchPolicy: &equivalent, NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: selector,
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: g.operations,
					Rule:       admissionv1.Rule{APIGroups: []string{g.group}, APIVersions: []string{"*"}, Resources: g.resources, Scope: &all},
				}}},
			},
			Validations: []admissionv1.Validation{{
				Expression: fmt.Sprintf(`request.userInfo.username in [%s] || (%s)`, users, g.unless),
				Message:    g.message,
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
