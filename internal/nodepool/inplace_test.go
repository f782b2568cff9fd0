package nodepool

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

func inPlacePool() *hyperv1.NodePool {
	np := nodePool()
	np.Spec.Management = hyperv1.NodePoolManagement{UpgradeType: hyperv1.UpgradeTypeInPlace, InPlace: &hyperv1.InPlaceUpgrade{MaxUnavailable: ptr.To(intstr.FromString("50%"))}}
	return np
}

func TestMaxUnavailable(t *testing.T) {
	for _, test := range []struct {
		given  *intstr.IntOrString
		size   int32
		scaled bool
		want   int
	}{
		{nil, 4, false, 1},
		{ptr.To(intstr.FromInt32(3)), 4, false, 3},
		{ptr.To(intstr.FromInt32(0)), 4, false, 1},
		{ptr.To(intstr.FromString("50%")), 5, false, 2},
		{ptr.To(intstr.FromString("10%")), 5, false, 1},
		{ptr.To(intstr.FromString("50%")), 9, true, 1},
	} {
		np := inPlacePool()
		np.Spec.Management.InPlace.MaxUnavailable, np.Spec.Replicas = test.given, &test.size
		if test.scaled {
			np.Spec.AutoScaling = &hyperv1.NodePoolAutoScaling{Min: 1, Max: 9}
		}
		if got := maxUnavailable(np); got != test.want {
			t.Errorf("%v of %d (scaled: %t): %d", test.given, test.size, test.scaled, got)
		}
	}
}

// settled are the pool's machines, made of what it asks for now and as many as it wants.
func (w *world) settled(t *testing.T, annotations map[string]string) {
	t.Helper()
	set := w.object(t, clusterapi.MachineSet, "demo")
	all := set.GetAnnotations()
	maps.Copy(all, annotations)
	set.SetAnnotations(all)
	set.Object["status"] = map[string]any{"observedGeneration": set.GetGeneration(), "replicas": int64(2), "availableReplicas": int64(2)}
	if err := w.client.Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
}

func (w *world) updates(t *testing.T) []string {
	t.Helper()
	secret := &corev1.Secret{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: cpns, Name: contract.InPlaceUpdates}, secret); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(secret.Data))
}

func (w *world) mustPass(t *testing.T) *hyperv1.NodePool {
	t.Helper()
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	return w.pool(t)
}

