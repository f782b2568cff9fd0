package hostedcluster

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// TestDriftIsRepaired: a control-plane-operator that somebody scaled to zero comes back. A start of the operator, which takes for right
// what carries the right hash, costs no write.
func TestDriftIsRepaired(t *testing.T) {
	f := newFixture(t, "drift")
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())
	f.reconcile(t)
	f.playControlPlane(t)
	f.reconcileAgain(t)

	f.reconciler.keeper = kube.Keeper{Trust: true}
	f.writes.Store(0)
	f.reconcileAgain(t)
	if f.writes.Load() != 0 {
		t.Errorf("a start costs %d writes", f.writes.Load())
	}
	operator := &appsv1.Deployment{}
	key := types.NamespacedName{Namespace: f.controlPlane(t).Namespace, Name: contract.ControlPlaneOperator}
	if err := f.client.Get(t.Context(), key, operator); err != nil {
		t.Fatal(err)
	}
	before := operator.DeepCopy()
	operator.Spec.Replicas = ptr.To[int32](0)
	if err := f.client.Patch(t.Context(), operator, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	f.reconcileAgain(t)
	if err := f.client.Get(t.Context(), key, operator); err != nil || *operator.Spec.Replicas != 1 {
		t.Errorf("%v, the operator has %d replicas", err, *operator.Spec.Replicas)
	}
}
