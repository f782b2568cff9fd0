package kube

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestApplyWritesOnlyChanges(t *testing.T) {
	ctx := context.Background()
	writes := 0
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			writes++
			return c.Apply(ctx, obj, opts...)
		},
	}).Build()
	cm := func(value string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}, Data: map[string]string{"k": value}}
	}
	for i, step := range []struct {
		value  string
		writes int
	}{{"1", 1}, {"1", 1}, {"2", 2}} {
		if err := Apply(ctx, c, "test", cm(step.value)); err != nil {
			t.Fatal(err)
		}
		if writes != step.writes {
			t.Errorf("step %d: %d writes, want %d", i, writes, step.writes)
		}
	}
	var live corev1.ConfigMap
	if err := c.Get(ctx, client.ObjectKey{Namespace: "ns", Name: "a"}, &live); err != nil || live.Data["k"] != "2" {
		t.Errorf("live %v, %v", live.Data, err)
	}
	if err := ApplyAlways(ctx, c, "test", cm("2")); err != nil || writes != 3 {
		t.Errorf("ApplyAlways: %d writes, %v", writes, err)
	}
}

func TestTwoManagersOfOneObjectComeToRest(t *testing.T) {
	ctx := context.Background()
	writes := 0
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			writes++
			return c.Apply(ctx, obj, opts...)
		},
	}).Build()
	for range 3 {
		for _, manager := range []string{"one", "two"} {
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}, Data: map[string]string{manager: "1"}}
			if err := Apply(ctx, c, manager, cm); err != nil {
				t.Fatal(err)
			}
		}
	}
	if writes != 2 {
		t.Errorf("%d writes, want one of each manager", writes)
	}
}

func TestToApplyLeavesOutWhatTheServerOwns(t *testing.T) {
	u, err := ToApply(fake.NewClientBuilder().Build().Scheme(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "1", UID: "u", CreationTimestamp: metav1.Now()},
		Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := u.Object["status"]; ok {
		t.Error("status is applied")
	}
	if m := u.Object["metadata"].(map[string]any); len(m) != 1 || m["name"] != "n" {
		t.Errorf("metadata %v", m)
	}
}

func TestConditionCopyOfMissing(t *testing.T) {
	var conditions []metav1.Condition
	set := Conditions(&conditions, 7)
	set.Copy(nil, "Available", "StatusUnknown", "not reported yet")
	got := Find(conditions, "Available")
	if got == nil || got.Status != metav1.ConditionUnknown || got.ObservedGeneration != 7 {
		t.Errorf("got %+v", got)
	}
	set.Copy([]metav1.Condition{{Type: "Available", Status: metav1.ConditionTrue, Reason: "R"}}, "Available", "x", "")
	if !IsTrue(conditions, "Available") {
		t.Error("the other object's condition was not taken over")
	}
}
