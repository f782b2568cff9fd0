package nodepool

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/asking"
)

// autoscaler is the Deployment of one with so many pods that can be used.
func autoscaler(available int32) *appsv1.Deployment {
	labels := map[string]string{"app": contract.ClusterAutoscaler}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: cpns, Name: contract.ClusterAutoscaler}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "any"}}
	d.Status.Replicas, d.Status.AvailableReplicas, d.Status.ReadyReplicas = available, available, available
	return d
}

func scaled(lowest, highest int32) *hyperv1.NodePool {
	np := nodePool()
	np.Spec.Replicas, np.Spec.AutoScaling = nil, &hyperv1.NodePoolAutoScaling{Min: lowest, Max: highest}
	return np
}

// Nobody is told that the pool is sized while nobody sizes it.
func TestAutoscalingNeedsAnAutoscalerThatRuns(t *testing.T) {
	w := newWorld(t, append(surroundings(t), scaled(1, 3))...)
	check := func(status corev1.ConditionStatus, reason, message string) {
		t.Helper()
		if _, err := w.pass(t); err != nil {
			t.Fatal(err)
		}
		w.shows(t, hyperv1.NodePoolAutoscalingEnabled, status, reason, message)
	}
	check(corev1.ConditionFalse, hyperv1.AutoscalerMissingReason, "--image cluster-autoscaler=IMAGE")
	w.create(t, autoscaler(0))
	check(corev1.ConditionFalse, hyperv1.AutoscalerNotReadyReason, "no available pod")
	if err := w.client.Status().Update(t.Context(), autoscaler(1)); err != nil {
		t.Fatal(err)
	}
	check(corev1.ConditionTrue, hyperv1.AsExpectedReason, "Maximum nodes: 3, Minimum nodes: 1")
	np := w.pool(t)
	np.Spec.AutoScaling, np.Spec.Replicas = nil, ptr.To[int32](1)
	if err := w.client.Update(t.Context(), np); err != nil {
		t.Fatal(err)
	}
	check(corev1.ConditionFalse, hyperv1.AsExpectedReason, "")
}

