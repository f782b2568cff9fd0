package nodepool

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// delete removes a pool: what makes machines, then (when the last machine is gone) its secrets, then the finalizer.
func (r *Reconciler) delete(ctx context.Context, p *pass) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(p.np, hyperv1.Finalizer) {
		return ctrl.Result{}, nil
	}
	for _, gvk := range []schema.GroupVersionKind{gvkMachineHealthCheck, gvkMachineDeployment, gvkMachineTemplate} {
		items, err := r.poolObjects(ctx, p, gvk)
		if err != nil && !meta.IsNoMatchError(err) {
			return ctrl.Result{}, err
		}
		for i := range items {
			if err := kube.DeleteIfExists(ctx, r.client, &items[i]); err != nil {
				return ctrl.Result{}, err
			}
		}
	}
	machines, err := r.poolObjects(ctx, p, gvkMachine)
	if err != nil && !meta.IsNoMatchError(err) {
		return ctrl.Result{}, err
	}
	if len(machines) > 0 {
		return ctrl.Result{RequeueAfter: waitForMachines}, nil
	}
	secrets, err := r.poolSecrets(ctx, p)
	if err != nil {
		return ctrl.Result{}, err
	}
	for i := range secrets {
		if err := kube.DeleteIfExists(ctx, r.client, &secrets[i]); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, kube.RemoveFinalizer(ctx, r.client, p.np, hyperv1.Finalizer)
}
