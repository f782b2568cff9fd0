package kube

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

func content(value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}, Data: map[string]string{"k": value}}
}

// TestKeeper: drift is put right, by the process that knows how the object was left; what is as it was left costs no write. A step is one look.
func TestKeeper(t *testing.T) {
	var writes atomic.Int64
	c := fake.NewClientBuilder().WithInterceptorFuncs(kubetest.CountWrites(&writes)).Build()
	edit := func(change func(*corev1.ConfigMap)) func() {
		return func() {
			live := &corev1.ConfigMap{}
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "a"}, live); err != nil {
				t.Fatal(err)
			}
			change(live)
			if err := c.Update(t.Context(), live); err != nil {
				t.Fatal(err)
			}
			writes.Add(-1)
		}
	}
	k := &Keeper{}
	for _, step := range []struct {
		what   string
		before func()
		value  string
		want   int64
		then   string
	}{
		{"made", nil, "1", 1, "1"},
		{"as it was left", nil, "1", 1, "1"},
		{"changed by hand", edit(func(cm *corev1.ConfigMap) { cm.Data["k"] = "mine" }), "1", 2, "1"},
		{"at rest again", nil, "1", 2, "1"},
		{"another state is wanted", nil, "2", 3, "2"},
		{"a restart that trusts, after a change by hand", func() { edit(func(cm *corev1.ConfigMap) { cm.Data["k"] = "mine" })(); k = &Keeper{Trust: true} },
			"2", 3, "mine"},
		{"a restart that does not trust", func() { k = &Keeper{} }, "2", 4, "2"},
		{"a restart that trusts, with another state", func() { k = &Keeper{Trust: true} }, "3", 5, "3"},
		{"forgotten, of another namespace", func() { k.Forget("n"); k.Forget("nss") }, "3", 5, "3"},
		{"forgotten", func() { k.Trust = false; k.Forget("ns") }, "3", 6, "3"},
		{"deleted by hand", func() {
			if err := c.Delete(t.Context(), content("")); err != nil {
				t.Fatal(err)
			}
			writes.Add(-1)
		}, "3", 7, "3"},
	} {
		if step.before != nil {
			step.before()
		}
		if err := k.Apply(t.Context(), c, "test", content(step.value)); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		live := &corev1.ConfigMap{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "a"}, live); err != nil || live.Data["k"] != step.then || writes.Load() != step.want {
			t.Errorf("%s: %q after %d writes, want %q after %d; %v", step.what, live.Data["k"], writes.Load(), step.then, step.want, err)
		}
	}
}

// TestKeeperLeavesWhatIsGoing: an object that is being deleted is made anew when it is gone, not before.
func TestKeeperLeavesWhatIsGoing(t *testing.T) {
	var writes atomic.Int64
	going := content("1")
	going.Finalizers, going.DeletionTimestamp = []string{"example.com/held"}, &metav1.Time{Time: metav1.Now().Time}
	c := fake.NewClientBuilder().WithObjects(going).WithInterceptorFuncs(kubetest.CountWrites(&writes)).Build()
	if err := new(Keeper).Apply(t.Context(), c, "test", content("2")); err != nil || writes.Load() != 0 {
		t.Errorf("%d writes, %v", writes.Load(), err)
	}
}

// TestFingerprint: the status and the rollouts of a workload are no drift, its specification, labels and owners are.
func TestFingerprint(t *testing.T) {
	object := func(change func(*metav1.ObjectMeta)) string {
		m := metav1.ObjectMeta{UID: "u", Generation: 3, ResourceVersion: "7", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}}
		change(&m)
		return fingerprint(&corev1.Pod{ObjectMeta: m})
	}
	as := object(func(*metav1.ObjectMeta) {})
	for name, c := range map[string]struct {
		change func(*metav1.ObjectMeta)
		same   bool
	}{
		"a status":                            {func(m *metav1.ObjectMeta) { m.ResourceVersion = "8" }, true},
		"a rollout":                           {func(m *metav1.ObjectMeta) { m.Annotations[revisionAnnotation] = "2" }, true},
		"a specification":                     {func(m *metav1.ObjectMeta) { m.Generation = 4 }, false},
		"a label":                             {func(m *metav1.ObjectMeta) { m.Labels["a"] = "c" }, false},
		"an annotation":                       {func(m *metav1.ObjectMeta) { m.Annotations["c"] = "e" }, false},
		"an owner":                            {func(m *metav1.ObjectMeta) { m.OwnerReferences = []metav1.OwnerReference{{UID: "x"}} }, false},
		"another object":                      {func(m *metav1.ObjectMeta) { m.UID = "v" }, false},
		"a kind without generations, changed": {func(m *metav1.ObjectMeta) { m.Generation, m.ResourceVersion = 0, "8" }, false},
	} {
		if got := object(c.change); (got == as) != c.same {
			t.Errorf("%s: %s and %s", name, as, got)
		}
	}
}

