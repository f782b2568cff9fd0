package nodes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

const controlPlane = surveytest.Namespace

// machine of a namespace that is, or is to be, the Node.
func machine(namespace, name, node, providerID string) *unstructured.Unstructured {
	m := guesttest.MachineWith(map[string]string{"managed.hypershift.openshift.io.tier": "gold"}, `[{"key":"dedicated","value":"gpu","effect":"NoSchedule"}]`)
	m.SetNamespace(namespace)
	m.SetName(name)
	m.Object["spec"] = map[string]any{"providerID": providerID}
	m.Object["status"] = map[string]any{}
	if node != "" {
		m.Object["status"] = map[string]any{"nodeRef": map[string]any{"name": node}}
	}
	return m
}

func reconcilerOf(guest client.Client, machines ...client.Object) (*reconciler, *events.FakeRecorder) {
	hcp := guesttest.AzurePlane()
	hcp.Namespace = controlPlane
	recorder := events.NewFakeRecorder(10)
	return &reconciler{guest: guest, management: surveytest.Client(append(machines, hcp)...).Build(), namespace: controlPlane, events: recorder}, recorder
}

func pass(t *testing.T, r *reconciler) (reconcile.Result, error) {
	t.Helper()
	return r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "n"}})
}

// TestForeignNodes: a Node of another cluster goes, with its reason; one that a Machine claims, or of which it is not known, stays.
func TestForeignNodes(t *testing.T) {
	other, own := guesttest.VirtualMachine("subscription", "other", "n"), guesttest.VirtualMachine("subscription", "group", "n")
	for name, c := range map[string]struct {
		provider string
		machines []client.Object
		gone     bool
	}{
		"of another group":                   {other, nil, true},
		"of another group, a Machine has it": {other, []client.Object{machine(controlPlane, "m", "", strings.ToUpper(other))}, false},
		"a Machine of another cluster has":   {other, []client.Object{machine("clusters-other", "m", "n", other)}, true},
		"its own":                            {own, nil, false},
		"about to join":                      {"", nil, false},
		"of no cloud":                        {"kind://docker/a/b", nil, false},
	} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "a-uid"}, Spec: corev1.NodeSpec{ProviderID: c.provider}}
		guest := fake.NewClientBuilder().WithObjects(node).Build()
		r, recorder := reconcilerOf(guest, c.machines...)
		if _, err := pass(t, r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := guest.Get(t.Context(), client.ObjectKeyFromObject(node), node); (err != nil) != c.gone || (len(recorder.Events) == 1) != c.gone {
			t.Errorf("%s: %v after %d events", name, err, len(recorder.Events))
		}
	}
}

// TestForeignIsNotGuessed: without knowing the control plane or its Machines no Node is removed.
func TestForeignIsNotGuessed(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "a-uid"},
		Spec: corev1.NodeSpec{ProviderID: guesttest.VirtualMachine("subscription", "other", "n")}}
	hcp := guesttest.AzurePlane()
	hcp.Namespace = controlPlane
	for name, management := range map[string]client.Client{
		"no control plane": surveytest.Client().Build(),
		"no Machines": surveytest.Client(hcp).WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, inner client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
				if _, is := list.(*unstructured.UnstructuredList); is {
					return errors.New("no answer")
				}
				return inner.List(ctx, list, o...)
			},
		}).Build(),
	} {
		guest := fake.NewClientBuilder().WithObjects(node.DeepCopy()).Build()
		r, _ := reconcilerOf(guest)
		r.management = management
		if _, err := pass(t, r); err == nil {
			t.Errorf("%s: no error", name)
		}
		if err := guest.Get(t.Context(), client.ObjectKeyFromObject(node), &corev1.Node{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOneWrite: a Node is written once, and again when somebody takes away what it has from its pool; what others gave it stays.
func TestOneWrite(t *testing.T) {
	var writes atomic.Int64
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"mine": "x"}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "mine", Effect: corev1.TaintEffectNoExecute}}}}
	guest := fake.NewClientBuilder().WithObjects(node).WithInterceptorFuncs(kubetest.CountWrites(&writes)).Build()
	r, _ := reconcilerOf(guest, machine(controlPlane, "m", "n", ""), machine(controlPlane, "another", "o", ""), machine("clusters-other", "z", "n", ""))
	for _, step := range []struct {
		change func(*corev1.Node)
		writes int64
	}{
		{nil, 1}, {nil, 1},
		{func(n *corev1.Node) { n.Spec.Taints = n.Spec.Taints[:1] }, 3},
		{func(n *corev1.Node) { n.Labels["tier"] = "silver" }, 5},
		{func(n *corev1.Node) { delete(n.Labels, workerRole) }, 7},
		{func(n *corev1.Node) { n.Labels["theirs"] = "y" }, 8},
		{nil, 8},
	} {
		if step.change != nil {
			step.change(node)
			if err := guest.Update(t.Context(), node); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := pass(t, r); err != nil {
			t.Fatal(err)
		}
		if err := guest.Get(t.Context(), client.ObjectKeyFromObject(node), node); err != nil {
			t.Fatal(err)
		}
		if node.Labels["tier"] != "gold" || node.Labels["mine"] != "x" || len(node.Spec.Taints) != 2 || writes.Load() != step.writes {
			t.Errorf("%v %v after %d writes, want %d", node.Labels, node.Spec.Taints, writes.Load(), step.writes)
		}
	}
}

