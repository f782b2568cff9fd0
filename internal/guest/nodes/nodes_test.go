package nodes

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
)

func TestAdjustNode(t *testing.T) {
	node := &corev1.Node{}
	node.Labels = map[string]string{"kubernetes.io/os": "linux"}
	node.Spec.Taints = []corev1.Taint{{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}}
	machine := guesttest.MachineWith(map[string]string{"managed.hypershift.openshift.io.example.com/tier": "gold", "other": "x"},
		`[{"key":"dedicated","value":"gpu","effect":"NoSchedule"}]`)
	if err := adjust(node, machine); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"example.com/tier": "gold", hyperv1.NodePoolLabel: "np", workerRole: "", "kubernetes.io/os": "linux"} {
		if got, ok := node.Labels[key]; !ok || got != want {
			t.Errorf("label %s = %q, %v", key, got, ok)
		}
	}
	if _, leaked := node.Labels["other"]; leaked {
		t.Error("a label of the machine that is not the pool's reached the node")
	}
	if len(node.Spec.Taints) != 2 || node.Spec.Taints[1].Value != "gpu" {
		t.Errorf("taints = %v", node.Spec.Taints)
	}
	again := node.DeepCopy()
	if err := adjust(again, machine); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(again.Spec.Taints, node.Spec.Taints) || len(again.Labels) != len(node.Labels) {
		t.Error("a second pass changed the node")
	}
	if err := adjust(node, guesttest.MachineWith(nil, "")); err != nil {
		t.Fatal(err)
	}
	if _, kept := node.Labels["example.com/tier"]; kept || len(node.Spec.Taints) != 1 {
		t.Errorf("dropped label or taint stayed: %v %v", node.Labels, node.Spec.Taints)
	}
}

// Somebody who takes a pool's taint off a node changes neither label nor annotation.
func TestTaintsStartAPassHeartbeatsDoNot(t *testing.T) {
	tainted := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}}}
	beating := tainted.DeepCopy()
	beating.ResourceVersion = "2"
	beating.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for name, test := range map[string]struct {
		now  *corev1.Node
		want bool
	}{"heartbeat": {beating, false}, "taint taken away": {&corev1.Node{}, true}} {
		if got := taintsChanged.Update(event.UpdateEvent{ObjectOld: tainted, ObjectNew: test.now}); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
