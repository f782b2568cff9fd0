package status

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/etcd"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// TestTroubleIsTold: what a container of etcd said when it ended reaches the conditions that people look at, and the signature of the
// backup's address reaches none.
func TestTroubleIsTold(t *testing.T) {
	hcp := planetest.Plane()
	hcp.Spec.Etcd.Managed = &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{
		RestoreSnapshotURL: []string{"https://store.example/backups/demo.db?sig=secret"}}}
	const said = "pod etcd-0 container restore-snapshot ends with 1 (Error): ask store.example for the snapshot /backups/demo.db: 403 Forbidden"
	s := &Status{HCP: hcp, trouble: map[string]string{etcd.Name: said}, Results: component.Results{
		{Name: etcd.Name, Available: metav1.Condition{Type: hyperv1.ControlPlaneComponentAvailable, Status: metav1.ConditionFalse,
			Reason: hyperv1.WaitingForAvailableReason, Message: "0 of 1 replicas of etcd are ready, 1 needed"}}}}
	set := kube.Conditions(&hcp.Status.Conditions, 1)
	s.setEtcd(set)
	s.setRestored(set)
	for _, kind := range []string{hyperv1.EtcdAvailable, hyperv1.HostedClusterRestoredFromBackup} {
		c := kube.Find(hcp.Status.Conditions, kind)
		if c.Status != metav1.ConditionFalse || !strings.HasSuffix(c.Message, said) || strings.Contains(c.Message, "secret") {
			t.Errorf("%+v", c)
		}
	}
}
