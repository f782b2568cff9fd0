package hostedcluster

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/metrics"
)

// TestAvailabilityIsRemembered: metrics tell a cluster that was never available from one that is not any more.
func TestAvailabilityIsRemembered(t *testing.T) {
	f := newFixture(t, "remembered")
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())
	f.reconcile(t)
	if metrics.HasBeenAvailable(f.get(t)) {
		t.Error("available before the control plane reports")
	}
	f.playControlPlane(t)
	f.reconcile(t)
	f.reconcile(t)
	if value := f.get(t).Annotations[hyperv1.HasBeenAvailableAnnotation]; value != "true" {
		t.Errorf("annotation %q after Available", value)
	}
	hcp := f.controlPlane(t)
	meta.SetStatusCondition(&hcp.Status.Conditions, metav1.Condition{Type: hyperv1.HostedControlPlaneAvailable, Status: metav1.ConditionFalse, Reason: "Outage"})
	if err := f.client.Status().Update(t.Context(), hcp); err != nil {
		t.Fatal(err)
	}
	f.reconcile(t)
	if hc := f.get(t); !metrics.HasBeenAvailable(hc) || meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.HostedClusterAvailable) {
		t.Errorf("after an outage: annotations %v", hc.Annotations)
	}
}
