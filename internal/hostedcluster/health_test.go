package hostedcluster

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// TestDeadControlPlane: the last word of a control plane that died is not repeated. The pods say why, and nothing of it stays when they
// are back.
func TestDeadControlPlane(t *testing.T) {
	f := newFixture(t, "dead")
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())
	f.reconcile(t)
	f.playControlPlane(t)
	f.reports(t, hyperv1.HostedControlPlaneAvailable, hyperv1.EtcdAvailable, hyperv1.KubeAPIServerAvailable)
	all := []string{contract.Etcd, component.APIServer, contract.ControlPlaneOperator}
	for _, name := range all {
		f.ready(t, name, 1)
	}
	f.says(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "")
	f.says(t, hyperv1.EtcdAvailable, metav1.ConditionTrue, "")

	f.ready(t, contract.Etcd, 0)
	f.says(t, hyperv1.KubeAPIServerAvailable, metav1.ConditionFalse, "kube-apiserver answers nothing without etcd")
	for _, name := range all {
		f.ready(t, name, 0)
		f.pending(t, name)
	}
	const scheduler = "0/1 nodes are available. It asks for nodes with nosuch=label."
	f.says(t, hyperv1.HostedClusterAvailable, metav1.ConditionFalse, "0 of 1 pods of etcd are ready, 1 needed: pod etcd-0 cannot be scheduled: "+scheduler)
	f.says(t, hyperv1.EtcdAvailable, metav1.ConditionFalse, scheduler)
	f.says(t, hyperv1.KubeAPIServerAvailable, metav1.ConditionFalse, "pod kube-apiserver-0 cannot be scheduled: "+scheduler)
	f.says(t, hyperv1.HostedClusterDegraded, metav1.ConditionTrue, "kube-apiserver")
	f.writes.Store(0)
	if again := f.reconcileAgain(t); again != 5*time.Second || f.writes.Load() != 0 {
		t.Errorf("a control plane that stays dead is looked at again after %s, and cost %d writes", again, f.writes.Load())
	}

	for _, name := range all {
		f.ready(t, name, 1)
	}
	f.says(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "")
	f.says(t, hyperv1.KubeAPIServerAvailable, metav1.ConditionTrue, "")
	if again := f.reconcileAgain(t); again != 0 {
		t.Errorf("a healthy control plane is looked at again after %s", again)
	}
}

// TestSilentOperator: what the management cluster sees itself stays; what only the control-plane-operator knows is unknown once its word is
// old. One that is just restarted is waited for.
func TestSilentOperator(t *testing.T) {
	f := newFixture(t, "silent")
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())
	f.reconcile(t)
	f.playControlPlane(t)
	f.reports(t, hyperv1.HostedControlPlaneAvailable, hyperv1.EtcdAvailable, hyperv1.KubeAPIServerAvailable)
	f.ready(t, contract.Etcd, 1)
	f.ready(t, component.APIServer, 1)
	f.ready(t, contract.ControlPlaneOperator, 0)
	began := time.Now()
	at := func(after time.Duration) { f.reconciler.Now = func() time.Time { return began.Add(after) } }

	at(10*time.Second + 5*time.Second)
	f.says(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "")
	f.pending(t, contract.ControlPlaneOperator)
	f.says(t, hyperv1.HostedClusterAvailable, metav1.ConditionUnknown, "Nobody reports how the control plane is: 0 of 1 pods of control-plane-operator are ready, 1 needed: pod control-plane-operator-0 cannot be scheduled")
	f.says(t, hyperv1.EtcdAvailable, metav1.ConditionTrue, "")
	f.says(t, hyperv1.KubeAPIServerAvailable, metav1.ConditionTrue, "")
	f.says(t, hyperv1.HostedClusterDegraded, metav1.ConditionTrue, "control-plane-operator")
	if err := f.client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(f.namespace), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	f.says(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "")
	at(time.Minute + 5*time.Second)
	f.says(t, hyperv1.HostedClusterAvailable, metav1.ConditionUnknown, "0 of 1 pods of control-plane-operator")
	f.ready(t, contract.ControlPlaneOperator, 1)
	f.says(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "")
}

// TestStoppedIsTold: what keeps the user's wishes from being done stands in the column that kubectl shows, also while all is well.
func TestStoppedIsTold(t *testing.T) {
	f := newFixture(t, "stopped")
	f.create(t, f.madeSecret(), f.cluster())
	f.says(t, hyperv1.HostedClusterAvailable, metav1.ConditionUnknown, `secrets "stopped-pull-secret" not found`)
	f.create(t, f.pullSecret())
	f.reconcile(t)
	f.playControlPlane(t)
	f.says(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "")
	f.edit(t, func(hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = ptr.To("true") })
	f.says(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "Paused: nothing is changed until spec.pausedUntil is removed.")
	f.edit(t, func(hc *hyperv1.HostedCluster) {
		hc.Spec.PausedUntil, hc.Spec.Release.Image = nil, f.image+"-not-there"
	})
	f.says(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "-not-there")
	f.edit(t, func(hc *hyperv1.HostedCluster) { hc.Spec.Release.Image = f.image })
	f.says(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "")

	hcp := f.controlPlane(t)
	kube.Conditions(&hcp.Status.Conditions, hcp.Generation).False(hyperv1.PlatformCredentialsFound, hyperv1.InvalidAzureCredentialsReason, "AADSTS700213")
	if err := f.client.Status().Update(t.Context(), hcp); err != nil {
		t.Fatal(err)
	}
	f.says(t, hyperv1.PlatformCredentialsFound, metav1.ConditionFalse, "AADSTS700213")
	f.says(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "AADSTS700213")
	f.reports(t, hyperv1.PlatformCredentialsFound)
	f.says(t, hyperv1.PlatformCredentialsFound, metav1.ConditionTrue, "")
	if c := kube.Find(f.get(t).Status.Conditions, hyperv1.HostedClusterAvailable); c.Message != "" {
		t.Errorf("nothing is wrong any more, and the message is %q", c.Message)
	}
}