// TestInPlace: a pool whose nodes are changed where they are has a MachineSet, says there what it wants, and calls current what the nodes have become.
func TestInPlace(t *testing.T) {
	other := &corev1.Secret{Data: map[string][]byte{"other.0000": []byte("kept")}}
	other.Namespace, other.Name = cpns, contract.InPlaceUpdates
	w := newWorld(t, append(surroundings(t), inPlacePool(), other)...)
	np := w.mustPass(t)
	first := np.Annotations[hyperv1.NodePoolTargetConfigVersionAnnotation]
	golden(t, "machineset.yaml", manifest(w.object(t, clusterapi.MachineSet, "demo")))
	if got := w.updates(t); !slices.Equal(got, []string{"demo." + first, "other.0000"}) {
		t.Errorf("updates of %v", got)
	}
	err := w.client.Get(t.Context(), client.ObjectKey{Namespace: cpns, Name: "demo"}, clusterapi.New(clusterapi.MachineDeployment, cpns, "demo"))
	if !apierrors.IsNotFound(err) {
		t.Errorf("the pool has a MachineDeployment, too: %v", err)
	}
	data := "user-data-demo-" + first
	for _, name := range []string{"demo-a", "demo-b"} {
		machine := clusterapi.NewWithSpec(clusterapi.Machine, cpns, name, map[string]any{"version": "4.21.0", "bootstrap": map[string]any{"dataSecretName": data}})
		machine.SetAnnotations(map[string]string{hyperv1.NodePoolAnnotation: "clusters/demo"})
		w.create(t, machine)
	}
	w.settled(t, nil)
	if np = w.mustPass(t); np.Status.Version != "" {
		t.Errorf("version %s before the nodes are known to be of it", np.Status.Version)
	}
	w.settled(t, map[string]string{hyperv1.NodePoolCurrentConfigVersionAnnotation: first})
	if np = w.mustPass(t); np.Status.Version != "4.21.0" || condition(np, hyperv1.NodePoolUpdatingVersion).Status != corev1.ConditionFalse || condition(np, hyperv1.NodePoolReady).Status != corev1.ConditionTrue {
		t.Errorf("version %q, conditions %+v", np.Status.Version, np.Status.Conditions)
	}

	w.releases = versioned("4.21.1")
	np = w.mustPass(t)
	second := np.Annotations[hyperv1.NodePoolTargetConfigVersionAnnotation]
	if second == first || condition(np, hyperv1.NodePoolUpdatingVersion).Status != corev1.ConditionTrue {
		t.Errorf("%s, then %s; UpdatingVersion %+v", first, second, condition(np, hyperv1.NodePoolUpdatingVersion))
	}
	if got := w.updates(t); !slices.Equal(got, []string{"demo." + second, "other.0000"}) {
		t.Errorf("updates of %v", got)
	}
	w.settled(t, map[string]string{hyperv1.NodePoolUpgradeInProgressTrueAnnotation: "one of two"})
	if c := condition(w.mustPass(t), hyperv1.NodePoolUpdatingVersion); c.Status != corev1.ConditionTrue || c.Message != "one of two" {
		t.Errorf("under way: %+v", c)
	}
	w.settled(t, map[string]string{hyperv1.NodePoolUpgradeInProgressFalseAnnotation: "node a is broken"})
	for range 2 {
		if c := condition(w.mustPass(t), hyperv1.NodePoolUpdatingVersion); c.Status != corev1.ConditionFalse || c.Reason != hyperv1.InplaceUpgradeFailedReason || c.Message != "node a is broken" {
			t.Errorf("failed: %+v", c)
		}
	}
	w.becomes(t, second)
	if np = w.mustPass(t); np.Status.Version != "4.21.1" || condition(np, hyperv1.NodePoolUpdatingVersion).Reason != hyperv1.AsExpectedReason {
		t.Errorf("version %q, %+v", np.Status.Version, condition(np, hyperv1.NodePoolUpdatingVersion))
	}
	// What the machines were made of is read by Azure's provider as long as they live.
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: cpns, Name: data}, &corev1.Secret{}); err != nil {
		t.Error(err)
	}
	if got, _, _ := unstructured.NestedString(w.object(t, clusterapi.MachineSet, "demo").Object, "spec", "template", "spec", "bootstrap", "dataSecretName"); got != "user-data-demo-"+second {
		t.Errorf("new machines start with %s", got)
	}
}

// becomes is what is written on the MachineSet when all nodes are changed.
func (w *world) becomes(t *testing.T, target string) {
	t.Helper()
	set := w.object(t, clusterapi.MachineSet, "demo")
	all := set.GetAnnotations()
	maps.DeleteFunc(all, func(key, _ string) bool { return strings.Contains(key, "nodePoolUpgradeInProgress") })
	all[hyperv1.NodePoolCurrentConfigVersionAnnotation] = target
	set.SetAnnotations(all)
	if err := w.client.Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
}

func TestInPlacePoolGoesWhole(t *testing.T) {
	other := &corev1.Secret{Data: map[string][]byte{"other.0000": []byte("kept")}}
	other.Namespace, other.Name = cpns, contract.InPlaceUpdates
	w := newWorld(t, append(surroundings(t), inPlacePool(), other)...)
	if err := w.client.Delete(t.Context(), w.mustPass(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	err := w.client.Get(t.Context(), client.ObjectKey{Namespace: cpns, Name: "demo"}, clusterapi.New(clusterapi.MachineSet, cpns, "demo"))
	if got := w.updates(t); !apierrors.IsNotFound(err) || !slices.Equal(got, []string{"other.0000"}) {
		t.Errorf("MachineSet: %v, updates of %v", err, got)
	}
}

func TestPausedInPlace(t *testing.T) {
	w := newWorld(t, append(surroundings(t), inPlacePool())...)
	np := w.mustPass(t)
	np.Spec.PausedUntil = ptr.To("true")
	if err := w.client.Update(t.Context(), np); err != nil {
		t.Fatal(err)
	}
	w.mustPass(t)
	if got := w.object(t, clusterapi.MachineSet, "demo").GetAnnotations()[contract.PausedAnnotation]; got != "true" {
		t.Errorf("paused: %q", got)
	}
}
