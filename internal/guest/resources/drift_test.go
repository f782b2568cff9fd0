package resources

import (
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/hypershift-on-azure/hypershift/internal/guest/addons"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

// TestFingerprintOfAGuestsObject: what others write into an object is no drift only where they are to write, and a status is none.
func TestFingerprintOfAGuestsObject(t *testing.T) {
	object := func(name string, uid types.UID, generation int64, version string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: inside.KubeSystem, Name: name, UID: uid, Generation: generation,
			ResourceVersion: version}}
	}
	for name, c := range map[string]struct {
		a, b client.Object
		same bool
	}{
		"a ConfigMap is changed":     {object("a", "u", 0, "1"), object("a", "u", 0, "2"), false},
		"a status is changed":        {object("a", "u", 3, "1"), object("a", "u", 3, "2"), true},
		"a specification is changed": {object("a", "u", 3, "1"), object("a", "u", 4, "1"), false},
		"nodes note what they reach": {object(addons.ConnectionCheck, "u", 0, "1"), object(addons.ConnectionCheck, "u", 0, "2"), true},
		"it is made anew":            {object(addons.ConnectionCheck, "u", 0, "1"), object(addons.ConnectionCheck, "v", 0, "2"), false},
	} {
		if (fingerprint(c.a) == fingerprint(c.b)) != c.same {
			t.Errorf("%s: %s, %s", name, fingerprint(c.a), fingerprint(c.b))
		}
	}
	for name, want := range map[string]bool{"a": true, addons.ConnectionCheck: false} {
		if got := notWrittenByOthers.Update(event.UpdateEvent{ObjectOld: object(name, "u", 0, "1"), ObjectNew: object(name, "u", 0, "2")}); got != want {
			t.Errorf("a change of %s starts a pass: %t", name, got)
		}
	}
}

// TestAppliedByUs: Kubernetes copies labels of a Service to its endpoints, and users copy objects; neither makes them this operator's to delete.
func TestAppliedByUs(t *testing.T) {
	for name, c := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   bool
	}{
		"applied":            {[]metav1.ManagedFieldsEntry{{Manager: "x"}, {Manager: inside.FieldManager, Operation: metav1.ManagedFieldsOperationApply}}, true},
		"updated by us only": {[]metav1.ManagedFieldsEntry{{Manager: inside.FieldManager, Operation: metav1.ManagedFieldsOperationUpdate}}, false},
		"applied by another": {[]metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply}}, false},
		"by nobody":          {nil, false},
	} {
		if got := appliedByUs(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ManagedFields: c.fields}}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestEnsure: an object is applied once, again when somebody has changed or deleted it, and when another state is wanted.
func TestEnsure(t *testing.T) {
	var writes atomic.Int64
	guest := fake.NewClientBuilder().WithInterceptorFuncs(kubetest.CountWrites(&writes)).Build()
	r := &reconciler{guest: guest, applied: map[string]applied{}}
	wanted := func(value string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}, Data: map[string]string{"k": value}}
	}
	live := &corev1.ConfigMap{}
	for _, step := range []struct {
		change func() error
		value  string
		writes int64
	}{
		{nil, "1", 1}, {nil, "1", 1}, {nil, "2", 2},
		{func() error { live.Data["k"] = "mine"; return guest.Update(t.Context(), live) }, "2", 4},
		{func() error { return guest.Delete(t.Context(), live) }, "2", 6},
		{nil, "2", 6},
	} {
		if step.change != nil {
			if err := step.change(); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.ensure(t.Context(), wanted(step.value)); err != nil {
			t.Fatal(err)
		}
		live = &corev1.ConfigMap{}
		if err := guest.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "a"}, live); err != nil || live.Data["k"] != step.value ||
			writes.Load() != step.writes {
			t.Errorf("%q after %d writes, want %q after %d; %v", live.Data["k"], writes.Load(), step.value, step.writes, err)
		}
	}
}
