package kube

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// AddFinalizer makes sure the stored object carries the finalizer.
func AddFinalizer(ctx context.Context, c client.Client, obj client.Object, finalizer string) error {
	return patchFinalizer(ctx, c, obj, func() bool { return controllerutil.AddFinalizer(obj, finalizer) }, "adding", finalizer)
}

// RemoveFinalizer makes sure the stored object does not carry the finalizer; an object that is gone is no error.
func RemoveFinalizer(ctx context.Context, c client.Client, obj client.Object, finalizer string) error {
	err := patchFinalizer(ctx, c, obj, func() bool { return controllerutil.RemoveFinalizer(obj, finalizer) }, "removing", finalizer)
	return client.IgnoreNotFound(err)
}

// patchFinalizer locks on the resource version: finalizers are a plain list, and a merge patch of an old list would drop
// what another controller added meanwhile.
func patchFinalizer(ctx context.Context, c client.Client, obj client.Object, change func() bool, verb, finalizer string) error {
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%s finalizer %s: %T is not an object", verb, finalizer, obj)
	}
	if !change() {
		return nil
	}
	if err := c.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("%s finalizer %s of %s: %w", verb, finalizer, Describe(obj), err)
	}
	return nil
}
