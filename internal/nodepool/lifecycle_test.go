package nodepool

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/names"
)

// Cluster API leaves a paused object alone, also one that is being deleted.
func TestDeletionResumesWhatWasPaused(t *testing.T) {
	w := newWorld(t, append(surroundings(t), nodePool())...)
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	deployment := w.object(t, clusterapi.MachineDeployment, "demo")
	deployment.SetAnnotations(map[string]string{hyperv1.NodePoolAnnotation: "clusters/demo", contract.PausedAnnotation: "true"})
	deployment.SetFinalizers([]string{"cluster.x-k8s.io/machinedeployment"})
	if err := w.client.Update(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), w.pool(t)); err != nil {
		t.Fatal(err)
	}
	result, err := w.pass(t)
	if err != nil || result.RequeueAfter == 0 {
		t.Fatalf("the pool did not wait for its MachineDeployment: %v, %v", result, err)
	}
	deployment = w.object(t, clusterapi.MachineDeployment, "demo")
	if _, paused := deployment.GetAnnotations()[contract.PausedAnnotation]; paused || deployment.GetDeletionTimestamp() == nil {
		t.Errorf("paused %v, deleted at %v", paused, deployment.GetDeletionTimestamp())
	}
	deployment.SetFinalizers(nil)
	if err := w.client.Update(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, &hyperv1.NodePool{}); !apierrors.IsNotFound(err) {
		t.Errorf("node pool: %v", err)
	}
}

// TestForeignNamespace: a pool whose cluster leads to the control plane of another changes nothing there, neither while it lives nor when
// it goes.
func TestForeignNamespace(t *testing.T) {
	foreign := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cpns, Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "another/cluster"}}}
	victims := clusterapi.New(clusterapi.MachineDeployment, cpns, "demo")
	victims.SetAnnotations(map[string]string{hyperv1.NodePoolAnnotation: "clusters/demo"})
	np := nodePool()
	np.Finalizers = []string{hyperv1.Finalizer}
	w := newWorld(t, append(surroundings(t), np, foreign, victims)...)
	before := w.object(t, clusterapi.MachineDeployment, "demo").GetResourceVersion()
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	ready := condition(w.pool(t), hyperv1.NodePoolReady)
	if ready.Status != corev1.ConditionFalse || !strings.Contains(ready.Message, "is not this cluster's") || strings.Contains(ready.Message, "another/cluster") {
		t.Errorf("Ready: %+v", ready)
	}
	if err := w.client.Delete(t.Context(), w.pool(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, &hyperv1.NodePool{}); !apierrors.IsNotFound(err) {
		t.Errorf("the pool does not go: %v", err)
	}
	if after := w.object(t, clusterapi.MachineDeployment, "demo").GetResourceVersion(); after != before {
		t.Errorf("the other cluster's MachineDeployment: %s, then %s", before, after)
	}
}

func TestHealthCheckTakesOverrides(t *testing.T) {
	np, objects := nodePool(), surroundings(t)
	np.Spec.Management.AutoRepair = true
	np.Annotations = map[string]string{hyperv1.MachineHealthCheckTimeout: "4m", hyperv1.MachineHealthCheckMaxUnhealthy: "40%"}
	objects[0].SetAnnotations(map[string]string{hyperv1.MachineHealthCheckTimeout: "5m", hyperv1.MachineHealthCheckNodeStartup: "30m"})
	w := newWorld(t, append(objects, np)...)
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	token := &corev1.Secret{}
	name := names.Token(np, w.pool(t).Annotations[hyperv1.NodePoolTargetConfigVersionAnnotation])
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: cpns, Name: name}, token); err != nil {
		t.Fatal(err)
	}
	token.Annotations[hyperv1.IgnitionReachedAnnotation] = "True"
	if err := w.client.Update(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	golden(t, "machinehealthcheck.yaml", manifest(w.object(t, clusterapi.MachineHealthCheck, "demo")))
	if c := condition(w.pool(t), hyperv1.NodePoolAutorepairEnabled); c.Status != corev1.ConditionTrue {
		t.Errorf("AutorepairEnabled = %+v", c)
	}
}

func TestReadyFollowsTheCluster(t *testing.T) {
	objects := surroundings(t)
	w := newWorld(t, append(objects[1:], nodePool())...)
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	if c := condition(w.pool(t), hyperv1.NodePoolReady); c.Reason != hyperv1.NotFoundReason {
		t.Errorf("Ready = %+v", c)
	}
	hc := objects[0].(*hyperv1.HostedCluster)
	hc.Status.IgnitionEndpoint = ""
	if err := w.client.Create(t.Context(), hc); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pass(t); err != nil {
		t.Fatal(err)
	}
	if c := condition(w.pool(t), hyperv1.NodePoolReady); c.Reason != hyperv1.WaitingForInfrastructureReason {
		t.Errorf("the cluster is there, yet Ready = %+v", c)
	}
}

func TestRefusedMachinesShowInReady(t *testing.T) {
	w := newWorld(t, append(surroundings(t), nodePool())...)
	refusal := apierrors.NewInvalid(clusterapi.MachineDeployment.GroupKind(), "demo", nil)
	inner := w.Reconciler.client
	w.Reconciler.client = refusing{inner, refusal}
	if _, err := w.pass(t); !apierrors.IsInvalid(err) {
		t.Fatalf("error = %v", err)
	}
	w.Reconciler.client = inner
	if c := condition(w.pool(t), hyperv1.NodePoolReady); c.Status != corev1.ConditionFalse || c.Reason != hyperv1.ValidationFailedReason || !strings.Contains(c.Message, "invalid") {
		t.Errorf("Ready = %+v", c)
	}
}

// refusing does not take MachineDeployments.
type refusing struct {
	client.Client
	err error
}

func (r refusing) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if kind, ok := obj.(interface{ GetKind() string }); ok && kind.GetKind() == clusterapi.MachineDeployment.Kind {
		return r.err
	}
	return r.Client.Apply(ctx, obj, opts...)
}

func TestNothingIsMadeForAClusterThatGoes(t *testing.T) {
	objects := surroundings(t)
	objects[0].SetDeletionTimestamp(&metav1.Time{Time: now})
	objects[0].SetFinalizers([]string{hyperv1.Finalizer})
	w := newWorld(t, append(objects, nodePool())...)
	if _, err := w.pass(t); err != nil || len(w.writes) > 0 {
		t.Errorf("wrote %v (%v)", w.writes, err)
	}
}
