package status

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// observeBackup tells where the newest successful backup of etcd lies. It looks where the control plane tells of backups only: elsewhere
// the kind is not served. What was told stays when the HCPEtcdBackup is gone, since its snapshot is not.
func observeBackup(ctx context.Context, c *cluster.Cluster) error {
	if kube.Find(c.Hosted.Status.Conditions, hyperv1.EtcdBackupSucceeded) == nil {
		return nil
	}
	list := &hyperv1.HCPEtcdBackupList{}
	if err := c.Client.List(ctx, list, client.InNamespace(c.Namespace)); meta.IsNoMatchError(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("list the backups of etcd: %w", err)
	}
	var newest time.Time
	for i := range list.Items {
		done := kube.Find(list.Items[i].Status.Conditions, hyperv1.BackupCompleted)
		if done != nil && done.Status == metav1.ConditionTrue && done.LastTransitionTime.After(newest) {
			newest, c.Hosted.Status.LastSuccessfulEtcdBackupURL = done.LastTransitionTime.Time, list.Items[i].Status.SnapshotURL
		}
	}
	return nil
}
