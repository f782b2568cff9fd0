package nodepool

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/observed"
	"github.com/hypershift-on-azure/hypershift/internal/tenancy"
)

// delete removes a pool: what makes machines, then (when the last machine is gone) its secrets, then the finalizer.
func (r *Reconciler) delete(ctx context.Context, p *pass) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(p.np, hyperv1.Finalizer) {
		return ctrl.Result{}, nil
	}
	if _, err := tenancy.Read(ctx, r.client, r.live, r.tenant(ctx, p)); err != nil {
		if !tenancy.IsRefusal(err) {
			return ctrl.Result{}, err
		}
		// Nothing was ever made for this pool.
		return ctrl.Result{}, kube.RemoveFinalizer(ctx, r.client, p.np, hyperv1.Finalizer)
	}
	if err := r.deleteMakers(ctx, p); err != nil {
		return ctrl.Result{}, err
	}
	// Their maker goes last: while it is there it may still make a machine.
	for _, gvk := range []schema.GroupVersionKind{clusterapi.Machine, observed.MakerKind(p.np)} {
		left, err := poolObjects(ctx, r.live, p, gvk)
		if err != nil && !meta.IsNoMatchError(err) {
			return ctrl.Result{}, err
		}
		if len(left) > 0 {
			if err := r.tellDeletion(ctx, p); err != nil {
				return ctrl.Result{}, err
			}
			return ctrl.Result{RequeueAfter: waitForMachines}, nil
		}
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
	if observed.UpdatedInPlace(p.np) {
		if err := r.writeUpdates(ctx, p, nil); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, kube.RemoveFinalizer(ctx, r.client, p.np, hyperv1.Finalizer)
}

// deleteMakers deletes what makes machines, and what the node tuning operator is told of them. It reads past the cache: an object that it does not show yet would be left behind.
func (r *Reconciler) deleteMakers(ctx context.Context, p *pass) error {
	for _, gvk := range []schema.GroupVersionKind{clusterapi.MachineHealthCheck, observed.MakerKind(p.np), clusterapi.AzureMachineTemplate} {
		items, err := poolObjects(ctx, r.live, p, gvk)
		if err != nil && !meta.IsNoMatchError(err) {
			return err
		}
		for i := range items {
			if err := r.deleteUnpaused(ctx, &items[i]); err != nil {
				return err
			}
		}
	}
	return r.forgetTuning(ctx, p, nil)
}

// tenant is the pool's cluster, which may be gone.
func (r *Reconciler) tenant(ctx context.Context, p *pass) tenancy.Tenant {
	hc := &hyperv1.HostedCluster{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: p.np.Namespace, Name: p.np.Spec.ClusterName}, hc); err == nil {
		return tenancy.Of(hc)
	}
	return tenancy.Tenant{Namespace: p.np.Namespace, Name: p.np.Spec.ClusterName}
}

// deleteUnpaused deletes an object of Cluster API, which would not clean up after one that is paused.
func (r *Reconciler) deleteUnpaused(ctx context.Context, obj *unstructured.Unstructured) error {
	if _, paused := obj.GetAnnotations()[contract.PausedAnnotation]; paused {
		if err := r.setPaused(ctx, obj, false); err != nil {
			return err
		}
	}
	if obj.GetDeletionTimestamp() != nil {
		return nil
	}
	return kube.DeleteIfExists(ctx, r.client, obj)
}

func (r *Reconciler) setPaused(ctx context.Context, obj *unstructured.Unstructured, paused bool) error {
	value := `null`
	if paused {
		value = `"true"`
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+contract.PausedAnnotation+`":`+value+`}}}`))
	target := clusterapi.New(obj.GroupVersionKind(), obj.GetNamespace(), obj.GetName())
	if err := r.client.Patch(ctx, target, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("pause or resume %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return nil
}
