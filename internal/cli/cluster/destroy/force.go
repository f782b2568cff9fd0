package destroy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
)

// forced are the kinds of the control-plane namespace in the order in which their finalizers hold each other.
var forced = []schema.GroupKind{
	{Group: "infrastructure.cluster.x-k8s.io", Kind: "AzureMachine"},
	{Group: "infrastructure.cluster.x-k8s.io", Kind: "AzureCluster"},
	{Group: "cluster.x-k8s.io", Kind: "Machine"},
	{Group: "cluster.x-k8s.io", Kind: "MachineSet"},
	{Group: "cluster.x-k8s.io", Kind: "MachineDeployment"},
	{Group: "cluster.x-k8s.io", Kind: "Cluster"},
	{Group: hyperv1.GroupVersion.Group, Kind: "HostedControlPlane"},
	{Group: "apps", Kind: "Deployment"},
}

// namespaceGrace is how long the namespace may take to empty itself once no finalizer is left in it.
const namespaceGrace = time.Minute

// forceFinalization takes off, from the bottom up, every finalizer that the hosted cluster waits for: what they guard is either
// removed with the infrastructure or lost. The HostedCluster keeps the finalizer of this command.
func (o *options) forceFinalization(ctx context.Context, c client.Client, key client.ObjectKey) error {
	namespace, err := controlPlaneNamespace(ctx, c, key)
	if err != nil {
		return fmt.Errorf("--force does nothing for HostedCluster %s: %w", key, err)
	}
	if namespace != nil {
		for _, kind := range forced {
			if err := stripKind(ctx, c, kind, namespace.Name); err != nil {
				return err
			}
		}
	}
	pools := &hyperv1.NodePoolList{}
	if err := c.List(ctx, pools, client.InNamespace(key.Namespace)); err != nil {
		return fmt.Errorf("cannot list the NodePools: %w", err)
	}
	for i := range pools.Items {
		if np := &pools.Items[i]; np.Spec.ClusterName == key.Name {
			if err := errors.Join(client.IgnoreNotFound(c.Delete(ctx, np)), strip(ctx, c, np)); err != nil {
				return fmt.Errorf("cannot force NodePool %s: %w", np.Name, err)
			}
		}
	}
	if namespace != nil {
		if err := forceNamespace(ctx, c, namespace); err != nil {
			return err
		}
	}
	hc := &hyperv1.HostedCluster{}
	if err := c.Get(ctx, key, hc); err != nil {
		return client.IgnoreNotFound(err)
	}
	return strip(ctx, c, hc, hyperv1.DestroyFinalizer)
}

// stripKind takes the finalizers off all objects of a kind; a kind that the management cluster does not know has none.
func stripKind(ctx context.Context, c client.Client, kind schema.GroupKind, namespace string) error {
	mapping, err := c.RESTMapper().RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot find the resource of %s: %w", kind, err)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(mapping.GroupVersionKind)
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("cannot list %s in %s: %w", kind, namespace, err)
	}
	for i := range list.Items {
		item := &list.Items[i]
		item.SetGroupVersionKind(mapping.GroupVersionKind)
		if err := strip(ctx, c, item); err != nil {
			return err
		}
	}
	return nil
}

// strip takes all finalizers off but the one to keep.
func strip(ctx context.Context, c client.Client, obj client.Object, keep ...string) error {
	kept := slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(name string) bool { return !slices.Contains(keep, name) })
	if len(kept) == len(obj.GetFinalizers()) {
		return nil
	}
	before := obj.DeepCopyObject().(client.Object)
	obj.SetFinalizers(kept)
	if err := c.Patch(ctx, obj, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot take the finalizers off %s: %w", client.ObjectKeyFromObject(obj), err)
	}
	return nil
}

// forceNamespace deletes the control-plane namespace, and no other one that gets its name meanwhile. It is left to empty itself before its
// own finalizer is taken off: without a namespace nothing would ever remove the rest of its pods.
func forceNamespace(ctx context.Context, c client.Client, own *corev1.Namespace) error {
	if err := c.Delete(ctx, own, client.Preconditions{UID: &own.UID}); err != nil {
		return client.IgnoreNotFound(err)
	}
	ns := &corev1.Namespace{}
	err := management.Within(ctx, time.Second, namespaceGrace, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(own), ns)
		if management.IsTransient(err) {
			return false, nil
		}
		return apierrors.IsNotFound(err) || err == nil && ns.UID != own.UID, client.IgnoreNotFound(err)
	})
	if !errors.Is(err, management.ErrTimeUp) {
		return err
	}
	if err := strip(ctx, c, ns); err != nil {
		return err
	}
	ns.Spec.Finalizers = nil
	if err := c.SubResource("finalize").Update(ctx, ns); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot take the finalizers off namespace %s: %w", own.Name, err)
	}
	return nil
}