// TestApplyStops at the first that fails: what depends on it is not written.
func TestApplyStops(t *testing.T) {
	for name, apply := range map[string]func(client.Client, ...client.Object) error{
		"Apply":       func(c client.Client, o ...client.Object) error { return Apply(t.Context(), c, "test", o...) },
		"ApplyAlways": func(c client.Client, o ...client.Object) error { return ApplyAlways(t.Context(), c, "test", o...) },
		"Keeper": func(c client.Client, o ...client.Object) error {
			return new(Keeper).Apply(t.Context(), c, "test", o...)
		},
		"no Keeper": func(c client.Client, o ...client.Object) error {
			return (*Keeper)(nil).Apply(t.Context(), c, "test", o...)
		},
	} {
		c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
			Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
				return errors.New("quota")
			},
		}).Build()
		err := apply(c, content("1"), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b"}})
		if err == nil || err.Error() != `applying ConfigMap "a" in namespace "ns": quota` {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Apply(t.Context(), fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build(), "test", content("1")); err == nil ||
		!strings.Contains(err.Error(), "finding the kind of *v1.ConfigMap") {
		t.Errorf("%v", err)
	}
}

// TestUnreadIsNotApplied: without an answer nothing is overwritten.
func TestUnreadIsNotApplied(t *testing.T) {
	var writes atomic.Int64
	funcs := kubetest.CountWrites(&writes)
	funcs.Get = func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errors.New("no answer")
	}
	c := fake.NewClientBuilder().WithInterceptorFuncs(funcs).Build()
	if err := errors.Join(Apply(t.Context(), c, "test", content("1")), new(Keeper).Apply(t.Context(), c, "test", content("1"))); err == nil ||
		writes.Load() != 0 {
		t.Errorf("%d writes, %v", writes.Load(), err)
	}
}

// TestFinalizersOfOthers: adding or taking off ours never drops what another has written meanwhile.
func TestFinalizersOfOthers(t *testing.T) {
	const ours = "example.com/ours"
	var writes atomic.Int64
	c := fake.NewClientBuilder().WithObjects(content("1")).WithInterceptorFuncs(kubetest.CountWrites(&writes)).Build()
	read := func() *corev1.ConfigMap {
		live := &corev1.ConfigMap{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "a"}, live); err != nil {
			t.Fatal(err)
		}
		return live
	}
	stale, another := read(), read()
	if err := AddFinalizer(t.Context(), c, another, "example.com/theirs"); err != nil {
		t.Fatal(err)
	}
	if err := AddFinalizer(t.Context(), c, stale, ours); !apierrors.IsConflict(err) {
		t.Errorf("an old list is written: %v", err)
	}
	fresh := read()
	if err := errors.Join(AddFinalizer(t.Context(), c, fresh, ours), AddFinalizer(t.Context(), c, fresh, ours)); err != nil || len(read().Finalizers) != 2 {
		t.Errorf("%v, %v", read().Finalizers, err)
	}
	before := writes.Load()
	if err := errors.Join(RemoveFinalizer(t.Context(), c, fresh, ours), RemoveFinalizer(t.Context(), c, fresh, ours)); err != nil || writes.Load() != before+1 {
		t.Errorf("%d writes, %v", writes.Load()-before, err)
	}
	if left := read().Finalizers; len(left) != 1 || left[0] != "example.com/theirs" {
		t.Errorf("%v", left)
	}
	gone := content("")
	gone.Name, gone.Finalizers, gone.ResourceVersion = "gone", []string{ours}, "1"
	if err := RemoveFinalizer(t.Context(), c, gone, ours); err != nil {
		t.Errorf("of an object that is gone: %v", err)
	}
}

// TestDeleteIfExists: what is gone, or of a kind that there is not, is deleted; all else that fails is told.
func TestDeleteIfExists(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"gone":          {apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "a"), ""},
		"no such kind":  {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Route"}}, ""},
		"not allowed":   {apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("no")), `deleting ConfigMap "a" in namespace "ns"`},
		"another one's": {apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("uid")), "deleting ConfigMap"},
	} {
		fakes := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
			Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return c.err },
		}).Build()
		if err := DeleteIfExists(t.Context(), fakes, content("")); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnstructuredIsNotChanged: who applies an object may apply it again; nulls are not claimed, and a status is not written.
func TestUnstructuredIsNotChanged(t *testing.T) {
	given := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a",
		"namespace": "ns", "uid": "u"},
		"status": map[string]any{"x": "y"}, "list": []any{map[string]any{"a": nil, "b": "c"}}}}
	made, err := ToApply(fake.NewClientBuilder().Build().Scheme(), given)
	if err != nil {
		t.Fatal(err)
	}
	if _, has := made.Object["list"].([]any)[0].(map[string]any)["a"]; has || made.Object["status"] != nil || made.GetUID() != "" {
		t.Errorf("%v", made.Object)
	}
	if given.Object["status"] == nil || given.GetUID() != "u" || len(given.Object["list"].([]any)[0].(map[string]any)) != 2 {
		t.Errorf("what was given is now %v", given.Object)
	}
}

// TestSetCutsMessages: a message of any length fits, and only a change of the status moves the time.
func TestSetCutsMessages(t *testing.T) {
	var conditions []metav1.Condition
	set := Conditions(&conditions, 3)
	set.SetSince(metav1.Unix(100, 0), "T", metav1.ConditionFalse, "R", "a")
	set.False("T", "R2", strings.Repeat("x", 2*MessageLimit))
	if c := Find(conditions, "T"); c.LastTransitionTime.Unix() != 100 || len(c.Message) > MessageLimit || c.Reason != "R2" || c.ObservedGeneration != 3 {
		t.Errorf("%d bytes, %v", len(c.Message), c.LastTransitionTime)
	}
	set.Unknown("T", "R3", "")
	if c := Find(conditions, "T"); c.LastTransitionTime.Unix() == 100 || IsTrue(conditions, "T") {
		t.Errorf("%+v", c)
	}
	if set.Remove("T"); Find(conditions, "T") != nil || IsTrue(conditions, "T") {
		t.Errorf("%+v", conditions)
	}
}
