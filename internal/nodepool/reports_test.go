package nodepool

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
)

// tokenSecret is that of the pool's target.
func (w *world) tokenSecret(t *testing.T) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	name := "token-demo-" + w.pool(t).Annotations[hyperv1.NodePoolTargetConfigVersionAnnotation]
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: cpns, Name: name}, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

// What a machine says of itself is told until it is a node; what machines say that the pool does not have is removed.
func TestReportsOfMachinesAreTold(t *testing.T) {
	w := running(t)
	machine := w.object(t, clusterapi.Machine, "demo-0")
	if err := unstructured.SetNestedField(machine.Object, "demo-vm-0", "spec", "infrastructureRef", "name"); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Update(t.Context(), machine); err != nil {
		t.Fatal(err)
	}
	w.says(t, "demo-0", conditionOf("Ready", "False", "NotReady"), conditionOf("InfrastructureReady", "True", "Ready"), conditionOf("NodeHealthy", "Unknown", "NodeDoesNotExist"))
	secret := w.tokenSecret(t)
	secret.Data["report.demo-vm-0"] = []byte("node-trust.service is failed: no certificate" + strings.Repeat(" x", 4000))
	secret.Data["stage.demo-vm-0"] = []byte("KubeletStarted 2026-01-02T03:09:05Z")
	secret.Data["report.demo-vm-1"] = []byte("I am well")
	secret.Data["report.nobody"] = []byte("hello")
	if err := w.client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{hyperv1.NodePoolAllMachinesReady, hyperv1.NodePoolAllNodesHealthy} {
		c := condition(w.pool(t), name)
		if !strings.Contains(c.Message, "stage KubeletStarted since 2026-01-02T03:09:05Z; the machine says: node-trust") {
			t.Errorf("%s: %q", name, c.Message)
		}
		if c.Status != corev1.ConditionFalse || !strings.Contains(c.Message, "the machine says: node-trust.service is failed: no certificate") || len(c.Message) > 800 {
			t.Errorf("%s, %d bytes: %q", name, len(c.Message), c.Message)
		}
	}
	if left := ignition.Reports(w.tokenSecret(t)); len(left) != 1 || left["demo-vm-0"].Text == "" {
		t.Errorf("reports that are kept: %d", len(left))
	}
	w.says(t, "demo-0", conditionOf("Ready", "True", "Ready"), conditionOf("NodeHealthy", "True", "NodeHealthy"))
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	w.shows(t, hyperv1.NodePoolAllNodesHealthy, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
	if left := ignition.Reports(w.tokenSecret(t)); len(left) > 0 {
		t.Errorf("a node's report is kept: %v", left)
	}
}

// Every stage is told with its time, by whoever knows it: Cluster API, then the machine, then Cluster API again.
func TestStagesOfMachines(t *testing.T) {
	at := func(minute int) time.Time { return now.Add(time.Duration(minute) * time.Minute) }
	condition := func(name string, status metav1.ConditionStatus, minute int) metav1.Condition {
		return metav1.Condition{Type: name, Status: status, LastTransitionTime: metav1.NewTime(at(minute))}
	}
	infrastructure := condition(machineInfrastructure, metav1.ConditionTrue, 1)
	for name, test := range map[string]struct {
		conditions []metav1.Condition
		node       string
		report     ignition.Report
		stage      string
		since      time.Time
	}{
		"made":                       {stage: stageRequested, since: at(0)},
		"Azure makes it":             {conditions: []metav1.Condition{condition(machineInfrastructure, metav1.ConditionFalse, 1)}, stage: stageRequested, since: at(0)},
		"Azure has made it":          {conditions: []metav1.Condition{infrastructure}, stage: stageCreated, since: at(1)},
		"it speaks":                  {conditions: []metav1.Condition{infrastructure}, report: ignition.Report{Stage: ignition.StageBooted, Since: at(2)}, stage: ignition.StageBooted, since: at(2)},
		"it has no stage":            {conditions: []metav1.Condition{infrastructure}, report: ignition.Report{Text: "x"}, stage: stageCreated, since: at(1)},
		"it is a node":               {conditions: []metav1.Condition{infrastructure, condition(machineNodeReady, metav1.ConditionFalse, 3)}, node: "n", report: ignition.Report{Stage: ignition.StageBooted, Since: at(2)}, stage: stageJoined, since: at(3)},
		"it is a node that is ready": {conditions: []metav1.Condition{infrastructure, condition(machineNodeReady, metav1.ConditionTrue, 3)}, node: "n"},
	} {
		m := capiv1.Machine{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now)}}
		m.Status.Conditions, m.Status.NodeRef.Name = test.conditions, test.node
		if stage, since := stageOf(m, test.report); stage != test.stage || !since.Equal(test.since) {
			t.Errorf("%s: %s since %s, want %s since %s", name, stage, since, test.stage, test.since)
		}
	}
}
