package backups

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cronspec"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/pause"
)

const (
	// scheduledLabel is on the backups that a schedule made.
	scheduledLabel = "hypershift.openshift.io/backup-scheduled"
	dueFormat      = "20060102-150405"
)

// Scheduler makes an HCPEtcdBackup whenever annotation etcd-backup-schedule of a control plane says so.
type Scheduler struct {
	Client client.Client
	Now    func() time.Time
}

// Setup registers the controller, where HCPEtcdBackup is served.
func (s *Scheduler) Setup(manager ctrl.Manager) error {
	served, err := Served(manager.GetRESTMapper())
	if err != nil || !served {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).Named("hcpetcdbackup-schedule").For(&hyperv1.HostedControlPlane{}).
		Watches(&hyperv1.HCPEtcdBackup{}, handler.EnqueueRequestsFromMapFunc(s.planes)).Complete(s)
	if err != nil {
		return fmt.Errorf("set up the controller of the schedules of backups: %w", err)
	}
	return nil
}

// planes are the control planes that a backup is of.
func (s *Scheduler) planes(ctx context.Context, backup client.Object) []reconcile.Request {
	list := &hyperv1.HostedControlPlaneList{}
	if err := s.Client.List(ctx, list, client.InNamespace(backup.GetNamespace())); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// Reconcile makes the backup that is due, one however many were missed, and comes back for the next. Storage and identity are those of the
// newest backup that succeeded, else of the newest: without one nothing is made, of which Tell tells.
func (s *Scheduler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	hcp := &hyperv1.HostedControlPlane{}
	if err := s.Client.Get(ctx, request.NamespacedName, hcp); err != nil || !hcp.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if paused, left, _ := pause.Read(hcp.Spec.PausedUntil, s.Now()); paused {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	schedule, err := cronspec.Parse(hcp.Annotations[hyperv1.EtcdBackupScheduleAnnotation])
	if err != nil {
		return ctrl.Result{}, nil //nolint:nilerr // none is asked for, or ValidHostedClusterConfiguration tells what is wrong with it
	}
	list := &hyperv1.HCPEtcdBackupList{}
	if err := s.Client.List(ctx, list, client.InNamespace(hcp.Namespace)); err != nil {
		return ctrl.Result{}, fmt.Errorf("list the backups: %w", err)
	}
	model, since := precedent(list.Items)
	if model == nil {
		return ctrl.Result{}, nil
	}
	if due, ok := schedule.Due(since, s.Now()); ok {
		if err := s.make(ctx, hcp, model, due); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: max(schedule.Next(s.Now()).Sub(s.Now()), time.Second)}, nil
}

// precedent is the backup whose storage is used again, nil where there is none, and the time from which the schedule counts: that of the
// newest scheduled backup, else of the newest.
func precedent(backups []hyperv1.HCPEtcdBackup) (model *hyperv1.HCPEtcdBackup, since time.Time) {
	if len(backups) == 0 {
		return nil, since
	}
	sorted := slices.Clone(backups)
	slices.SortFunc(sorted, newestFirst)
	model, since = &sorted[0], sorted[0].CreationTimestamp.Time
	if i := slices.IndexFunc(sorted, func(b hyperv1.HCPEtcdBackup) bool { return Succeeded(&b) }); i >= 0 {
		model = &sorted[i]
	}
	if i := slices.IndexFunc(sorted, scheduled); i >= 0 {
		since = sorted[i].CreationTimestamp.Time
	}
	return model, since
}

func scheduled(b hyperv1.HCPEtcdBackup) bool { return b.Labels[scheduledLabel] != "" }

// make asks for the backup of one time. Its name is that time's, so that it is asked for once.
func (s *Scheduler) make(ctx context.Context, hcp *hyperv1.HostedControlPlane, model *hyperv1.HCPEtcdBackup, due time.Time) error {
	backup := &hyperv1.HCPEtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Name: hcp.Name + "-" + due.UTC().Format(dueFormat), Namespace: hcp.Namespace, Labels: map[string]string{scheduledLabel: "true"}},
		Spec:       *model.Spec.DeepCopy(),
	}
	if err := s.Client.Create(ctx, backup); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return fmt.Errorf("make the scheduled %s: %w", kube.Describe(backup), err)
	}
	ctrl.LoggerFrom(ctx).Info("a backup of etcd is due", "backup", backup.Name, "storage", model.Name)
	return nil
}