// TestNodeWithoutAMachine is somebody else's; one that is gone is nobody's.
func TestNodeWithoutAMachine(t *testing.T) {
	var writes atomic.Int64
	guest := fake.NewClientBuilder().WithObjects(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}).
		WithInterceptorFuncs(kubetest.CountWrites(&writes)).Build()
	r, _ := reconcilerOf(guest, machine(controlPlane, "m", "o", ""))
	if result, err := pass(t, r); err != nil || result.RequeueAfter != 0 || writes.Load() != 0 {
		t.Errorf("%+v, %d writes, %v", result, writes.Load(), err)
	}
	r.guest = fake.NewClientBuilder().Build()
	if _, err := pass(t, r); err != nil {
		t.Error(err)
	}
}

// TestAnotherWins: a list of taints that another has written meanwhile is looked at again soon, and is no error.
func TestAnotherWins(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		soon bool
	}{
		"a conflict": {apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "n", errors.New("changed")), true},
		"an error":   {errors.New("no answer"), false},
	} {
		guest := fake.NewClientBuilder().WithObjects(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}).WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(_ context.Context, _ client.WithWatch, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
				if data, err := patch.Data(obj); err != nil || !strings.Contains(string(data), "resourceVersion") {
					t.Errorf("the patch has no lock: %s, %v", data, err)
				}
				return c.err
			},
		}).Build()
		r, _ := reconcilerOf(guest, machine(controlPlane, "n", "", ""))
		if result, err := pass(t, r); (result.RequeueAfter == conflictPause) != c.soon || (err == nil) != c.soon {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
}

// TestWhatThePoolSays: what cannot be read of the pool changes nothing on the Node; what cannot be read on the Node is written anew.
func TestWhatThePoolSays(t *testing.T) {
	broken := guesttest.MachineWith(nil, "[")
	node := &corev1.Node{}
	if err := adjust(node, broken); err == nil || !strings.Contains(err.Error(), hyperv1.NodePoolTaintsAnnotation) || node.Labels != nil {
		t.Errorf("%v, %v", node.Labels, err)
	}
	node.Annotations = map[string]string{appliedNodeAnnotation: "{"}
	node.Labels = map[string]string{"kept": "x"}
	if err := adjust(node, guesttest.MachineWith(nil, "")); err != nil || node.Labels["kept"] != "x" || node.Annotations[appliedNodeAnnotation] == "{" {
		t.Errorf("%v %v, %v", node.Labels, node.Annotations, err)
	}
	// A taint whose value alone changes is one taint.
	for _, value := range []string{"a", "b"} {
		if err := adjust(node, guesttest.MachineWith(nil, `[{"key":"k","value":"`+value+`","effect":"NoSchedule"},{"key":"k","effect":"NoExecute"}]`)); err != nil {
			t.Fatal(err)
		}
		if len(node.Spec.Taints) != 2 || !slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Value == value }) {
			t.Errorf("%v", node.Spec.Taints)
		}
	}
}
