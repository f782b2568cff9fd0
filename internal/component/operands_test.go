package component

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// A component with operands has rolled out when they run the payload's image, everywhere.
func TestRolloutWaitsForOperands(t *testing.T) {
	ctx := testContext(t)
	ctx.Images["driver"] = "quay.io/driver@sha256:2"
	c := thing()
	c.Operands = func(*Context) []Operand { return []Operand{{"controller", "csi", "driver"}} }
	if _, err := Reconcile(ctx, c); err != nil {
		t.Fatal(err)
	}
	live, err := liveWorkload(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	status := appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}}}
	own := live.(*appsv1.Deployment)
	own.Status = status
	if err := ctx.Client.Status().Update(ctx, own); err != nil {
		t.Fatal(err)
	}
	operand := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "controller", Namespace: "clusters-demo"}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1)}}
	steps := []struct {
		change func() error
		want   string
	}{
		{func() error { return nil }, "Deployment controller is not there yet"},
		{func() error {
			operand.Spec.Template.Spec.Containers = []corev1.Container{{Name: "csi", Image: "quay.io/driver@sha256:1"}}
			return ctx.Client.Create(ctx, operand)
		}, "container csi of Deployment controller does not run the payload's driver yet"},
		{func() error {
			operand.Spec.Template.Spec.Containers[0].Image = ctx.Images["driver"]
			return ctx.Client.Update(ctx, operand)
		}, "0 of 1 replicas of controller"},
		{func() error { operand.Status = status; return ctx.Client.Status().Update(ctx, operand) }, ""},
	}
	for _, step := range steps {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		result, err := Reconcile(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		waits := result.Rollout.Status != metav1.ConditionTrue && result.Rollout.Reason == "WaitingForOperands"
		if waits != (step.want != "") || !strings.Contains(result.Rollout.Message, step.want) || result.Available.Status != metav1.ConditionTrue {
			t.Errorf("want %q: %+v", step.want, result)
		}
	}
}
