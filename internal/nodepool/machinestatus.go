package nodepool

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// Limits of a joined condition.
const (
	maxReasons       = 1024
	maxReasonMessage = 1000
	maxMessage       = 3000
)

// Conditions of a Machine.
const (
	machineReady          = "Ready"
	machineInfrastructure = "InfrastructureReady"
	machineNodeHealthy    = "NodeHealthy"
	machineNodeReady      = "NodeReady"
)

// problem is why one machine is not as it should be.
type problem struct{ machine, reason, message string }

func (r *Reconciler) machinesReady(_ context.Context, p *pass) (outcome, error) {
	p.aggregate(hyperv1.NodePoolAllMachinesReady, "ready", readinessProblem)
	return next, nil
}

func (r *Reconciler) nodesHealthy(_ context.Context, p *pass) (outcome, error) {
	p.aggregate(hyperv1.NodePoolAllNodesHealthy, "healthy", healthProblem)
	return next, nil
}

func (p *pass) aggregate(condition, adjective string, check func(machine) *problem) {
	if len(p.machines) == 0 {
		if p.np.Spec.AutoScaling == nil && ptr.Deref(p.np.Spec.Replicas, 0) == 0 {
			p.set(condition, corev1.ConditionFalse, hyperv1.AsExpectedReason, "NodePool set to no replicas")
		} else {
			p.set(condition, corev1.ConditionFalse, hyperv1.NotFoundReason, "No Machines are created")
		}
		return
	}
	var problems []problem
	for _, m := range p.machines {
		if found := check(m); found != nil {
			problems = append(problems, *found)
		}
	}
	if len(problems) == 0 {
		p.set(condition, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
		return
	}
	reasons, details := join(problems)
	p.set(condition, corev1.ConditionFalse, reasons, cut(
		fmt.Sprintf("%d of %d machines are not %s\n%s", len(problems), len(p.machines), adjective, details), maxMessage, "... message truncated"))
}

// readinessProblem prefers the infrastructure's word: there a missing role or quota shows.
func readinessProblem(m machine) *problem {
	ready := meta.FindStatusCondition(m.Status.Conditions, machineReady)
	if ready == nil {
		return &problem{m.Name, hyperv1.WaitingForInfrastructureReason, ""}
	}
	if ready.Status == metav1.ConditionTrue {
		return nil
	}
	if infrastructure := meta.FindStatusCondition(m.Status.Conditions, machineInfrastructure); infrastructure != nil && infrastructure.Status != metav1.ConditionTrue {
		return &problem{m.Name, infrastructure.Reason, infrastructure.Message}
	}
	return &problem{m.Name, ready.Reason, ready.Message}
}

func healthProblem(m machine) *problem {
	healthy := meta.FindStatusCondition(m.Status.Conditions, machineNodeHealthy)
	switch {
	case healthy == nil:
		return &problem{m.Name, hyperv1.WaitingForNodeRefReason, ""}
	case healthy.Status == metav1.ConditionTrue:
		return nil
	}
	return &problem{m.Name, healthy.Reason, healthy.Message}
}

// join returns the set of reasons and one line per machine, grouped by reason.
func join(problems []problem) (string, string) {
	byReason := map[string][]string{}
	slices.SortFunc(problems, func(a, b problem) int { return strings.Compare(a.machine, b.machine) })
	for _, found := range problems {
		line := fmt.Sprintf("Machine %s: %s", found.machine, found.reason)
		if found.message != "" {
			line += ": " + found.message
		}
		byReason[found.reason] = append(byReason[found.reason], line)
	}
	reasons := slices.Sorted(maps.Keys(byReason))
	var details strings.Builder
	for _, reason := range reasons {
		details.WriteString(cut(strings.Join(byReason[reason], "\n")+"\n", maxReasonMessage, "... too many similar errors\n"))
	}
	return cut(strings.Join(reasons, ","), maxReasons, hyperv1.ReasonsTruncatedSuffix), details.String()
}

func cut(text string, limit int, mark string) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(mark)], "") + mark
}

// nodesInfo counts nodes by version.
func nodesInfo(machines []machine) *hyperv1.NodesInfo {
	type key struct{ release, kubelet string }
	ready, unready := map[key]int32{}, map[key]int32{}
	keys := map[key]bool{}
	for _, m := range machines {
		if m.Status.NodeInfo == nil {
			continue
		}
		version := key{strings.TrimPrefix(m.Annotations[hyperv1.NodePoolReleaseVersionAnnotation], "v"), m.Status.NodeInfo.KubeletVersion}
		keys[version] = true
		if meta.IsStatusConditionTrue(m.Status.Conditions, machineNodeReady) {
			ready[version]++
		} else {
			unready[version]++
		}
	}
	if len(keys) == 0 {
		return nil
	}
	sorted := slices.SortedFunc(maps.Keys(keys), func(a, b key) int {
		return strings.Compare(a.release+" "+a.kubelet, b.release+" "+b.kubelet)
	})
	info := &hyperv1.NodesInfo{}
	for _, version := range sorted {
		info.NodeVersions = append(info.NodeVersions, hyperv1.NodeVersion{
			OCPVersion: version.release, KubeletVersion: version.kubelet,
			ReadyNodeCount: ptr.To(ready[version]), UnreadyNodeCount: ptr.To(unready[version]),
		})
	}
	return info
}
