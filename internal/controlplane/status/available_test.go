package status

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// TestAvailableWhileUpgraded: components that wait for their turn in an upgrade make a control plane unavailable only before all of them were there once,
// also when its API server was away in between.
func TestAvailableWhileUpgraded(t *testing.T) {
	for name, c := range map[string]struct {
		history []hyperv1.ControlPlaneUpdateHistory
		want    metav1.ConditionStatus
	}{
		"first rollout":    {[]hyperv1.ControlPlaneUpdateHistory{{State: hyperv1.PartialUpdate}}, metav1.ConditionFalse},
		"upgrade":          {[]hyperv1.ControlPlaneUpdateHistory{{State: hyperv1.PartialUpdate}, {State: hyperv1.CompletedUpdate}}, metav1.ConditionTrue},
		"nothing is known": {nil, metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			hcp := planetest.Plane()
			hcp.Status.KubeConfig = &hyperv1.KubeconfigSecretRef{Name: "admin-kubeconfig", Key: "kubeconfig"}
			hcp.Status.ControlPlaneVersion = &hyperv1.ControlPlaneVersionStatus{History: c.history}
			set := kube.Conditions(&hcp.Status.Conditions, 1)
			set.False(hyperv1.HostedControlPlaneAvailable, hyperv1.WaitingForAvailableReason, "the API server was away")
			for _, needed := range []string{hyperv1.InfrastructureReady, hyperv1.EtcdAvailable, hyperv1.KubeAPIServerAvailable} {
				set.True(needed, hyperv1.AsExpectedReason, "")
			}
			waits := component.Result{Name: "kube-scheduler", Available: metav1.Condition{Status: metav1.ConditionFalse, Reason: hyperv1.WaitingForDependenciesReason}}
			s := &Status{HCP: hcp, Results: component.Results{waits}, Reachable: true}
			s.setAvailable(set, nil)
			if got := kube.Find(hcp.Status.Conditions, hyperv1.HostedControlPlaneAvailable); got.Status != c.want {
				t.Errorf("%+v", got)
			}
		})
	}
}
