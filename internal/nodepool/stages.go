package nodepool

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/hypershift-on-azure/hypershift/internal/ignition"
)

// Stages of a machine on its way to a node that Cluster API tells. Between the second and the last are those that the machine itself tells
// (package ignition).
const (
	stageRequested = "VirtualMachineRequested"
	stageCreated   = "VirtualMachineCreated"
	stageJoined    = "Joined"
)

// stageOf is how far a machine is, and since when; empty for one that is a node that is ready, or on its way out.
func stageOf(m capiv1.Machine, report ignition.Report) (string, time.Time) {
	conditions := m.Status.Conditions
	infrastructure := meta.FindStatusCondition(conditions, machineInfrastructure)
	node := meta.FindStatusCondition(conditions, machineNodeReady)
	switch {
	case m.DeletionTimestamp != nil || node != nil && node.Status == metav1.ConditionTrue:
		return "", time.Time{}
	case m.Status.NodeRef.Name != "" && node != nil:
		return stageJoined, node.LastTransitionTime.Time
	case report.Stage != "":
		return report.Stage, report.Since
	case infrastructure != nil && infrastructure.Status == metav1.ConditionTrue:
		return stageCreated, infrastructure.LastTransitionTime.Time
	}
	return stageRequested, m.CreationTimestamp.Time
}