func (f *fixture) edit(t *testing.T, change func(*hyperv1.HostedCluster)) {
	t.Helper()
	hc := f.get(t)
	change(hc)
	if err := f.client.Update(t.Context(), hc); err != nil {
		t.Fatal(err)
	}
}

// TestDeletionNamesPoolsInOrder: a list has no order that stays, and a condition whose text goes back and forth is written again and again.
func TestDeletionNamesPoolsInOrder(t *testing.T) {
	f := newFixture(t, "ordered")
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())
	f.reconcile(t)
	for _, name := range []string{"big", "nca"} {
		pool := f.pool("clusters", f.name)
		pool.Name, pool.Finalizers = name, []string{"test.example/held"}
		f.create(t, pool)
		t.Cleanup(func() {
			pool.Finalizers = nil
			_ = f.client.Patch(context.Background(), pool, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		})
	}
	backwards := interceptor.NewClient(f.reconciler.Client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			if pools, ok := list.(*hyperv1.NodePoolList); ok {
				slices.Reverse(pools.Items)
			}
			return err
		},
	})
	f.reconciler.Client = backwards
	if err := f.client.Delete(t.Context(), f.get(t)); err != nil {
		t.Fatal(err)
	}
	f.says(t, hyperv1.HostedClusterDestroyed, metav1.ConditionFalse, "NodePools big, nca")
}

// says makes a pass and looks at a condition.
func (f *fixture) says(t *testing.T, kind string, status metav1.ConditionStatus, text string) {
	t.Helper()
	f.reconcile(t)
	if c := kube.Find(f.get(t).Status.Conditions, kind); c == nil || c.Status != status || !strings.Contains(c.Message, text) {
		t.Errorf("%s is %+v, want %s with %q", kind, c, status, text)
	}
}

func (f *fixture) reconcileAgain(t *testing.T) time.Duration {
	t.Helper()
	f.reconcile(t)
	result, err := f.reconciler.Reconcile(t.Context(), f.request)
	if err != nil {
		t.Fatal(err)
	}
	return result.RequeueAfter
}

// reports has the control plane call conditions True.
func (f *fixture) reports(t *testing.T, kinds ...string) {
	t.Helper()
	hcp := f.controlPlane(t)
	for _, kind := range kinds {
		kube.Conditions(&hcp.Status.Conditions, hcp.Generation).True(kind, hyperv1.AsExpectedReason, "")
	}
	if err := f.client.Status().Update(t.Context(), hcp); err != nil {
		t.Fatal(err)
	}
}

// ready lets so many pods of a workload be ready; it is made where nobody made it.
func (f *fixture) ready(t *testing.T, name string, pods int32) {
	t.Helper()
	labels := map[string]string{component.LabelApp: name}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x"}}}}
	meta, selector := metav1.ObjectMeta{Name: name, Namespace: f.namespace}, &metav1.LabelSelector{MatchLabels: labels}
	var made client.Object
	if name == contract.Etcd {
		made = &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](1), Selector: selector, Template: template}}
	} else {
		made = &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1), Selector: selector, Template: template}}
	}
	f.createShared(t, made)
	f.read(t, made)
	switch w := made.(type) {
	case *appsv1.StatefulSet:
		w.Status = appsv1.StatefulSetStatus{Replicas: 1, ReadyReplicas: pods}
	case *appsv1.Deployment:
		available := appsv1.DeploymentCondition{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
		if pods == 0 {
			available.Status = corev1.ConditionFalse
		}
		w.Status = appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: pods, AvailableReplicas: pods, Conditions: []appsv1.DeploymentCondition{available}}
	}
	if err := f.client.Status().Update(t.Context(), made); err != nil {
		t.Fatal(err)
	}
}

// pending is a pod of a workload that no node takes.
func (f *fixture) pending(t *testing.T, workload string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: workload + "-0", Namespace: f.namespace, Labels: map[string]string{component.LabelApp: workload}},
		Spec: corev1.PodSpec{NodeSelector: map[string]string{"nosuch": "label"}, Containers: []corev1.Container{{
			Name: "c", Image: "x", SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false), RunAsNonRoot: ptr.To(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}}}},
	}
	f.create(t, pod)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available."}}
	if err := f.client.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}
