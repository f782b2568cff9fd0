package status

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/apiserver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// TestUnmanagedEtcd: the API server goes to the user's etcd, which counts as available as long as an API server is ready with it.
func TestUnmanagedEtcd(t *testing.T) {
	hcp := planetest.Plane()
	hcp.Spec.Etcd = hyperv1.EtcdSpec{ManagementType: hyperv1.Unmanaged, Unmanaged: &hyperv1.UnmanagedEtcdSpec{Endpoint: "https://etcd.example.com:2379"}}
	if args := apiserver.Args(planetest.View(hcp)); !slices.Contains(args, "--etcd-servers=https://etcd.example.com:2379") {
		t.Errorf("arguments %v", args)
	}
	for status, want := range map[metav1.ConditionStatus]metav1.ConditionStatus{
		"": metav1.ConditionUnknown, metav1.ConditionFalse: metav1.ConditionUnknown, metav1.ConditionTrue: metav1.ConditionTrue,
	} {
		setUnmanagedEtcd(kube.Conditions(&hcp.Status.Conditions, 1), metav1.Condition{Status: status, Message: "etcd refuses"})
		if got := kube.Find(hcp.Status.Conditions, hyperv1.EtcdAvailable); got.Status != want {
			t.Errorf("API server %q: %+v", status, got)
		}
	}
}
