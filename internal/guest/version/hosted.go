package version

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// hostedOperator is a ClusterOperator of OpenShift whose operator does not run, because the control plane is hosted: the version operator of
// the payload waits for it all the same.
type hostedOperator struct {
	name string
	// kubernetes: what it operates has Kubernetes' version; operand: what it operates reports a version under the operator's name.
	kubernetes, operand bool
	related             []configv1.ObjectReference
}

const operatorGroup = "operator.openshift.io"

// hostedOperators are all of them; their health is that of the control plane, whose own conditions tell it.
var hostedOperators = []hostedOperator{
	{name: contract.OpenShiftAPIServer, operand: true, related: slices.Concat(
		[]configv1.ObjectReference{{Group: operatorGroup, Resource: "openshiftapiservers", Name: "cluster"}},
		namespacesNamed(contract.ConfigNamespace, contract.ManagedNamespace, "openshift-apiserver-operator", contract.OpenShiftAPIServer),
		apisNamed("apps", "authorization", "build", "image", "oauth", "project", "quota", "route", "security", "template", "user"))},
	{name: contract.OpenShiftControllerManager, operand: true, related: slices.Concat(
		[]configv1.ObjectReference{{Group: operatorGroup, Resource: "openshiftcontrollermanagers", Name: "cluster"}},
		namespacesNamed(contract.ConfigNamespace, contract.ManagedNamespace, "openshift-controller-manager-operator", contract.OpenShiftControllerManager))},
	{name: "operator-lifecycle-manager-packageserver", related: namespacesNamed(contract.LifecycleManagerNamespace)},
	{name: contract.APIServer, kubernetes: true, related: slices.Concat(
		[]configv1.ObjectReference{{Group: operatorGroup, Resource: "kubeapiservers", Name: "cluster"}, {Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}},
		namespacesNamed(contract.ConfigNamespace, contract.ManagedNamespace, contract.APIServerNamespace, contract.APIOperatorNamespace))},
	{name: contract.ControllerManager, kubernetes: true, related: slices.Concat(
		[]configv1.ObjectReference{{Group: operatorGroup, Resource: "kubecontrollermanagers", Name: "cluster"}},
		namespacesNamed(contract.ConfigNamespace, contract.ManagedNamespace, contract.ControllerManagerNamespace, "openshift-kube-controller-manager-operator"))},
	{name: contract.Scheduler, kubernetes: true, related: slices.Concat(
		[]configv1.ObjectReference{{Group: operatorGroup, Resource: "kubeschedulers", Name: "cluster"}},
		namespacesNamed(contract.ConfigNamespace, contract.SchedulerNamespace, "openshift-kube-scheduler-operator"))},
}

func namespacesNamed(names ...string) []configv1.ObjectReference {
	var out []configv1.ObjectReference
	for _, name := range names {
		out = append(out, configv1.ObjectReference{Resource: "namespaces", Name: name})
	}
	return out
}

// apisNamed are APIServices of OpenShift's groups.
func apisNamed(groups ...string) []configv1.ObjectReference {
	var out []configv1.ObjectReference
	for _, group := range groups {
		out = append(out, configv1.ObjectReference{Group: "apiregistration.k8s.io", Resource: "apiservices", Name: "v1." + group + ".openshift.io"})
	}
	return out
}

// status keeps the times of conditions that did not change, and conditions of others.
func (o hostedOperator) status(facts *inside.Facts, before configv1.ClusterOperatorStatus, now time.Time) configv1.ClusterOperatorStatus {
	after := configv1.ClusterOperatorStatus{Conditions: slices.Clone(before.Conditions), Extension: before.Extension, RelatedObjects: o.related}
	for _, c := range []configv1.ClusterOperatorStatusCondition{
		{Type: configv1.OperatorAvailable, Status: configv1.ConditionTrue}, {Type: configv1.OperatorProgressing, Status: configv1.ConditionFalse},
		{Type: configv1.OperatorDegraded, Status: configv1.ConditionFalse}, {Type: configv1.OperatorUpgradeable, Status: configv1.ConditionTrue},
	} {
		c.Reason = hyperv1.AsExpectedReason
		setClusterCondition(&after.Conditions, c, now)
	}
	versions := map[string]string{"operator": facts.Version}
	if o.operand {
		versions[o.name] = facts.Version
	}
	if o.kubernetes {
		versions[o.name], versions["raw-internal"] = facts.KubernetesVersion, facts.Version
	}
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		after.Versions = append(after.Versions, configv1.OperandVersion{Name: name, Version: versions[name]})
	}
	return after
}

// writeHosted makes the ClusterOperators of a control plane that is hosted.
func (r *reconciler) writeHosted(ctx context.Context, facts *inside.Facts) error {
	var list configv1.ClusterOperatorList
	if err := r.guest.List(ctx, &list); err != nil {
		return fmt.Errorf("list ClusterOperators: %w", err)
	}
	var failed []error
	for _, hosted := range hostedOperators {
		operator := operatorNamed(&list, hosted.name)
		failed = append(failed, r.writeOperator(ctx, operator, hosted.status(facts, operator.Status, r.now())))
	}
	return errors.Join(failed...)
}

// operatorNamed is the operator of the name in the list, or a new one.
func operatorNamed(list *configv1.ClusterOperatorList, name string) *configv1.ClusterOperator {
	for i := range list.Items {
		if list.Items[i].Name == name {
			return &list.Items[i]
		}
	}
	return &configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{hyperv1.ManagedByLabel: inside.ManagedBy}}}
}
