package resources

import (
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/hypershift-on-azure/hypershift/internal/guest/configuration"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// wholeKinds have a status that is written with the specification: their definitions know no other way to write it.
var wholeKinds = map[schema.GroupVersionKind]bool{configuration.NetworkKind: true}

// configure applies the configuration as far as its kinds are served, and watches them from then on. It tells whether all are.
func (r *reconciler) configure(ctx context.Context, facts *inside.Facts) (bool, error) {
	var failed []error
	served := true
	kinds := map[schema.GroupVersionKind]bool{}
	for _, obj := range configuration.Objects(facts) {
		gvk := obj.GroupVersionKind()
		if _, err := r.guest.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); apimeta.IsNoMatchError(err) {
			// A release before Kubernetes 1.30 has no such policies: it does without guards.
			served = served && gvk.Group == admissionv1.GroupName
			continue
		} else if err != nil {
			failed = append(failed, fmt.Errorf("find kind %s in the guest: %w", gvk.Kind, err))
			continue
		}
		kinds[gvk] = true
		failed = append(failed, r.ensure(ctx, obj), r.ensureStatus(ctx, obj))
	}
	if served {
		failed = append(failed, r.watchConfiguration(kinds))
	}
	return served, errors.Join(failed...)
}

// watchConfiguration begins, once, to watch kinds that a new guest does not have yet when this program starts.
func (r *reconciler) watchConfiguration(kinds map[schema.GroupVersionKind]bool) error {
	if r.watching {
		return nil
	}
	for gvk := range kinds {
		obj := &metav1.PartialObjectMetadata{}
		obj.SetGroupVersionKind(gvk)
		kind := source.Kind[client.Object](r.cache, obj, plane.Once(), predicate.ResourceVersionChangedPredicate{})
		if err := r.controller.Watch(kind); err != nil {
			return fmt.Errorf("watch %s in the guest: %w", gvk.Kind, err)
		}
	}
	if err := r.whenServed(); err != nil {
		return err
	}
	r.watching = true
	ctrl.Log.Info("the guest serves all kinds of its configuration")
	return nil
}

// ensureStatus applies the status an object was given, unless it is as this process left it.
func (r *reconciler) ensureStatus(ctx context.Context, obj *unstructured.Unstructured) error {
	status, ok := obj.Object["status"]
	if !ok || wholeKinds[obj.GroupVersionKind()] {
		return nil
	}
	hash, err := hashOf(status)
	if err != nil {
		return fmt.Errorf("encode the status of %s: %w", kube.Describe(obj), err)
	}
	key := obj.GroupVersionKind().String() + "/" + obj.GetName() + "/status"
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(obj.GroupVersionKind())
	if err := r.guest.Get(ctx, types.NamespacedName{Name: obj.GetName()}, live); err != nil {
		return client.IgnoreNotFound(err) // The cache has not seen it yet; its event brings the next pass.
	}
	// Nothing but the resource version moves with a status.
	if r.applied[key] == (applied{hash, live.ResourceVersion}) {
		return nil
	}
	desired := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	desired.SetGroupVersionKind(obj.GroupVersionKind())
	desired.SetName(obj.GetName())
	err = r.guest.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(desired), client.FieldOwner(inside.FieldManager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply the status of %s: %w", kube.Describe(obj), err)
	}
	r.applied[key] = applied{hash, desired.GetResourceVersion()}
	return nil
}
