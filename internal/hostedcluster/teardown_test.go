package hostedcluster

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// destroyed is the condition that tells how far a deletion is; a reconcile comes before it.
func (f *fixture) destroyed(t *testing.T) *metav1.Condition {
	t.Helper()
	f.reconcile(t)
	hc := &hyperv1.HostedCluster{}
	if err := f.client.Get(t.Context(), f.request.NamespacedName, hc); err != nil {
		t.Fatalf("the HostedCluster is gone too early: %v", err)
	}
	return kube.Find(hc.Status.Conditions, hyperv1.HostedClusterDestroyed)
}

func (f *fixture) finalizers(t *testing.T, obj client.Object, finalizers ...string) {
	t.Helper()
	f.read(t, obj)
	obj.SetFinalizers(finalizers)
	if err := client.IgnoreNotFound(f.client.Update(t.Context(), obj)); err != nil {
		t.Fatal(err)
	}
}

// TestDeletionTellsWhatItWaitsFor takes a paused cluster with a node pool down step by step. Somebody holds every object, and each
// time the condition names it, since when it is waited for, and what to do.
func TestDeletionTellsWhatItWaitsFor(t *testing.T) {
	f := newFixture(t, "deletion")
	clock := time.Now().Truncate(time.Second)
	f.reconciler.Now = func() time.Time { return clock }
	hc := f.cluster()
	hc.Annotations = map[string]string{hyperv1.DestroyGracePeriodAnnotation: "1h"}
	pool := f.pool("clusters", f.name)
	pool.Finalizers = []string{hyperv1.Finalizer}
	f.create(t, f.pullSecret(), f.madeSecret(), hc, pool)
	f.reconcile(t)
	hc = f.get(t)
	hc.Spec.PausedUntil = ptr.To("true")
	if err := f.client.Update(t.Context(), hc); err != nil {
		t.Fatal(err)
	}
	f.reconcile(t)
	cluster := clusterapi.New(clusterapi.Cluster, f.namespace, hc.Spec.InfraID)
	f.finalizers(t, cluster, clusterFinalizer)
	f.finalizers(t, f.controlPlane(t), hyperv1.Finalizer)
	if err := f.client.Delete(t.Context(), hc); err != nil {
		t.Fatal(err)
	}

	first := f.destroyed(t)
	f.checkWaiting(t, first, hyperv1.DeletingNodePoolsReason, "NodePools deletion-pool")
	clock = clock.Add(time.Minute)
	if second := f.destroyed(t); !second.LastTransitionTime.Equal(&first.LastTransitionTime) || second.Message != first.Message {
		t.Errorf("since when is not kept: %+v, before %+v", second, first)
	}
	if hcp := f.controlPlane(t); hcp.Spec.PausedUntil != nil {
		t.Error("a paused control plane cannot be deleted")
	}
	f.finalizers(t, pool)
	f.checkWaiting(t, f.destroyed(t), hyperv1.DeletingMachinesReason, "Cluster "+hc.Spec.InfraID)
	f.finalizers(t, cluster)
	f.checkWaiting(t, f.destroyed(t), hyperv1.DeletingControlPlaneReason, "HostedControlPlane clusters-deletion/deletion")
	f.finalizers(t, f.controlPlane(t))
	f.checkWaiting(t, f.destroyed(t), hyperv1.DeletingNamespaceReason, "namespace clusters-deletion")
	f.playNamespaceController(t)
	done := f.destroyed(t)
	if done.Status != metav1.ConditionTrue || done.Reason != hyperv1.WaitingForGracePeriodReason {
		t.Errorf("grace period %+v", done)
	}
	clock = clock.Add(15 * time.Minute)
	result, err := f.reconciler.Reconcile(t.Context(), f.request)
	if err != nil || result.RequeueAfter < 44*time.Minute || result.RequeueAfter > 45*time.Minute {
		t.Errorf("in the grace period the next look is in %v, want its end (%v)", result.RequeueAfter, err)
	}
	clock = clock.Add(2 * time.Hour)
	f.reconcile(t)
	if err := f.client.Get(t.Context(), f.request.NamespacedName, &hyperv1.HostedCluster{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the grace period: %v", err)
	}
}

// TestPodOfLostNode: a pod whose kubelet does not answer is asked to go once, looked at less and less, and at last given up.
func TestPodOfLostNode(t *testing.T) {
	f := newFixture(t, "lostnode")
	clock := time.Now()
	f.reconciler.Now = func() time.Time { return clock }
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())
	f.reconcile(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "stuck"}, Spec: corev1.PodSpec{
		NodeName:        "lost",
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{Name: "c", Image: "example.com/c", SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}}},
	}}
	f.create(t, pod)
	if err := f.client.Delete(t.Context(), f.get(t)); err != nil {
		t.Fatal(err)
	}
	look := func() time.Duration {
		t.Helper()
		result, err := f.reconciler.Reconcile(t.Context(), f.request)
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	for range 10 {
		if waiting := f.destroyed(t); waiting.Reason == hyperv1.DeletingPodsReason {
			break
		}
	}
	if after := look(); after != 500*time.Millisecond {
		t.Errorf("looks again after %v, want %v", after, 500*time.Millisecond)
	}
	clock = clock.Add(10*time.Second + time.Second)
	before := f.writes.Load()
	if after := look(); after != 2*time.Second || f.writes.Load() != before {
		t.Errorf("looks again after %v, want %v, with %d writes", after, 2*time.Second, f.writes.Load()-before)
	}
	if f.isGone(t, pod) {
		t.Fatal("the pod was given up at once")
	}
	clock = clock.Add(time.Minute)
	if look(); !f.isGone(t, pod) {
		t.Error("the pod of the lost node is not given up")
	}
}

