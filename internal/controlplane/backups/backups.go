// Package backups is the controller of HCPEtcdBackup: each one becomes a Job that keeps one snapshot of etcd in Azure blob storage.
package backups

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	// lookAgain is for what no event tells of.
	lookAgain = 10 * time.Second
)

// Reconciler makes the backups of the control planes of one namespace.
type Reconciler struct {
	Client client.Client
	// Live reads past the cache: whether another backup runs is not a question for what was true a moment ago.
	Live     client.Reader
	Settings component.Settings
	// Keep is how many successful HCPEtcdBackups stay; the oldest go first. What lies in the storage stays anyway.
	Keep int
	Now  func() time.Time
}

// Served tells whether the management cluster has the kind, which is a technology preview.
func Served(mapper meta.RESTMapper) (bool, error) {
	kind := hyperv1.GroupVersion.WithKind("HCPEtcdBackup")
	_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the API of backups: %w", err)
	}
	return true, nil
}

// Setup registers the controller, where the kind is served.
func (r *Reconciler) Setup(manager ctrl.Manager) error {
	served, err := Served(manager.GetRESTMapper())
	if err != nil || !served {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).Named("hcpetcdbackup").For(&hyperv1.HCPEtcdBackup{}).Owns(&batchv1.Job{}).Complete(r)
	if err != nil {
		return fmt.Errorf("set up the HCPEtcdBackup controller: %w", err)
	}
	return nil
}

// outcome is what one look at a backup finds. Its zero value keeps what the object says.
type outcome struct {
	reason, message string
	result          contract.BackupResult
	again           time.Duration
}

func failed(format string, values ...any) outcome {
	return outcome{reason: hyperv1.BackupFailedReason, message: fmt.Sprintf(format, values...)}
}

// Reconcile looks at one backup:
//
//  1. one that has ended stays as it is; of those that succeeded, the oldest beyond Keep go;
//  2. its own Job decides, once there is one;
//  3. what can never be done fails, with the reason; another backup that runs rejects it;
//  4. it waits for an etcd all of whose members are ready;
//  5. then its Job begins.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	backup := &hyperv1.HCPEtcdBackup{}
	if err := r.Client.Get(ctx, request.NamespacedName, backup); err != nil || !backup.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if Ended(backup) {
		return ctrl.Result{}, errors.Join(r.forgetAssertion(ctx, backup), r.retain(ctx, backup.Namespace))
	}
	found, err := r.look(ctx, backup)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: found.again}, r.tell(ctx, backup, found)
}

// Ended tells whether nothing becomes of the backup any more.
func Ended(backup *hyperv1.HCPEtcdBackup) bool {
	done := kube.Find(backup.Status.Conditions, hyperv1.BackupCompleted)
	return done != nil && (done.Status == metav1.ConditionTrue || done.Reason == hyperv1.BackupFailedReason || done.Reason == hyperv1.BackupRejectedReason)
}

// Succeeded tells whether the backup has its snapshot.
func Succeeded(backup *hyperv1.HCPEtcdBackup) bool {
	return kube.IsTrue(backup.Status.Conditions, hyperv1.BackupCompleted)
}

func (r *Reconciler) tell(ctx context.Context, backup *hyperv1.HCPEtcdBackup, found outcome) error {
	before := backup.DeepCopy()
	status := metav1.ConditionFalse
	if found.reason == hyperv1.BackupSucceededReason {
		status, backup.Status.SnapshotURL = metav1.ConditionTrue, found.result.URL
	}
	kube.Conditions(&backup.Status.Conditions, backup.Generation).Set(hyperv1.BackupCompleted, status, found.reason, found.message)
	if equality.Semantic.DeepEqual(before.Status, backup.Status) {
		return nil
	}
	if err := r.Client.Status().Update(ctx, backup); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status of %s: %w", kube.Describe(backup), err)
	}
	return nil
}

func (r *Reconciler) look(ctx context.Context, backup *hyperv1.HCPEtcdBackup) (outcome, error) {
	jobs := &batchv1.JobList{}
	if err := r.Live.List(ctx, jobs, client.InNamespace(backup.Namespace), client.MatchingLabels{component.LabelApp: contract.EtcdBackup}); err != nil {
		return outcome{}, fmt.Errorf("list the Jobs of backups: %w", err)
	}
	own := slices.IndexFunc(jobs.Items, func(j batchv1.Job) bool { return metav1.IsControlledBy(&j, backup) })
	if own >= 0 {
		return r.follow(ctx, &jobs.Items[own])
	}
	if began := kube.Find(backup.Status.Conditions, hyperv1.BackupCompleted); began != nil && began.Reason == hyperv1.BackupInProgressReason {
		return failed("its Job is gone and has said nothing: it was deleted"), nil
	}
	running := slices.IndexFunc(jobs.Items, func(j batchv1.Job) bool { return j.DeletionTimestamp.IsZero() && ending(&j) == nil })
	plan, refused, err := r.plan(ctx, backup)
	switch {
	case err != nil:
		return outcome{}, err
	case refused != "":
		return failed("%s", refused), nil
	case running >= 0:
		return outcome{reason: hyperv1.BackupRejectedReason, message: "Job " + jobs.Items[running].Name + " saves the same etcd; make another HCPEtcdBackup when it has ended"}, nil
	}
	if waits, err := r.etcdWaits(ctx, backup.Namespace); err != nil || waits != "" {
		return outcome{reason: hyperv1.BackupEtcdUnhealthyReason, message: waits, again: lookAgain}, err
	}
	return r.begin(ctx, backup, plan)
}

