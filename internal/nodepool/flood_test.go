package nodepool

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/observed"
)

// TestFloodOfNodesIsToldSlowly: whoever administers a guest changes in a loop what its Nodes say of themselves.
func TestFloodOfNodesIsToldSlowly(t *testing.T) {
	w := running(t)
	writes := 0
	for i := range 100 {
		w.says(t, "demo-0", map[string]any{"type": observed.NodeHealthy, "status": "False", "reason": "NodeNotHealthy", "message": fmt.Sprint(i)})
		result, err := w.pass(t)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(w.writes, "patch status demo") {
			writes++
		} else if result.RequeueAfter == 0 || result.RequeueAfter > kube.PaceInterval {
			t.Fatalf("what was held back is looked at again after %s", result.RequeueAfter)
		}
	}
	if writes == 0 || writes > kube.PaceBurst+1 {
		t.Errorf("100 changes made %d writes", writes)
	}
	// What the user does is told at once all the same.
	np := w.pool(t)
	np.Spec.Management.UpgradeType = "Sideways"
	if err := w.client.Update(t.Context(), np); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	w.shows(t, hyperv1.NodePoolUpdateManagementEnabled, corev1.ConditionFalse, hyperv1.ValidationFailedReason, "Sideways")
}

// TestVersionsOfNodesAreBounded: each Node tells a version of its own, and a long one.
func TestVersionsOfNodesAreBounded(t *testing.T) {
	var machines []capiv1.Machine
	for i := range 150 {
		m := testMachine("x")
		m.Status.NodeInfo = &corev1.NodeSystemInfo{KubeletVersion: fmt.Sprint(i) + strings.Repeat("v", 100_000)}
		machines = append(machines, m)
	}
	versions := nodesInfo(nodePool(), machines).NodeVersions
	if len(versions) == 0 || len(versions) > maxVersions || len(versions[0].KubeletVersion) > maxVersion {
		t.Errorf("%d versions", len(versions))
	}
}
