package monitors

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
)

// What was available once stays monitored while it is not.
func TestMonitoredOnceAvailable(t *testing.T) {
	hcp := planetest.Plane()
	if beenAvailable(hcp) {
		t.Error("a new control plane counts as available")
	}
	hcp.Status.VersionStatus = &hyperv1.ClusterVersionStatus{History: []hyperv1.UpdateHistory{{State: hyperv1.PartialUpdate}, {State: hyperv1.CompletedUpdate}}}
	meta.SetStatusCondition(&hcp.Status.Conditions, metav1.Condition{Type: hyperv1.ClusterVersionAvailable, Status: metav1.ConditionFalse, Reason: "Down"})
	if !beenAvailable(hcp) {
		t.Error("a control plane whose version was rolled out once counts as never available")
	}
}