func (f *fixture) checkWaiting(t *testing.T, condition *metav1.Condition, reason, what string) {
	t.Helper()
	if condition == nil || condition.Status != metav1.ConditionFalse || condition.Reason != reason || !strings.Contains(condition.Message, what) ||
		!strings.HasPrefix(condition.Message, "Waiting since ") || !strings.Contains(condition.Message, "If this takes long, ") {
		t.Fatalf("HostedClusterDestroyed is %+v, want %s: %s", condition, reason, what)
	}
}

// TestDeletionIsBounded: controllers that never come back do not hold a deletion for ever, but a Machine does.
func TestDeletionIsBounded(t *testing.T) {
	f := newFixture(t, "bounded")
	clock := time.Now()
	f.reconciler.Now = func() time.Time { return clock }
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())
	f.reconcile(t)
	infraID := f.get(t).Spec.InfraID
	cluster := clusterapi.New(clusterapi.Cluster, f.namespace, infraID)
	f.finalizers(t, cluster, clusterFinalizer)
	azure := clusterapi.New(clusterapi.AzureCluster, f.namespace, f.name)
	f.finalizers(t, azure, "azurecluster.infrastructure.cluster.x-k8s.io")
	f.finalizers(t, f.controlPlane(t), hyperv1.Finalizer)
	machine := clusterapi.NewWithSpec(clusterapi.Machine, f.namespace, "m", object{"clusterName": infraID, "bootstrap": object{"dataSecretName": "x"},
		"infrastructureRef": object{"apiGroup": clusterapi.AzureCluster.Group, "kind": "AzureMachine", "name": "m"}})
	machine.SetFinalizers([]string{"machine.cluster.x-k8s.io"})
	f.create(t, machine)
	for _, obj := range []client.Object{f.get(t), azure} {
		if err := f.client.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	f.checkWaiting(t, f.destroyed(t), hyperv1.DeletingMachinesReason, "1 Machines of Cluster "+infraID)
	clock = clock.Add(15*time.Minute + time.Minute)
	f.checkWaiting(t, f.destroyed(t), hyperv1.DeletingMachinesReason, "1 Machines of Cluster "+infraID)
	orphan := clusterapi.NewWithSpec(clusterapi.AzureMachine, f.namespace, "orphan", object{"vmSize": "Standard_D4s_v3", "sshPublicKey": "",
		"osDisk": object{"osType": "Linux"}, "providerID": "azure:///subscriptions/x/virtualMachines/orphan"})
	orphan.SetFinalizers([]string{"azuremachine.infrastructure.cluster.x-k8s.io"})
	f.create(t, orphan)
	f.finalizers(t, machine)
	if err := client.IgnoreNotFound(f.client.Delete(t.Context(), machine)); err != nil {
		t.Fatal(err)
	}
	// A machine that Cluster API has forgotten is waited for as well, while what its provider needs is there, and not for ever.
	f.checkWaiting(t, f.destroyed(t), hyperv1.DeletingMachinesReason, "AzureMachines orphan, which no Machine stands for")
	if f.isGone(t, azure) || f.isGone(t, cluster) {
		t.Error("the AzureCluster goes before its machine")
	}
	clock = time.Now().Add(15*time.Minute + time.Minute)
	f.reconcile(t)
	if !f.isGone(t, orphan) {
		t.Error("an AzureMachine that no Machine stands for holds the deletion")
	}
	f.told(t, "Azure may still have azure:///subscriptions/x/virtualMachines/orphan")
	f.reconcile(t)
	for _, obj := range []client.Object{cluster, azure} {
		if err := f.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); !apierrors.IsNotFound(err) {
			t.Errorf("%s is still held: %v", kube.Describe(obj), err)
		}
	}
	f.reconcile(t) // deletes the HostedControlPlane, now
	clock = time.Now().Add(15*time.Minute + time.Minute)
	f.reconcile(t)
	if err := f.client.Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: f.name}, &hyperv1.HostedControlPlane{}); !apierrors.IsNotFound(err) {
		t.Errorf("the HostedControlPlane is still held: %v", err)
	}
}

