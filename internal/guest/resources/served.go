package resources

import (
	"context"
	"errors"
	"fmt"

	oauthv1 "github.com/openshift/api/oauth/v1"
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

// lateGroups are those of kinds that the guest may do without for now: a release before Kubernetes 1.30 has no admission policies, and
// an aggregated API server, or what no operator of the payload waits for, may come when the rest is there.
var lateGroups = map[string]bool{admissionv1.GroupName: true, oauthv1.GroupName: true, configuration.CatalogKind.Group: true,
	configuration.MonitorKind.Group: true}

// errSilent is of a group whose API server has been asked in this pass and did not answer: to ask takes long.
var errSilent = errors.New("its API server does not answer")

// serves tells whether the guest serves a kind, unless that could not be found out for its group before.
func (r *reconciler) serves(gvk schema.GroupVersionKind, silent map[string]bool) (bool, error) {
	if silent[gvk.Group] {
		return false, fmt.Errorf("find kind %s in the guest: %w", gvk.Kind, errSilent)
	}
	_, err := r.guest.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if apimeta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		silent[gvk.Group] = true
		return false, fmt.Errorf("find kind %s in the guest: %w", gvk.Kind, err)
	}
	return true, nil
}

// configure applies the configuration as far as its kinds are served, and watches them from then on. It tells whether all are.
func (r *reconciler) configure(ctx context.Context, facts *inside.Facts) (bool, error) {
	var failed []error
	served := true
	kinds, silent := map[schema.GroupVersionKind]bool{}, map[string]bool{}
	for _, obj := range configuration.Objects(facts) {
		gvk := obj.GroupVersionKind()
		there, err := r.serves(gvk, silent)
		if !there {
			served = served && (err != nil || lateGroups[gvk.Group])
			failed = append(failed, err)
			continue
		}
		kinds[gvk] = true
		failed = append(failed, r.ensure(ctx, obj), r.ensureStatus(ctx, obj))
	}
	for _, obj := range configuration.SharedObjects(facts) {
		there, err := r.serves(obj.GroupVersionKind(), silent)
		if there {
			err = r.share(ctx, obj)
		}
		served = served && (there || err != nil || lateGroups[obj.GroupVersionKind().Group])
		failed = append(failed, err)
	}
	if served {
		failed = append(failed, r.watchConfiguration(kinds))
	}
	return served, errors.Join(failed...)
}

// share applies an object that the guest's users write too, read past the cache with all that they wrote.
func (r *reconciler) share(ctx context.Context, obj configuration.Shared) error {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(obj.GroupVersionKind())
	err := r.guest.Get(ctx, client.ObjectKeyFromObject(obj), live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read %s: %w", kube.Describe(obj), err)
	}
	if err != nil {
		return r.ensureFrom(ctx, obj.Unstructured, nil)
	}
	if desired := obj.From(live); desired != nil {
		return r.ensureFrom(ctx, desired, live)
	}
	return nil
}

// watchConfiguration begins to watch kinds that a new guest does not have yet when this program starts.
func (r *reconciler) watchConfiguration(kinds map[schema.GroupVersionKind]bool) error {
	for gvk := range kinds {
		if r.watched[gvk] {
			continue
		}
		obj := &metav1.PartialObjectMetadata{}
		obj.SetGroupVersionKind(gvk)
		kind := source.Kind[client.Object](r.cache, obj, plane.Once(), predicate.ResourceVersionChangedPredicate{})
		if err := r.controller.Watch(kind); err != nil {
			return fmt.Errorf("watch %s in the guest: %w", gvk.Kind, err)
		}
		r.watched[gvk] = true
	}
	if r.watching {
		return nil
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
