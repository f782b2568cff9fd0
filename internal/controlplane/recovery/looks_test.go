package recovery

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// member is a pod of etcd whose container waits for its next start after so many of them; a negative number is one that runs.
func member(name string, restarts int32) *corev1.Pod {
	status := corev1.ContainerStatus{Name: contract.Etcd, RestartCount: restarts}
	if status.State.Waiting = (&corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}); restarts < 0 {
		status.RestartCount, status.State = -restarts, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{component.LabelApp: contract.Etcd}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{status}}}
}

func jobWith(conditions ...batchv1.JobCondition) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: contract.EtcdRecovery, Namespace: namespace}, Status: batchv1.JobStatus{Conditions: conditions}}
}

func ended(kind batchv1.JobConditionType, status corev1.ConditionStatus) batchv1.JobCondition {
	return batchv1.JobCondition{Type: kind, Status: status, Message: "the Job's own words"}
}

// spoke is a pod of the Job that began some minutes ago and ended with these words.
func spoke(name, words string, minutes int) *corev1.Pod {
	state := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: words}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{batchv1.JobNameLabel: contract.EtcdRecovery},
			CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 12, minutes, 0, 0, time.UTC))},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: state}}}}
}

func members(ready int32) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: contract.Etcd, Namespace: namespace},
		Spec:   appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3)},
		Status: appsv1.StatefulSetStatus{ReadyReplicas: ready}}
}

func recoveryOf(builder *fake.ClientBuilder) *Recovery {
	hcp := planetest.Plane()
	hcp.Spec.ControllerAvailabilityPolicy, hcp.Status.Initialized, hcp.UID = hyperv1.HighlyAvailable, true, "a-uid"
	return &Recovery{Writer: component.Writer{Client: builder.Build(), HCP: hcp}, Settings: component.Settings{Image: "cpo"}}
}

// TestLooks has a row for what a pass finds: whether there is a Job afterwards, and what the condition says.
func TestLooks(t *testing.T) {
	failed, done := jobWith(ended(batchv1.JobFailed, corev1.ConditionTrue)), jobWith(ended(batchv1.JobComplete, corev1.ConditionTrue))
	failing, unfailed := jobWith(ended(batchv1.JobFailureTarget, corev1.ConditionTrue)), jobWith(ended(batchv1.JobFailed, corev1.ConditionFalse))
	well, fails := []client.Object{member("etcd-0", -1), member("etcd-2", -3)}, member("etcd-1", 4)
	for name, c := range map[string]struct {
		objects []client.Object
		job     bool
		want    string
		says    string
	}{
		"a node is away: its pod is gone": {append([]client.Object{member("etcd-1", 4)}, member("etcd-0", -1)), false, "False AsExpected", ""},
		"a member that runs again":        {append([]client.Object{member("etcd-1", -4)}, well...), false, "False AsExpected", ""},
		"a member that cannot start":      {append([]client.Object{fails}, well...), true, "True AsExpected", "etcd of etcd-1 ends again"},
		"two members": {[]client.Object{fails, member("etcd-0", 2), member("etcd-2", -1)}, true, "True AsExpected",
			"etcd of etcd-0, etcd-1 ends"},
		"the Job runs, also when nobody fails": {append([]client.Object{jobWith()}, well...), true, "True AsExpected", "Job etcd-recovery repairs etcd"},
		"the Job is about to fail":             {[]client.Object{failing}, true, "True AsExpected", "repairs etcd"},
		"the Job did not fail":                 {[]client.Object{unfailed}, true, "True AsExpected", "repairs etcd"},
		"the Job has done its work":            {[]client.Object{done, members(2)}, false, "False AsExpected", ""},
		"the Job failed, its newest pod says why": {
			[]client.Object{failed, members(2), spoke("a", "first words", 1), spoke("b", "last words", 2), spoke("c", "", 3)}, true,
			"False EtcdRecoveryJobFailed", "somebody has to look: last words"},
		"the Job failed without a word":          {[]client.Object{failed, members(2)}, true, "False EtcdRecoveryJobFailed", "look: the Job's own words"},
		"the Job failed and somebody has looked": {[]client.Object{failed, members(3)}, false, "False AsExpected", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := recoveryOf(fake.NewClientBuilder().WithObjects(c.objects...))
			if err := r.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.Tell(kube.Conditions(&r.HCP.Status.Conditions, 1))
			told := kube.Find(r.HCP.Status.Conditions, hyperv1.EtcdRecoveryActive)
			if told == nil || string(told.Status)+" "+told.Reason != c.want || !strings.Contains(told.Message, c.says) || c.says == "" && told.Message != "" {
				t.Errorf("%+v, want %s with %q", told, c.want, c.says)
			}
			err := r.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: contract.EtcdRecovery}, &batchv1.Job{})
			if client.IgnoreNotFound(err) != nil || (err == nil) != c.job {
				t.Errorf("there is a Job: %v", err)
			}
		})
	}
}

