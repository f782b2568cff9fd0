package guest

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
)

// nodesOfOtherClusters came with a backup of etcd and go by themselves; what is this cluster's, or may be, stays.
func (s *server) nodesOfOtherClusters() {
	s.t.Helper()
	node := func(name, providerID string) client.Object {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
	}
	claimed := guesttest.VirtualMachine("subscription", "elsewhere", "claimed")
	machine := guesttest.MachineWith(nil, "")
	machine.SetNamespace(testNamespace)
	machine.SetName("claimed")
	s.must(unstructured.SetNestedField(machine.Object, map[string]any{
		"clusterName": "demo-x1", "providerID": claimed, "bootstrap": map[string]any{"dataSecretName": "x"},
		"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AzureMachine", "name": "claimed"},
	}, "spec"))
	s.create(machine)
	stays := []client.Object{
		node("joining", ""), node("own", guesttest.VirtualMachine("SUBSCRIPTION", "GROUP", "own")), node("claimed", claimed), node("metal", "libvirt:///host/x"),
	}
	foreign := []client.Object{
		node("original-1", guesttest.VirtualMachine("subscription", "original", "original-1")), node("original-2", guesttest.VirtualMachine("other", "group", "original-2")),
	}
	s.create(append(stays, foreign...)...)
	for _, obj := range foreign {
		s.eventually(func() error {
			if err := s.client.Get(s.t.Context(), client.ObjectKeyFromObject(obj), obj); !apierrors.IsNotFound(err) {
				return fmt.Errorf("node %s is still there: %w", obj.GetName(), errors.Join(err, errors.New("found")))
			}
			return nil
		})
		s.eventually(func() error { return s.toldOf(obj, "ForeignNode") })
	}
	// Labelled as the pool's: its pass is over.
	s.eventually(s.has(&corev1.Node{}, "claimed", `{"metadata":{"labels":{"hypershift.openshift.io/nodePool":"np"}}}`))
	for _, obj := range stays {
		s.must(s.client.Get(s.t.Context(), client.ObjectKeyFromObject(obj), obj))
	}
}

// toldOf tells what keeps an event from being there.
func (s *server) toldOf(obj client.Object, reason string) error {
	var list corev1.EventList
	if err := s.client.List(s.t.Context(), &list); err != nil {
		return err
	}
	for _, event := range list.Items {
		if event.Reason == reason && event.InvolvedObject.Name == obj.GetName() {
			return nil
		}
	}
	return fmt.Errorf("no event %s of %s", reason, obj.GetName())
}
