package component

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func render(image string) Component {
	pods := corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "main", Image: image}}}}
	return Component{Name: "render", Runs: Once, Objects: func(*Context) ([]client.Object, error) {
		return []client.Object{&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "render"}, Spec: batchv1.JobSpec{Template: pods}}}, nil
	}}
}

// A Job is the component's while it has the pods that are wanted; with others it goes, and the next pass makes it.
func TestJobIsMadeAnewForOtherPods(t *testing.T) {
	ctx := testContext(t)
	pass := func(c Component) Result {
		t.Helper()
		result, err := Reconcile(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	job := func() *batchv1.Job {
		t.Helper()
		live, err := liveWorkload(ctx, Component{Name: "render", Runs: Once})
		if err != nil {
			t.Fatal(err)
		}
		j, _ := live.(*batchv1.Job)
		return j
	}
	if result := pass(render("quay.io/x@sha256:1")); result.Ready() {
		t.Error("a Job that has not completed is ready")
	}
	first := job()
	if spec := first.Spec.Template.Spec; spec.RestartPolicy != corev1.RestartPolicyNever || !*spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("the Job's pods are %+v", spec)
	}
	first.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	if err := ctx.Client.Status().Update(ctx, first); err != nil {
		t.Fatal(err)
	}
	if result := pass(render("quay.io/x@sha256:1")); !result.Ready() || job() == nil {
		t.Errorf("a Job that has completed: %+v", result)
	}
	if result := pass(render("quay.io/x@sha256:2")); result.Ready() || job() != nil {
		t.Errorf("the former Job is there, and the result %+v", result)
	}
	pass(render("quay.io/x@sha256:2"))
	if j := job(); j == nil || j.Spec.Template.Spec.Containers[0].Image != "quay.io/x@sha256:2" {
		t.Errorf("the new Job is %+v", j)
	}
}

// A Job that has failed says so, with what Kubernetes says of it.
func TestFailedJobSaysSo(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "render"}, Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{
		{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded", Message: "Job has reached the specified backoff limit"}}}}
	available, rollout := JobConditions(job)
	for _, c := range []metav1.Condition{available, rollout} {
		if c.Status != metav1.ConditionFalse || c.Reason != "BackoffLimitExceeded" ||
			c.Message != "Job render has failed and is not tried again, look at the logs of its pods: Job has reached the specified backoff limit" {
			t.Errorf("%+v", c)
		}
	}
}

// A CronJob is there as soon as it is made.
func TestScheduledWorkload(t *testing.T) {
	ctx := testContext(t)
	c := Component{Name: "nightly", Runs: Scheduled, Objects: func(*Context) ([]client.Object, error) {
		return []client.Object{&batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "nightly"}}}, nil
	}}
	result, err := Reconcile(ctx, c)
	if err != nil || !result.Ready() {
		t.Fatalf("%+v, %v", result, err)
	}
	live, err := liveWorkload(ctx, c)
	if err != nil || live == nil || live.(*batchv1.CronJob).Spec.JobTemplate.Spec.Template.Spec.ServiceAccountName != "nightly" {
		t.Errorf("%+v, %v", live, err)
	}
}
