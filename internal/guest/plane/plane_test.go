package plane

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	crfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// The list of conditions has several writers: whoever comes second must not undo the first.
func TestStatusKeepsWhatOthersWrote(t *testing.T) {
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "demo"}}
	scheme := runtime.NewScheme()
	if err := hyperv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	management := crfake.NewClientBuilder().WithScheme(scheme).WithObjects(hcp).WithStatusSubresource(hcp).Build()
	stale, err := Find(t.Context(), management, "clusters-demo")
	if err != nil {
		t.Fatal(err)
	}
	other := stale.DeepCopy()
	other.Status.Conditions = []metav1.Condition{{Type: "Available", Status: metav1.ConditionTrue, Reason: "AsExpected"}}
	if err := management.Status().Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if err := SetCondition(t.Context(), management, stale, metav1.Condition{Type: "Mine", Status: metav1.ConditionTrue, Reason: "AsExpected"}); err != nil {
		t.Fatal(err)
	}
	got, err := Find(t.Context(), management, "clusters-demo")
	if err != nil || len(got.Status.Conditions) != 2 {
		t.Errorf("conditions = %+v, %v", got.Status.Conditions, err)
	}
}
