package version

import (
	"fmt"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/addons"
	"github.com/hypershift-on-azure/hypershift/internal/guest/configuration"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// operatorRow says what a ClusterOperator stands for: components of the control plane, and workloads in the guest by
// namespace/name. It exists when one of them does.
type operatorRow struct {
	name string
	// components are ControlPlaneComponents; namespace is where OpenShift has their like.
	components []string
	namespace  string
	workloads  []string
	// notes are conditions of its own; where it is available their messages are its message, but for those against an upgrade.
	notes func(*inside.Facts, []corev1.Node) []configv1.ClusterOperatorStatusCondition
}

// operatorRows has OpenShift's names for what a Kubernetes payload runs. OpenShift's operators that have no like in such a payload
// have no row: what does not run reports nothing.
var operatorRows = []operatorRow{
	{name: contract.CloudControllerManager, components: []string{contract.AzureControllerManager}, namespace: contract.CloudControllerNamespace,
		workloads: []string{"kube-system/" + addons.NodeManagerName}},
	{name: "dns", workloads: []string{"kube-system/" + addons.DNSName}},
	{name: "ingress", workloads: []string{"openshift-ingress/router-default"}},
	{name: contract.APIServer, components: []string{contract.APIServer}, namespace: contract.APIServerNamespace, notes: kubeletNotes},
	{name: contract.ControllerManager, components: []string{contract.ControllerManager}, namespace: contract.ControllerManagerNamespace},
	{name: contract.Scheduler, components: []string{contract.Scheduler}, namespace: contract.SchedulerNamespace},
	{name: contract.MachineApprover, components: []string{contract.MachineApprover}, namespace: contract.MachineApproverNamespace},
	{name: "network", workloads: []string{"kube-system/" + addons.ProxyName, "kube-system/" + inside.FlannelName, "kube-system/" + addons.KonnectivityAgentName},
		notes: networkNotes},
}

const (
	// hungAfter is how long a rollout may take before it counts as a failure.
	hungAfter = 10 * time.Minute
	// downAfter is how long something may be away before that is more than a pod that moves.
	downAfter = 30 * time.Second
)

// part is what one component or workload contributes to its operator.
type part struct {
	name string
	// available is Unknown for a workload that has no node to run on.
	available configv1.ConditionStatus
	// lacking says why it is not available or what it is about; empty at rest.
	lacking string
	// current: everything runs in the desired version.
	current bool
	object  configv1.ObjectReference
}

// operatorState is what is known of one operator's parts.
type operatorState struct {
	name    string
	version string
	parts   []part
	notes   []configv1.ClusterOperatorStatusCondition
}

func (o operatorState) current() bool {
	return !slices.ContainsFunc(o.parts, func(p part) bool { return !p.current })
}

func (o operatorState) available() configv1.ConditionStatus {
	status := configv1.ConditionTrue
	for _, p := range o.parts {
		if p.available == configv1.ConditionFalse {
			return p.available
		}
		if p.available == configv1.ConditionUnknown {
			status = p.available
		}
	}
	return status
}

func (o operatorState) lacking() string {
	var out []string
	for _, p := range o.parts {
		if p.lacking != "" {
			out = append(out, p.lacking)
		}
	}
	return strings.Join(out, "; ")
}

func (o operatorState) noted() string {
	var out []string
	for _, note := range o.notes {
		if note.Type != configv1.OperatorUpgradeable {
			out = append(out, note.Message)
		}
	}
	return strings.Join(out, "; ")
}

// status turns the state into the ClusterOperator's, keeping the times of conditions that did not change.
func (o operatorState) status(before configv1.ClusterOperatorStatus, now time.Time) configv1.ClusterOperatorStatus {
	after := configv1.ClusterOperatorStatus{Versions: before.Versions, Conditions: slices.Clone(before.Conditions), Extension: before.Extension}
	reached := operatorVersion(before) == o.version
	if o.current() && o.available() == configv1.ConditionTrue && o.version != "" {
		after.Versions, reached = []configv1.OperandVersion{{Name: "operator", Version: o.version}}, true
	}
	for _, p := range o.parts {
		after.RelatedObjects = append(after.RelatedObjects, p.object)
	}
	available, lacking := o.available(), o.lacking()
	told := map[configv1.ClusterStatusConditionType]bool{}
	set := func(kind configv1.ClusterStatusConditionType, status configv1.ConditionStatus, reason, message string) {
		told[kind] = true
		setClusterCondition(&after.Conditions, configv1.ClusterOperatorStatusCondition{Type: kind, Status: status, Reason: reason, Message: message}, now)
	}
	switch {
	case available == configv1.ConditionUnknown:
		set(configv1.OperatorAvailable, available, hyperv1.NoWorkerNodesAvailableReason, lacking)
	case available == configv1.ConditionFalse:
		set(configv1.OperatorAvailable, available, "NotAvailable", lacking)
	default:
		set(configv1.OperatorAvailable, available, hyperv1.AsExpectedReason, o.noted())
	}
	if o.current() {
		set(configv1.OperatorProgressing, configv1.ConditionFalse, hyperv1.AsExpectedReason, "")
	} else {
		set(configv1.OperatorProgressing, configv1.ConditionTrue, "Deploying", lacking)
	}
	lasts := func(kind configv1.ClusterStatusConditionType, status configv1.ConditionStatus, limit time.Duration) bool {
		c := findClusterCondition(after.Conditions, kind)
		return c.Status == status && now.Sub(c.LastTransitionTime.Time) >= limit
	}
	switch {
	case lasts(configv1.OperatorProgressing, configv1.ConditionTrue, hungAfter):
		set(configv1.OperatorDegraded, configv1.ConditionTrue, "RolloutHung", lacking)
	case reached && lasts(configv1.OperatorAvailable, configv1.ConditionFalse, downAfter):
		set(configv1.OperatorDegraded, configv1.ConditionTrue, "NotAvailable", lacking)
	default:
		set(configv1.OperatorDegraded, configv1.ConditionFalse, hyperv1.AsExpectedReason, "")
	}
	set(configv1.OperatorUpgradeable, configv1.ConditionTrue, hyperv1.AsExpectedReason, "")
	for _, note := range o.notes {
		set(note.Type, note.Status, note.Reason, note.Message)
	}
	after.Conditions = slices.DeleteFunc(after.Conditions, func(c configv1.ClusterOperatorStatusCondition) bool { return !told[c.Type] })
	return after
}

func operatorVersion(status configv1.ClusterOperatorStatus) string {
	for _, v := range status.Versions {
		if v.Name == "operator" {
			return v.Version
		}
	}
	return ""
}

func findClusterCondition(list []configv1.ClusterOperatorStatusCondition, kind configv1.ClusterStatusConditionType) *configv1.ClusterOperatorStatusCondition {
	for i := range list {
		if list[i].Type == kind {
			return &list[i]
		}
	}
	return nil
}

// setClusterCondition: OpenShift's conditions are a type of their own, without an observed generation.
func setClusterCondition(list *[]configv1.ClusterOperatorStatusCondition, c configv1.ClusterOperatorStatusCondition, now time.Time) {
	c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	if known := findClusterCondition(*list, c.Type); known != nil {
		if known.Status == c.Status {
			c.LastTransitionTime = known.LastTransitionTime
		}
		*known = c
		return
	}
	*list = append(*list, c)
}

// componentPart reads a component of the control plane; version is the one it must have.
func componentPart(c *hyperv1.ControlPlaneComponent, version, namespace string) part {
	p := part{name: c.Name, available: configv1.ConditionTrue, object: configv1.ObjectReference{Resource: "namespaces", Name: namespace}}
	available := apimeta.FindStatusCondition(c.Status.Conditions, hyperv1.ControlPlaneComponentAvailable)
	rollout := apimeta.FindStatusCondition(c.Status.Conditions, hyperv1.ControlPlaneComponentRolloutComplete)
	if available == nil || available.Status != metav1.ConditionTrue {
		p.available, p.lacking = configv1.ConditionFalse, c.Name+" is not available"
		if available != nil && available.Message != "" {
			p.lacking += ": " + available.Message
		}
	}
	p.current = version != "" && c.Status.Version == version && rollout != nil && rollout.Status == metav1.ConditionTrue
	if !p.current && p.lacking == "" {
		p.lacking = fmt.Sprintf("%s moves to %s", c.Name, version)
		if rollout != nil && rollout.Message != "" {
			p.lacking += ": " + rollout.Message
		}
	}
	return p
}

// workloadPart compares a workload of the guest with what it should be; live is nil when it does not exist.
func workloadPart(desired, live client.Object, nodes int) part {
	p := part{name: desired.GetName(), available: configv1.ConditionFalse}
	p.object = configv1.ObjectReference{Group: appsv1.GroupName, Resource: resourceOf(desired), Namespace: desired.GetNamespace(), Name: desired.GetName()}
	counts, ok := countsOf(live)
	if !ok {
		p.lacking = p.name + " does not exist"
		return p
	}
	rightImages := slices.Equal(imagesOf(desired), imagesOf(live))
	p.current = rightImages && counts.observed && counts.updated >= counts.wanted && counts.available >= counts.wanted
	switch {
	case nodes == 0:
		// Nothing of it can run, and nothing has to: the next node gets the right version.
		p.available, p.current = configv1.ConditionUnknown, rightImages
		p.lacking = p.name + " has no worker node to run on"
		return p
	case counts.wanted > 0 && counts.available == 0:
		p.lacking = p.name + " has no available pod"
		return p
	}
	p.available = configv1.ConditionTrue
	if !p.current {
		p.lacking = fmt.Sprintf("%s: %d of %d pods are updated, %d available", p.name, counts.updated, counts.wanted, counts.available)
	}
	return p
}

type podCounts struct {
	wanted, updated, available int32
	observed                   bool
}

func countsOf(live client.Object) (podCounts, bool) {
	switch w := live.(type) {
	case *appsv1.DaemonSet:
		s := w.Status
		return podCounts{s.DesiredNumberScheduled, s.UpdatedNumberScheduled, s.NumberAvailable, s.ObservedGeneration >= w.Generation}, w.Name != ""
	case *appsv1.Deployment:
		s := w.Status
		return podCounts{ptr.Deref(w.Spec.Replicas, 1), s.UpdatedReplicas, s.AvailableReplicas, s.ObservedGeneration >= w.Generation}, w.Name != ""
	}
	return podCounts{}, false
}

func resourceOf(obj client.Object) string {
	if _, ok := obj.(*appsv1.DaemonSet); ok {
		return "daemonsets"
	}
	return "deployments"
}

// imagesOf lists the images of a workload in the order of its containers.
func imagesOf(obj client.Object) []string {
	var spec corev1.PodSpec
	switch w := obj.(type) {
	case *appsv1.DaemonSet:
		spec = w.Spec.Template.Spec
	case *appsv1.Deployment:
		spec = w.Spec.Template.Spec
	}
	var out []string
	for _, c := range append(slices.Clone(spec.InitContainers), spec.Containers...) {
		out = append(out, c.Image)
	}
	return out
}

// networkNotes are what ClusterOperator `network` says beside what its workloads do.
func networkNotes(facts *inside.Facts, _ []corev1.Node) []configv1.ClusterOperatorStatusCondition {
	if !facts.RunsFlannel() {
		return nil
	}
	return []configv1.ClusterOperatorStatusCondition{{
		Type: policiesEnforced, Status: configv1.ConditionFalse, Reason: policiesIgnored, Message: configuration.PolicyNoticeMessage,
	}}
}

// oldestKubelet is how many minor versions a kubelet may be older than its API server: https://kubernetes.io/releases/version-skew-policy/.
const oldestKubelet = 3

// kubeletNotes stand against the next minor version while a kubelet is as old as it may be. A node whose version cannot be read is left out.
func kubeletNotes(facts *inside.Facts, nodes []corev1.Node) []configv1.ClusterOperatorStatusCondition {
	server, err := version.ParseGeneric(facts.KubernetesVersion)
	if err != nil {
		return nil
	}
	var old []string
	for i := range nodes {
		kubelet, err := version.ParseGeneric(nodes[i].Status.NodeInfo.KubeletVersion)
		if err == nil && kubelet.Major() == server.Major() && kubelet.Minor()+oldestKubelet <= server.Minor() {
			old = append(old, fmt.Sprintf("%s (%s)", nodes[i].Name, nodes[i].Status.NodeInfo.KubeletVersion))
		}
	}
	if len(old) == 0 {
		return nil
	}
	slices.Sort(old)
	more := ""
	if left := len(old) - namedNodes; left > 0 {
		old, more = old[:namedNodes], fmt.Sprintf(" and %d more", left)
	}
	return []configv1.ClusterOperatorStatusCondition{{
		Type: configv1.OperatorUpgradeable, Status: configv1.ConditionFalse, Reason: "KubeletMinorVersionUnsupportedNextUpgrade",
		Message: fmt.Sprintf("Kubelets would be too old for the next minor version, since the API server has %s: upgrade the node pools of %s%s first",
			facts.KubernetesVersion, strings.Join(old, ", "), more),
	}}
}

// namedNodes is how many nodes a message names.
const namedNodes = 5

const (
	// policiesEnforced is the condition of ClusterOperator `network` that tells whether NetworkPolicies have an effect.
	policiesEnforced configv1.ClusterStatusConditionType = "NetworkPoliciesEnforced"
	// policiesIgnored is its reason where they have none.
	policiesIgnored = "NotSupportedByNetwork"
)