// The autoscaler learns what a machine has that is not there yet of the MachineDeployment.
func TestCapacityForScalingFromZero(t *testing.T) {
	w := zeroable(t)
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	annotations := w.object(t, clusterapi.MachineDeployment, "demo").GetAnnotations()
	for key, want := range map[string]string{
		minSizeAnnotation: "0", maxSizeAnnotation: "3",
		capacityPrefix + "cpu": "4", capacityPrefix + "memory": "16384Mi", capacityPrefix + "ephemeral-disk": "120Gi", capacityPrefix + "maxPods": "250",
		capacityPrefix + "taints": "dedicated=gpu:NoSchedule", formerPrefix + "vCPU": "4", formerPrefix + "memoryMb": "16384",
		capacityPrefix + "labels": "hypershift.openshift.io/nodePool=demo,kubernetes.io/arch=amd64,kubernetes.io/os=linux," +
			"node.kubernetes.io/instance-type=Standard_D4s_v3,tier=gold,topology.kubernetes.io/region=eastus",
		capacityPrefix + "gpu-count": "", formerPrefix + "GPU": "",
	} {
		if got := annotations[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	w.replicas(t, 0)
}

func TestGPUType(t *testing.T) {
	for size, want := range map[string]string{"Standard_NC4as_T4_v3": "nvidia.com/gpu", "Standard_NV4as_v4": "amd.com/gpu", "Standard_NG8ads_V620_v1": "amd.com/gpu", "Standard_NV6ads_A10_v5": "nvidia.com/gpu"} {
		if got := gpuType(size); got != want {
			t.Errorf("%s: %s", size, got)
		}
	}
}

// zeroable is a world in which a pool may have no machine at all, and its autoscaler runs.
func zeroable(t *testing.T) *world {
	t.Helper()
	w, _ := withIdentity(t)
	if err := w.client.Delete(t.Context(), nodePool()); err != nil {
		t.Fatal(err)
	}
	w.create(t, scaled(0, 3), autoscaler(1))
	return w
}

func (w *world) replicas(t *testing.T, want int64) {
	t.Helper()
	got, found, err := unstructured.NestedInt64(w.object(t, clusterapi.MachineDeployment, "demo").Object, "spec", "replicas")
	if err != nil || !found || got != want {
		t.Errorf("%d machines (%v, %v), want %d", got, found, err, want)
	}
}

// While nobody knows what a machine of the size has, the autoscaler could not begin with none: one is kept, and the pool says why. What was
// known once is not forgotten because Azure does not answer.
func TestOneMachineIsKeptWhileTheCapacityIsUnknown(t *testing.T) {
	w := zeroable(t)
	clock, asked := now, 0
	w.now = func() time.Time { return clock }
	known := w.readSizes
	w.readSizes = func(context.Context, asking.Identity) (map[string]azure.MachineSize, error) {
		asked++
		return nil, errors.New("429 Too Many Requests")
	}
	for range 2 {
		result, err := w.pass(t)
		if err != nil || result.RequeueAfter == 0 {
			t.Fatalf("%v, %v", result, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times at once", asked)
	}
	w.shows(t, hyperv1.NodePoolAutoscalingEnabled, corev1.ConditionFalse, hyperv1.CapacityUnknownReason, "429")
	w.replicas(t, 1)

	clock = clock.Add(asking.Period)
	w.readSizes = known
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	w.shows(t, hyperv1.NodePoolAutoscalingEnabled, corev1.ConditionTrue, hyperv1.AsExpectedReason, "Minimum nodes: 0")
	if got := w.object(t, clusterapi.MachineDeployment, "demo").GetAnnotations()[minSizeAnnotation]; got != "0" {
		t.Errorf("the least number of machines is %s", got)
	}

	clock = clock.Add(asking.SizesLife)
	w.readSizes = func(context.Context, asking.Identity) (map[string]azure.MachineSize, error) {
		return nil, errors.New("429")
	}
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	w.shows(t, hyperv1.NodePoolAutoscalingEnabled, corev1.ConditionTrue, hyperv1.AsExpectedReason, "Minimum nodes: 0")
	if got := w.object(t, clusterapi.MachineDeployment, "demo").GetAnnotations()[capacityPrefix+"memory"]; got != "16384Mi" {
		t.Errorf("the autoscaler is told memory %q", got)
	}

	clock = clock.Add(asking.Period)
	w.readSizes = known
	w.resize(t, "Standard_Unknown")
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	w.shows(t, hyperv1.NodePoolAutoscalingEnabled, corev1.ConditionFalse, hyperv1.CapacityUnknownReason, "location eastus has no size Standard_Unknown")
}

// scale is how the autoscaler's provider for Cluster API resizes a node group: it reads the scale subresource and writes it back.
func (w *world) scale(t *testing.T, replicas int32) {
	t.Helper()
	deployment := w.object(t, clusterapi.MachineDeployment, "demo")
	size := &unstructured.Unstructured{}
	if err := w.client.SubResource("scale").Get(t.Context(), deployment, size); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(size.Object, int64(replicas), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	if err := w.client.SubResource("scale").Update(t.Context(), deployment, client.WithSubResourceBody(size), client.FieldOwner("cluster-autoscaler")); err != nil {
		t.Fatal(err)
	}
}

// TestNobodyFightsTheAutoscaler: within the bounds the number of machines is the autoscaler's alone, whatever else changes.
func TestNobodyFightsTheAutoscaler(t *testing.T) {
	w := onServer(t)
	change := func(what func(*hyperv1.NodePool)) {
		t.Helper()
		np := w.pool(t)
		what(np)
		if err := w.client.Update(t.Context(), np); err != nil {
			t.Fatal(err)
		}
	}
	size := func(moment string, want int64) {
		t.Helper()
		for range 2 {
			if _, err := w.pass(t); err != nil {
				t.Fatalf("%s: %v", moment, err)
			}
		}
		t.Log(moment)
		w.replicas(t, want)
	}
	version := func() string { return w.object(t, clusterapi.MachineDeployment, "demo").GetResourceVersion() }
	size("made by number", 2)
	change(func(np *hyperv1.NodePool) {
		np.Spec.Replicas, np.Spec.AutoScaling = nil, &hyperv1.NodePoolAutoScaling{Min: 1, Max: 5}
	})
	size("left to the autoscaler", 2)
	w.scale(t, 4)
	scaled := version()
	size("the autoscaler adds machines", 4)
	if version() != scaled {
		t.Error("the MachineDeployment was written, where only the autoscaler had changed it")
	}
	w.scale(t, 1)
	w.resize(t, "Standard_D8s_v3")
	size("it takes machines away, and another size is wanted", 1)
	change(func(np *hyperv1.NodePool) { np.Spec.AutoScaling.Min = 3 })
	size("the lower bound rises", 3)
	w.scale(t, 5)
	change(func(np *hyperv1.NodePool) { np.Spec.AutoScaling.Max = 4 })
	size("the upper bound falls", 4)
	change(func(np *hyperv1.NodePool) { np.Spec.AutoScaling = nil })
	size("autoscaling is taken away", 4)
	w.scale(t, 3)
	change(func(np *hyperv1.NodePool) { np.Spec.Replicas = ptr.To[int32](2) })
	size("the user's number holds", 2)
	w.scale(t, 5)
	size("somebody else's does not", 2)
	change(func(np *hyperv1.NodePool) {
		np.Spec.Replicas, np.Spec.AutoScaling = nil, &hyperv1.NodePoolAutoScaling{Min: 1, Max: 5}
	})
	size("left to the autoscaler again", 2)
	w.scale(t, 5)
	size("it adds machines again", 5)

	// What was read is older than what the autoscaler wrote meanwhile: the newer number stays.
	change(func(np *hyperv1.NodePool) { np.Spec.AutoScaling.Max = 4 })
	honest := w.Reconciler.client
	w.Reconciler.client = behind{honest, w.object(t, clusterapi.MachineDeployment, "demo")}
	w.scale(t, 2)
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	w.Reconciler.client = honest
	size("the autoscaler was faster", 2)
}

// behind is a cache that still has a former MachineDeployment.
type behind struct {
	client.Client
	former *unstructured.Unstructured
}

func (b behind) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if u, ok := obj.(*unstructured.Unstructured); ok && strings.EqualFold(u.GetKind(), clusterapi.MachineDeployment.Kind) {
		u.Object = b.former.DeepCopy().Object
		return nil
	}
	return b.Client.Get(ctx, key, obj, opts...)
}
