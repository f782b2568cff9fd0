package status

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// The status tells where the newest backup that succeeded lies, and goes on telling it when the object is gone.
func TestNewestBackupIsTold(t *testing.T) {
	at := time.Unix(1000, 0)
	backup := func(name string, status metav1.ConditionStatus, minutes int) client.Object {
		b := &hyperv1.HCPEtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: name}}
		b.Status.SnapshotURL = "https://account/" + name
		b.Status.Conditions = []metav1.Condition{{Type: hyperv1.BackupCompleted, Status: status, LastTransitionTime: metav1.NewTime(at.Add(time.Duration(minutes) * time.Minute))}}
		return b
	}
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}}
	c := hostedclustertest.At(hc)
	c.Client = surveytest.Client(backup("old", metav1.ConditionTrue, 1), backup("new", metav1.ConditionTrue, 2), backup("failed", metav1.ConditionFalse, 3)).Build()
	tell := func(want string) {
		t.Helper()
		if err := observeBackup(t.Context(), c); err != nil || hc.Status.LastSuccessfulEtcdBackupURL != want {
			t.Errorf("it tells %q, %v; want %q", hc.Status.LastSuccessfulEtcdBackupURL, err, want)
		}
	}
	tell("")
	kube.Conditions(&hc.Status.Conditions, 1).True(hyperv1.EtcdBackupSucceeded, hyperv1.BackupSucceededReason, "")
	tell("https://account/new")
	c.Client = surveytest.Client().Build()
	tell("https://account/new")
}
