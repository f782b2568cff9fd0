package nodepool

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/observed"
)

// Limits of a joined condition.
const (
	maxReasons       = 1024
	maxReasonMessage = 1000
	maxMessage       = 3000
)

// Limits of what Nodes say about their versions.
const (
	maxVersion      = 64
	maxVersions     = 100
	maxVersionBytes = 16 << 10
)

const (
	// noWordReason is Cluster API's own, where the provider has told nothing about a machine.
	noWordReason = "NotReady"
	// reasonUnknownSize is how Azure's provider calls a size of virtual machines that the location does not have, and nothing else.
	reasonUnknownSize = "InvalidConfiguration"
	machineFailed     = "Failed"
)

// problem is why one machine is not as it should be.
type problem struct{ machine, reason, message string }

// machinesReady names what keeps each machine, with Azure's own words where its provider has none.
func (r *Reconciler) machinesReady(ctx context.Context, p *pass) error {
	cause, err := r.azuresCause(ctx, p)
	p.aggregate(hyperv1.NodePoolAllMachinesReady, "ready", func(m capiv1.Machine) *problem {
		if cause.isOf(m) {
			return &problem{m.Name, cause.reason, cause.message}
		}
		return p.withReport(m, readinessProblem(m))
	})
	p.cause = cause
	return err
}

// aggregate tells of all machines at once. Fewer of them than wanted are not all, however well they are.
func (p *pass) aggregate(condition, adjective string, check func(capiv1.Machine) *problem) {
	if len(p.machines) == 0 {
		switch scaled := p.np.Spec.AutoScaling != nil; {
		case !scaled && ptr.Deref(p.np.Spec.Replicas, 0) == 0:
			p.set(condition, corev1.ConditionFalse, hyperv1.AsExpectedReason, "NodePool set to no replicas")
		case scaled && p.maker != nil && p.wanted() == 0:
			p.set(condition, corev1.ConditionFalse, hyperv1.AsExpectedReason, "the autoscaler keeps no machines")
		default:
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
	if missing := p.wanted() - len(p.machines); missing > 0 && len(problems) == 0 {
		p.set(condition, corev1.ConditionFalse, hyperv1.NotFoundReason, fmt.Sprintf("%d of %d Machines are created", len(p.machines), p.wanted()))
		return
	}
	if len(problems) == 0 {
		p.set(condition, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
		return
	}
	reasons, details := join(problems)
	p.set(condition, corev1.ConditionFalse, reasons, kube.Cut(
		fmt.Sprintf("%d of %d machines are not %s\n%s", len(problems), len(p.machines), adjective, details), maxMessage, "... message truncated"))
}

// wanted is how many machines Cluster API is to keep.
func (p *pass) wanted() int {
	if p.maker == nil {
		return 0
	}
	return int(ptr.Deref(p.maker.Spec.Replicas, 0))
}

// readinessProblem prefers the infrastructure's word: there a missing role or quota shows. Where it has none, a failure that no retry mends
// says more, and so does what holds up a deletion.
func readinessProblem(m capiv1.Machine) *problem {
	conditions, failure := m.Status.Conditions, observed.FailureOf(m)
	ready := meta.FindStatusCondition(conditions, observed.Ready)
	if ready != nil && ready.Status == metav1.ConditionTrue {
		return nil
	}
	infrastructure := meta.FindStatusCondition(conditions, observed.InfrastructureReady)
	if infrastructure != nil && infrastructure.Status == metav1.ConditionTrue {
		infrastructure = nil
	}
	deleting := meta.FindStatusCondition(conditions, observed.Deleting)
	switch {
	case infrastructure != nil && infrastructure.Reason != noWordReason && (m.DeletionTimestamp == nil || infrastructure.Message != ""):
		return &problem{m.Name, infrastructure.Reason, infrastructure.Message}
	case failure.Message != "":
		return failureProblem(m.Name, failure)
	case m.DeletionTimestamp != nil && deleting != nil:
		return &problem{m.Name, deleting.Reason, deleting.Message}
	case ready == nil:
		return &problem{m.Name, hyperv1.WaitingForInfrastructureReason, ""}
	case infrastructure != nil:
		return &problem{m.Name, infrastructure.Reason, infrastructure.Message}
	}
	return &problem{m.Name, ready.Reason, ready.Message}
}

func failureProblem(name string, failure observed.Failure) *problem {
	message := failure.Message
	if failure.Reason == reasonUnknownSize {
		message = "set spec.platform.azure.vmSize to a size that the location has: " + message
	}
	return &problem{name, cmp.Or(failure.Reason, machineFailed), message}
}

func healthProblem(m capiv1.Machine) *problem {
	healthy := meta.FindStatusCondition(m.Status.Conditions, observed.NodeHealthy)
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
		details.WriteString(kube.Cut(strings.Join(byReason[reason], "\n")+"\n", maxReasonMessage, "... too many similar errors\n"))
	}
	return kube.Cut(strings.Join(reasons, ","), maxReasons, hyperv1.ReasonsTruncatedSuffix), details.String()
}

// releaseOf is the version that a machine was made with. Its annotation tells the pool's: Cluster API copies that onto former machines too.
// A machine that was changed in place is of what it was changed to, which who did that writes there: to such machines nobody copies.
func releaseOf(np *hyperv1.NodePool, m capiv1.Machine) string {
	if told := m.Annotations[hyperv1.NodePoolReleaseVersionAnnotation]; told != "" && observed.UpdatedInPlace(np) {
		return told
	}
	return strings.TrimPrefix(m.Spec.Version, "v")
}

// nodesInfo counts nodes by version, which the Nodes tell themselves.
func nodesInfo(np *hyperv1.NodePool, machines []capiv1.Machine) *hyperv1.NodesInfo {
	type key struct{ release, kubelet string }
	ready, unready := map[key]int32{}, map[key]int32{}
	keys := map[key]bool{}
	for _, m := range machines {
		if m.Status.NodeInfo == nil {
			continue
		}
		version := key{releaseOf(np, m), kube.Shorten(m.Status.NodeInfo.KubeletVersion, maxVersion)}
		keys[version] = true
		if meta.IsStatusConditionTrue(m.Status.Conditions, observed.NodeReady) {
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
	info.NodeVersions = kube.Fit(info.NodeVersions, maxVersions, maxVersionBytes)
	return info
}
