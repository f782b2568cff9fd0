package observed

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/hypershift-on-azure/hypershift/internal/ignition/machinereport"
)

// Stages of a machine on its way to a node that Cluster API tells. Between the second and the last are those that the machine itself tells
// (package machinereport).
const (
	StageRequested = "VirtualMachineRequested"
	StageCreated   = "VirtualMachineCreated"
	StageJoined    = "Joined"
)

// StageOf is how far a machine is, and since when; empty for one that is a node that is ready, or on its way out.
func StageOf(m capiv1.Machine, report machinereport.Report) (string, time.Time) {
	conditions := m.Status.Conditions
	infrastructure := meta.FindStatusCondition(conditions, InfrastructureReady)
	node := meta.FindStatusCondition(conditions, NodeReady)
	switch {
	case m.DeletionTimestamp != nil || node != nil && node.Status == metav1.ConditionTrue:
		return "", time.Time{}
	case m.Status.NodeRef.Name != "" && node != nil:
		return StageJoined, node.LastTransitionTime.Time
	case report.Stage != "":
		return report.Stage, report.Since
	case infrastructure != nil && infrastructure.Status == metav1.ConditionTrue:
		return StageCreated, infrastructure.LastTransitionTime.Time
	}
	return StageRequested, m.CreationTimestamp.Time
}
