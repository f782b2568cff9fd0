package backups

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// TestScheduler: a backup is made when one is due, once, with the storage of the newest that succeeded; without one it is told of.
func TestScheduler(t *testing.T) {
	f := newFixture(t)
	now := time.Now()
	s := &Scheduler{Client: f.client, Now: func() time.Time { return now }}
	reconcile := func(wantAgain time.Duration, want ...string) {
		t.Helper()
		result, err := s.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(f.hcp)})
		if err != nil {
			t.Fatal(err)
		}
		if result.RequeueAfter != wantAgain {
			t.Errorf("it looks again in %s, want %s", result.RequeueAfter, wantAgain)
		}
		list := &hyperv1.HCPEtcdBackupList{}
		if err := f.client.List(t.Context(), list, client.MatchingLabels{scheduledLabel: "true"}); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, b := range list.Items {
			names = append(names, b.Name)
			if b.Spec.Storage.AzureBlob.Container != "backups" {
				t.Errorf("%s goes to container %s", b.Name, b.Spec.Storage.AzureBlob.Container)
			}
		}
		if strings.Join(names, " ") != strings.Join(want, " ") {
			t.Errorf("scheduled are %v, want %v", names, want)
		}
	}
	annotate := func(schedule string) {
		t.Helper()
		f.get(f.hcp, f.hcp.Name)
		before := f.hcp.DeepCopy()
		f.hcp.Annotations = map[string]string{hyperv1.EtcdBackupScheduleAnnotation: schedule}
		if err := f.client.Patch(t.Context(), f.hcp, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	annotate("0 * * * *")
	reconcile(0)
	set := kube.Conditions(&f.hcp.Status.Conditions, 1)
	Tell(nil, f.hcp.Annotations[hyperv1.EtcdBackupScheduleAnnotation], set)
	if told := kube.Find(f.hcp.Status.Conditions, hyperv1.EtcdBackupSucceeded); told == nil || told.Status != metav1.ConditionFalse || !strings.Contains(told.Message, "hypershift backup create") {
		t.Errorf("a schedule without a first backup: %+v", told)
	}
	f.asked("good", nil)
	f.succeeds("good")
	f.asked("wrong", func(b *hyperv1.HCPEtcdBackup) { b.Spec.Storage.AzureBlob.Container = "elsewhere" })

	// Nothing is due when a backup was just made; at the next hour one is, and once.
	newest := &hyperv1.HCPEtcdBackup{}
	f.get(newest, "wrong")
	now = newest.CreationTimestamp.Time
	next := now.UTC().Truncate(time.Hour).Add(time.Hour)
	reconcile(next.Sub(now))
	first := f.hcp.Name + "-" + next.Format(dueFormat)
	now = next.Add(time.Second)
	reconcile(time.Hour-time.Second, first)
	reconcile(time.Hour-time.Second, first)
	// Of three that were missed the last is made up for.
	now = next.Add(3*time.Hour + time.Minute)
	late := f.hcp.Name + "-" + next.Add(3*time.Hour).Format(dueFormat)
	reconcile(59*time.Minute, first, late)

	for _, nothing := range []string{"every night", ""} {
		annotate(nothing)
		now = now.Add(24 * time.Hour)
		reconcile(0, first, late)
	}
}

// TestFailedScheduledBackupsGo: as many stay as of the successful; those that a person asked for stay all.
func TestFailedScheduledBackupsGo(t *testing.T) {
	f := newFixture(t)
	f.reconciler.Keep = 1
	schedule := func(b *hyperv1.HCPEtcdBackup) { b.Labels = map[string]string{scheduledLabel: "true"} }
	for _, name := range []string{"a", "b"} {
		f.asked(name, schedule)
		f.asked("by-hand-"+name, nil)
		for _, each := range []string{name, "by-hand-" + name} {
			f.expect(each, hyperv1.BackupInProgressReason)
			f.ends(each, batchv1.JobFailed, "no")
			f.expect(each, hyperv1.BackupFailedReason)
			if err := f.client.Delete(t.Context(), f.jobOf(each), client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := f.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: f.namespace, Name: "b"}}); err != nil {
		t.Fatal(err)
	}
	list := &hyperv1.HCPEtcdBackupList{}
	if err := f.client.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range list.Items {
		names = append(names, b.Name)
	}
	if got := strings.Join(names, " "); got != "b by-hand-a by-hand-b" {
		t.Errorf("left are %s", got)
	}
}
