package controlplane

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/apiserver"
)

// decisivePods lets two events through: an API server is gone, since a rotation waits for the last one with the former configuration; and a member of
// etcd begins to fail, which is seen only while its container waits for its next start.
var decisivePods = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	UpdateFunc:  func(e event.UpdateEvent) bool { return !failingMember(e.ObjectOld) && failingMember(e.ObjectNew) },
	GenericFunc: func(event.GenericEvent) bool { return false },
	DeleteFunc:  func(e event.DeleteEvent) bool { return e.Object.GetLabels()[component.LabelApp] == apiserver.Name },
}

func failingMember(obj client.Object) bool {
	pod, ok := obj.(*corev1.Pod)
	return ok && pod.Labels[component.LabelApp] == contract.Etcd && len(contract.FailingMembers([]corev1.Pod{*pod})) > 0
}

// inNamespace finds the control plane of an object that only shares its namespace.
func (r *Reconciler) inNamespace(ctx context.Context, obj client.Object) []reconcile.Request {
	list := &hyperv1.HostedControlPlaneList{}
	if err := r.Client.List(ctx, list, client.InNamespace(obj.GetNamespace())); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}