// ending is how the Job ended; nil while it runs.
func ending(job *batchv1.Job) *batchv1.JobCondition {
	for i, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			return &job.Status.Conditions[i]
		}
	}
	return nil
}

// follow tells what became of the backup's own Job, in the words of its pod.
func (r *Reconciler) follow(ctx context.Context, job *batchv1.Job) (outcome, error) {
	pods := &corev1.PodList{}
	if err := r.Live.List(ctx, pods, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name}); err != nil {
		return outcome{}, fmt.Errorf("list the pods of Job %s: %w", job.Name, err)
	}
	end := ending(job)
	switch {
	case end == nil:
		return outcome{reason: hyperv1.BackupInProgressReason, again: lookAgain,
			message: strings.TrimSuffix("Job "+job.Name+" runs: "+component.PodTrouble(pods.Items, r.Now(), jobDeadline), ": ")}, nil
	case end.Type == batchv1.JobFailed:
		words := lastWords(pods.Items)
		if words == "" {
			words = end.Message
		}
		return failed("%s", words), nil
	}
	result := contract.BackupResult{}
	words := lastWords(pods.Items)
	if err := json.Unmarshal([]byte(words), &result); err != nil || result.URL == "" {
		return failed("Job %s succeeded and does not say where the snapshot lies: %q", job.Name, words), nil
	}
	return outcome{reason: hyperv1.BackupSucceededReason, result: result,
		message: fmt.Sprintf("%d keys, up to revision %d, are kept in %d bytes with SHA-256 %s", result.Keys, result.Revision, result.Bytes, result.SHA256)}, nil
}

// lastWords are the termination message of the newest pod.
func lastWords(pods []corev1.Pod) string {
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	for _, pod := range pods {
		for _, container := range pod.Status.ContainerStatuses {
			if ended := container.State.Terminated; ended != nil && ended.Message != "" {
				return ended.Message
			}
		}
	}
	return ""
}

// retain deletes the oldest successful backups beyond those that stay. What failed stays, for people; of those that a schedule made, as
// many as of the successful.
func (r *Reconciler) retain(ctx context.Context, namespace string) error {
	list := &hyperv1.HCPEtcdBackupList{}
	if err := r.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list the backups: %w", err)
	}
	slices.SortFunc(list.Items, newestFirst)
	var errs []error
	good, bad := 0, 0
	for i := range list.Items {
		backup := &list.Items[i]
		var before int
		switch {
		case !backup.DeletionTimestamp.IsZero() || !Ended(backup):
			continue
		case Succeeded(backup):
			before, good = good, good+1
		case scheduled(*backup):
			before, bad = bad, bad+1
		}
		if before >= r.Keep {
			errs = append(errs, kube.DeleteIfExists(ctx, r.Client, backup, client.PropagationPolicy(metav1.DeletePropagationBackground)))
		}
	}
	return errors.Join(errs...)
}

// newestFirst: the API server's clock counts seconds, so names decide between those of one.
func newestFirst(a, b hyperv1.HCPEtcdBackup) int {
	return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(b.Name, a.Name))
}

// Tell repeats in the control plane's conditions what became of the newest backup that began; schedule is what annotation
// etcd-backup-schedule says, "" where backups are asked for one by one.
func Tell(list []hyperv1.HCPEtcdBackup, schedule string, set kube.ConditionSetter) {
	if schedule != "" && len(list) == 0 {
		set.False(hyperv1.EtcdBackupSucceeded, hyperv1.BackupFailedReason, "annotation "+hyperv1.EtcdBackupScheduleAnnotation+
			" asks for backups, and there is none yet whose storage they could use: make the first with hypershift backup create")
		return
	}
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, newestFirst)
	for i := range sorted {
		done := kube.Find(sorted[i].Status.Conditions, hyperv1.BackupCompleted)
		if done == nil || done.Reason == hyperv1.BackupRejectedReason || done.Reason == hyperv1.BackupEtcdUnhealthyReason {
			continue
		}
		message := "HCPEtcdBackup " + sorted[i].Name + ": " + done.Message
		if Succeeded(&sorted[i]) {
			message += ", in " + sorted[i].Status.SnapshotURL
		}
		set.Set(hyperv1.EtcdBackupSucceeded, done.Status, done.Reason, message)
		return
	}
	set.Remove(hyperv1.EtcdBackupSucceeded)
}
