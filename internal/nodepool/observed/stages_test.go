package observed

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/hypershift-on-azure/hypershift/internal/ignition/machinereport"
)

// Every stage is told with its time, by whoever knows it: Cluster API, then the machine, then Cluster API again.
func TestStagesOfMachines(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(minute int) time.Time { return now.Add(time.Duration(minute) * time.Minute) }
	condition := func(name string, status metav1.ConditionStatus, minute int) metav1.Condition {
		return metav1.Condition{Type: name, Status: status, LastTransitionTime: metav1.NewTime(at(minute))}
	}
	infrastructure := condition(InfrastructureReady, metav1.ConditionTrue, 1)
	for name, test := range map[string]struct {
		conditions []metav1.Condition
		node       string
		report     machinereport.Report
		stage      string
		since      time.Time
	}{
		"made":                       {stage: StageRequested, since: at(0)},
		"Azure makes it":             {conditions: []metav1.Condition{condition(InfrastructureReady, metav1.ConditionFalse, 1)}, stage: StageRequested, since: at(0)},
		"Azure has made it":          {conditions: []metav1.Condition{infrastructure}, stage: StageCreated, since: at(1)},
		"it speaks":                  {conditions: []metav1.Condition{infrastructure}, report: machinereport.Report{Stage: machinereport.StageBooted, Since: at(2)}, stage: machinereport.StageBooted, since: at(2)},
		"it has no stage":            {conditions: []metav1.Condition{infrastructure}, report: machinereport.Report{Text: "x"}, stage: StageCreated, since: at(1)},
		"it is a node":               {conditions: []metav1.Condition{infrastructure, condition(NodeReady, metav1.ConditionFalse, 3)}, node: "n", report: machinereport.Report{Stage: machinereport.StageBooted, Since: at(2)}, stage: StageJoined, since: at(3)},
		"it is a node that is ready": {conditions: []metav1.Condition{infrastructure, condition(NodeReady, metav1.ConditionTrue, 3)}, node: "n"},
	} {
		m := capiv1.Machine{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now)}}
		m.Status.Conditions, m.Status.NodeRef.Name = test.conditions, test.node
		if stage, since := StageOf(m, test.report); stage != test.stage || !since.Equal(test.since) {
			t.Errorf("%s: %s since %s, want %s since %s", name, stage, since, test.stage, test.since)
		}
	}
}
