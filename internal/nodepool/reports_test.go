package nodepool

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/ignition/machinereport"
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
	if left := machinereport.Of(w.tokenSecret(t)); len(left) != 1 || left["demo-vm-0"].Text == "" {
		t.Errorf("reports that are kept: %d", len(left))
	}
	w.says(t, "demo-0", conditionOf("Ready", "True", "Ready"), conditionOf("NodeHealthy", "True", "NodeHealthy"))
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	w.shows(t, hyperv1.NodePoolAllNodesHealthy, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
	if left := machinereport.Of(w.tokenSecret(t)); len(left) > 0 {
		t.Errorf("a node's report is kept: %v", left)
	}
}
