package install

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

// privilegedName is the ClusterRole with the verbs of all powers, for administrators to bind.
const privilegedName = "hypershift-privileged"

// power is what of a HostedCluster or NodePool reaches further than the hosted cluster: into the nodes, the scheduling and the software
// of the management cluster. Rights on the kind alone do not suffice to set or change it; the verb on hostedclusters or nodepools does.
type power struct {
	verb, what  string
	annotations []string
	// same are expressions of the object's fields that must be what they were, each with the value of an object that is not there.
	same map[string]string
}

// powers by the resource that has them.
var powers = map[string][]power{
	"hostedclusters": {
		{verb: "set-images", what: "which images run in the control plane's namespace", annotations: []string{
			hyperv1.ControlPlaneOperatorImageAnnotation, hyperv1.ImageOverridesAnnotation, hyperv1.CAPIManagerImageAnnotation,
			hyperv1.CAPIProviderAzureImageAnnotation, hyperv1.MachineApproverImageAnnotation, hyperv1.KonnectivityServerImageAnnotation,
			hyperv1.KonnectivityAgentImageAnnotation, hyperv1.ClusterAutoscalerImageAnnotation, hyperv1.SkipReleaseImageValidation,
		}},
		{verb: "set-pod-security", what: "what pods of the control plane's namespace may do to their node", annotations: []string{
			hyperv1.PodSecurityLabelOverrideAnnotation, hyperv1.ControlPlaneOperatorImageLabels,
		}},
		{verb: "set-priority", what: "which pods the control plane displaces", annotations: []string{
			hyperv1.ControlPlanePriorityClassAnnotation, hyperv1.APICriticalPriorityClassAnnotation, hyperv1.EtcdPriorityClassAnnotation,
		}},
		{verb: "set-placement", what: "on which nodes the control plane runs",
			annotations: []string{hyperv1.TopologyAnnotation, hyperv1.ClusterScheduledAnnotation, hyperv1.RequestServingNodeSelectorAnnotation},
			same:        map[string]string{"spec.?nodeSelector": "{}", "spec.?tolerations": "[]"}},
	},
	"nodepools": {
		{verb: "set-images", what: "which images run on machines outside of the release", annotations: []string{hyperv1.HAProxyImageAnnotation}},
	},
}

// admission binds the powers to their verbs, and the releases to the registries that the installation allows.
func (o *Options) admission() []client.Object {
	if o.NoAdmission {
		return nil
	}
	privileged := clusterRole(privilegedName, nil)
	var objs []client.Object
	for _, resource := range slices.Sorted(maps.Keys(powers)) {
		var verbs []string
		var validations []admissionv1.Validation
		for _, p := range powers[resource] {
			verbs = append(verbs, p.verb)
			validations = append(validations, p.validation(resource))
		}
		if len(o.ReleaseRegistries) > 0 {
			verbs = append(verbs, anyRelease)
			validations = append(validations, releaseFrom(resource, o.ReleaseRegistries)...)
		}
		privileged.Rules = append(privileged.Rules, rbac.Rule(hyperv1.GroupVersion.Group, strings.Join(verbs, ","), resource))
		objs = append(objs, policy(resource, validations)...)
	}
	return append([]client.Object{privileged}, objs...)
}

func (p power) validation(resource string) admissionv1.Validation {
	var quoted []string
	for _, annotation := range p.annotations {
		quoted = append(quoted, "'"+annotation+"'")
	}
	value := func(object string) string { return object + ".metadata.?annotations[?key].orValue('')" }
	same := []string{fmt.Sprintf("[%s].all(key, %s == (oldObject == null ? '' : %s))", strings.Join(quoted, ", "), value("object"), value("oldObject"))}
	for _, field := range slices.Sorted(maps.Keys(p.same)) {
		absent := p.same[field]
		same = append(same, fmt.Sprintf("object.%[1]s.orValue(%[2]s) == (oldObject == null ? %[2]s : oldObject.%[1]s.orValue(%[2]s))", field, absent))
	}
	return admissionv1.Validation{
		Expression: allowed(resource, p.verb) + " || (" + strings.Join(same, " && ") + ")",
		Message:    fmt.Sprintf("only who has verb %s on %s may set %s: %s", p.verb, resource, p.what, strings.Join(p.subjects(), ", ")),
		Reason:     new(metav1.StatusReasonForbidden),
	}
}

// subjects are the names of what a power is about, as a person types them.
func (p power) subjects() []string {
	names := append([]string{}, p.annotations...)
	for _, field := range slices.Sorted(maps.Keys(p.same)) {
		names = append(names, strings.ReplaceAll(field, "?", ""))
	}
	return names
}

func allowed(resource, verb string) string {
	return fmt.Sprintf("authorizer.group('%s').resource('%s').namespace(request.namespace).name(request.name).check('%s').allowed()", hyperv1.GroupVersion.Group, resource, verb)
}

// anyRelease is the verb of who is not bound to the registries of releases.
const anyRelease = "use-any-release"

// releaseFrom holds the releases of a resource to registries, or repositories of them.
func releaseFrom(resource string, registries []string) []admissionv1.Validation {
	var quoted []string
	for _, registry := range registries {
		quoted = append(quoted, "'"+strings.TrimSuffix(registry, "/")+"'")
	}
	fields := []string{"spec.release.image"}
	if resource == "hostedclusters" {
		fields = append(fields, "spec.controlPlaneRelease.image")
	}
	var validations []admissionv1.Validation
	for _, field := range fields {
		image := strings.ReplaceAll(field, "spec.", "spec.?")
		image = strings.ReplaceAll(image, ".image", ".?image")
		validations = append(validations, admissionv1.Validation{
			Expression: fmt.Sprintf("%[1]s || object.%[2]s.orValue('') == (oldObject == null ? '' : oldObject.%[2]s.orValue('')) || "+
				"[%[3]s].exists(registry, ['/', ':', '@'].exists(end, object.%[2]s.orValue('').startsWith(registry + end)))",
				allowed(resource, anyRelease), image, strings.Join(quoted, ", ")),
			Message: fmt.Sprintf("%s is not in a registry that this installation allows for releases: %s", field, strings.Join(registries, ", ")),
			Reason:  new(metav1.StatusReasonForbidden),
		})
	}
	return validations
}

// policy is enforced for everybody, the operator and the garbage collector included: what they write changes none of it.
func policy(resource string, validations []admissionv1.Validation) []client.Object {
	name := "hypershift-" + resource
	fail, equivalent, scope := admissionv1.Fail, admissionv1.Equivalent, admissionv1.NamespacedScope
	typed := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: kind}
	}
	return []client.Object{
		&admissionv1.ValidatingAdmissionPolicy{
			TypeMeta:   typed("ValidatingAdmissionPolicy"),
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				FailurePolicy: &fail,
				MatchConstraints: &admissionv1.MatchResources{
					MatchPolicy: &equivalent, NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
					ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
						Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
						Rule: admissionv1.Rule{
							APIGroups: []string{hyperv1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{resource}, Scope: &scope,
						},
					}}},
				},
				Validations: validations,
			},
		},
		&admissionv1.ValidatingAdmissionPolicyBinding{
			TypeMeta:   typed("ValidatingAdmissionPolicyBinding"),
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
		},
	}
}