// TestAnotherEtcd: pods of another control plane are no members of this one.
func TestAnotherEtcd(t *testing.T) {
	var pods []client.Object
	for _, name := range []string{"etcd-0", "etcd-1", "etcd-2"} {
		pod := member(name, 4)
		pod.Namespace = "clusters-other"
		pods = append(pods, pod)
	}
	r := recoveryOf(fake.NewClientBuilder().WithObjects(pods...))
	if err := r.Run(t.Context()); err != nil || r.status != metav1.ConditionFalse {
		t.Errorf("%s %s, %v", r.status, r.message, err)
	}
}

// TestUnreadableEtcd: what cannot be read is told as an error, and neither begins nor ends a repair.
func TestUnreadableEtcd(t *testing.T) {
	failed := jobWith(ended(batchv1.JobFailed, corev1.ConditionTrue))
	for name, c := range map[string]struct {
		objects []client.Object
		fails   func(any) bool
	}{
		"the Job":                  {[]client.Object{failed, members(3)}, func(obj any) bool { _, is := obj.(*batchv1.Job); return is }},
		"the members":              {[]client.Object{failed, members(3)}, func(obj any) bool { _, is := obj.(*corev1.PodList); return is }},
		"the set, which is away":   {[]client.Object{failed}, func(any) bool { return false }},
		"the set, without answer":  {[]client.Object{failed, members(3)}, func(obj any) bool { _, is := obj.(*appsv1.StatefulSet); return is }},
		"what the Job's pods said": {[]client.Object{failed, members(1)}, nil},
	} {
		lists := 0
		r := recoveryOf(fake.NewClientBuilder().WithObjects(c.objects...).WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
				if c.fails != nil && c.fails(obj) {
					return errors.New("no answer")
				}
				return inner.Get(ctx, key, obj, o...)
			},
			List: func(ctx context.Context, inner client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
				if lists++; c.fails != nil && c.fails(list) || c.fails == nil && lists == 2 {
					return errors.New("no answer")
				}
				return inner.List(ctx, list, o...)
			},
		}))
		if err := r.Run(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
		jobs := &batchv1.JobList{}
		if err := r.Client.List(t.Context(), jobs); err != nil || len(jobs.Items) != 1 {
			t.Errorf("%s: %d Jobs, %v", name, len(jobs.Items), err)
		}
	}
}

// TestRightsOfTheJob: it may take away pods and claims in its control plane's namespace, and nothing else; it cannot read Secrets.
func TestRightsOfTheJob(t *testing.T) {
	r := recoveryOf(fake.NewClientBuilder())
	for _, obj := range r.access() {
		if obj.GetNamespace() != namespace {
			t.Errorf("%T %s is in namespace %q", obj, obj.GetName(), obj.GetNamespace())
		}
	}
	job, err := r.job()
	if err != nil {
		t.Fatal(err)
	}
	if owner := metav1.GetControllerOf(job); owner == nil || owner.UID != "a-uid" {
		t.Errorf("the Job outlives its control plane: %+v", job.OwnerReferences)
	}
	command := strings.Join(job.Spec.Template.Spec.Containers[0].Command, " ")
	if got := strings.Count(command, "--endpoint="); got != 3 || job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("it knows %d members: %s", got, command)
	}
}