// TestDeletionTouchesOnlyItsOwn: clusters/mine-a leads to the names of clusters-mine/a.
func TestDeletionTouchesOnlyItsOwn(t *testing.T) {
	f := newFixture(t, "mine-a")
	other := newFixture(t, "mine-a")
	other.request.Namespace, other.request.Name = "clusters-mine", "a"
	f.createShared(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-mine"}})
	pull, key, hc := other.pullSecret(), other.madeSecret(), other.cluster()
	for _, obj := range []client.Object{pull, key, hc} {
		obj.SetNamespace("clusters-mine")
	}
	hc.Name, hc.Spec.Platform.Azure.ResourceGroupName = "a", "of-another"
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster(), pull, key, hc)
	f.reconcile(t)
	other.reconcile(t)
	if err := f.client.Delete(t.Context(), hc); err != nil {
		t.Fatal(err)
	}
	if _, err := other.reconciler.Reconcile(t.Context(), other.request); err != nil {
		t.Fatal(err)
	}
	if err := f.client.Get(t.Context(), other.request.NamespacedName, &hyperv1.HostedCluster{}); !apierrors.IsNotFound(err) {
		t.Errorf("the second cluster is still there: %v", err)
	}
	f.read(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: f.namespace + "-" + contract.ClusterAPI}})
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	if f.read(t, namespace); !namespace.DeletionTimestamp.IsZero() {
		t.Error("the first cluster's namespace is deleted")
	}
}

// TestUnbornMachines: where the API server never served, its machines were never made and hold nothing; where it did, they may have been.
func TestUnbornMachines(t *testing.T) {
	for title, c := range map[string]struct {
		initialized, available bool
		providerID             string
		released               bool
	}{
		"never-served": {released: true},
		"serving":      {available: true},
		"served":       {initialized: true},
		"made":         {providerID: "azure:///subscriptions/x/vm"},
	} {
		t.Run(title, func(t *testing.T) {
			f := newFixture(t, "unborn-"+title)
			clock := time.Now()
			f.reconciler.Now = func() time.Time { return clock }
			pool := f.pool(f.cluster().Namespace, f.name)
			pool.Finalizers = []string{hyperv1.Finalizer}
			f.create(t, f.pullSecret(), f.madeSecret(), f.cluster(), pool)
			f.reconcile(t)
			hcp := f.controlPlane(t)
			hcp.Status.Initialized = c.initialized
			if c.available {
				kube.Conditions(&hcp.Status.Conditions, hcp.Generation).True(hyperv1.KubeAPIServerAvailable, hyperv1.AsExpectedReason, "")
			}
			if err := f.client.Status().Update(t.Context(), hcp); err != nil {
				t.Fatal(err)
			}
			spec := object{"vmSize": "Standard_D4s_v3", "sshPublicKey": "", "osDisk": object{"osType": "Linux"}}
			if c.providerID != "" {
				spec["providerID"] = c.providerID
			}
			machine := clusterapi.NewWithSpec(clusterapi.AzureMachine, f.namespace, "m", spec)
			machine.SetFinalizers([]string{"azuremachine.infrastructure.cluster.x-k8s.io"})
			f.create(t, machine)
			for _, obj := range []client.Object{f.get(t), machine} {
				if err := f.client.Delete(t.Context(), obj); err != nil {
					t.Fatal(err)
				}
			}
			f.reconcile(t)
			if gone := f.isGone(t, machine); gone {
				t.Fatal("the machine was let go at once")
			}
			clock = clock.Add(2*time.Minute + time.Minute)
			f.reconcile(t)
			if gone := f.isGone(t, machine); gone != c.released {
				t.Errorf("let go: %v, want %v", gone, c.released)
			}
		})
	}
}

