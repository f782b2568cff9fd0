package kube

import (
	"context"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

func TestApplyWritesOnlyChanges(t *testing.T) {
	ctx := context.Background()
	var writes atomic.Int64
	c := fake.NewClientBuilder().WithInterceptorFuncs(kubetest.CountWrites(&writes)).Build()
	cm := func(value string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}, Data: map[string]string{"k": value}}
	}
	for i, step := range []struct {
		value  string
		writes int64
	}{{"1", 1}, {"1", 1}, {"2", 2}} {
		if err := Apply(ctx, c, "test", cm(step.value)); err != nil {
			t.Fatal(err)
		}
		if n := writes.Load(); n != step.writes {
			t.Errorf("step %d: %d writes, want %d", i, n, step.writes)
		}
	}
	var live corev1.ConfigMap
	if err := c.Get(ctx, client.ObjectKey{Namespace: "ns", Name: "a"}, &live); err != nil || live.Data["k"] != "2" {
		t.Errorf("live %v, %v", live.Data, err)
	}
	if err := ApplyAlways(ctx, c, "test", cm("2")); err != nil || writes.Load() != 3 {
		t.Errorf("ApplyAlways: %d writes, %v", writes.Load(), err)
	}
	if err := Apply(ctx, c, "test", cm("2")); err != nil || writes.Load() != 3 {
		t.Errorf("Apply of what ApplyAlways wrote: %d writes, %v", writes.Load(), err)
	}
}

func TestTwoManagersOfOneObjectComeToRest(t *testing.T) {
	ctx := context.Background()
	var writes atomic.Int64
	c := fake.NewClientBuilder().WithInterceptorFuncs(kubetest.CountWrites(&writes)).Build()
	for range 3 {
		for _, manager := range []string{"one", "two"} {
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}, Data: map[string]string{manager: "1"}}
			if err := Apply(ctx, c, manager, cm); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := writes.Load(); n != 2 {
		t.Errorf("%d writes, want one of each manager", n)
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

func TestDescribe(t *testing.T) {
	if got := Describe(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}); got != `Secret "a" in namespace "ns"` {
		t.Errorf("got %s", got)
	}
	if got := Describe(&corev1.Namespace{TypeMeta: metav1.TypeMeta{Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "a"}}); got != `Namespace "a"` {
		t.Errorf("got %s", got)
	}
}