// TestRefusedDeletionIsTold: what Azure says to the deletion of a machine stands where people look at a deletion that takes long.
func TestRefusedDeletionIsTold(t *testing.T) {
	f := newFixture(t, "refused")
	pool := f.pool(f.cluster().Namespace, f.name)
	pool.Finalizers = []string{hyperv1.Finalizer}
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster(), pool)
	f.reconcile(t)
	machine := clusterapi.NewWithSpec(clusterapi.AzureMachine, f.namespace, "m", object{"vmSize": "Standard_D4s_v3", "sshPublicKey": "", "osDisk": object{"osType": "Linux"}})
	answer := `virtualmachine failed to delete. err: failed to begin operation: DELETE https://management.azure.com/subscriptions/x/virtualMachines/m
--------------------------------------------------------------------------------
RESPONSE 409: 409 Conflict
ERROR CODE: ScopeLocked
--------------------------------------------------------------------------------
{
  "error": {
    "code": "ScopeLocked",
    "message": "The scope 'm' cannot perform delete operation because following scope(s) are locked: 'rg'."
  }
}`
	condition := func(kind, message string) object {
		return object{"type": kind, "status": "False", "severity": "Error", "reason": "DeletionFailed", "message": message, "lastTransitionTime": "2026-01-02T03:04:05Z"}
	}
	machine.Object["status"] = object{"conditions": []any{condition("Ready", "1 of 2 completed"), condition("VMRunning", answer)}}
	f.create(t, machine)
	if err := f.client.Delete(t.Context(), f.get(t)); err != nil {
		t.Fatal(err)
	}
	f.says(t, hyperv1.HostedClusterDestroyed, metav1.ConditionFalse, "NodePools refused-pool, whose deletion Azure refuses: "+
		"AzureMachine m: ScopeLocked: The scope 'm' cannot perform delete operation because following scope(s) are locked: 'rg'.")
	f.says(t, hyperv1.HostedClusterDestroyed, metav1.ConditionFalse, "az lock delete")
	f.says(t, hyperv1.HostedClusterDestroyed, metav1.ConditionFalse, "hypershift destroy cluster azure --name refused --namespace clusters --force")
}

// TestForeignFinalizerIsTold, and who needs it: neither of the deletion's own programs.
func TestForeignFinalizerIsTold(t *testing.T) {
	f := newFixture(t, "foreign")
	pool := f.pool(f.cluster().Namespace, f.name)
	pool.Finalizers = []string{hyperv1.Finalizer, "example.com/mine"}
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster(), pool)
	f.reconcile(t)
	if err := f.client.Delete(t.Context(), f.get(t)); err != nil {
		t.Fatal(err)
	}
	f.reconcile(t)
	f.says(t, hyperv1.HostedClusterDestroyed, metav1.ConditionFalse, `NodePool "foreign-pool" in namespace "clusters" is held by finalizer example.com/mine of somebody else`)
}

func (f *fixture) isGone(t *testing.T, obj client.Object) bool {
	t.Helper()
	err := f.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err != nil
}

// told looks for words among the events so far.
func (f *fixture) told(t *testing.T, words string) {
	t.Helper()
	recorder, ok := f.reconciler.Events.(*events.FakeRecorder)
	if !ok {
		t.Fatalf("events go to a %T", f.reconciler.Events)
	}
	var all []string
	for len(recorder.Events) > 0 {
		event := <-recorder.Events
		if strings.Contains(event, words) {
			return
		}
		all = append(all, event)
	}
	t.Errorf("nothing is told of %q: %q", words, all)
}
