package guest

import (
	"context"
	"errors"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// configuration is what a hosted cluster says about itself in kinds that must be defined first.
var configuration = []func(*Facts) []*unstructured.Unstructured{
	clusterVersion,
	singletons,
	guards,
	policyNotices,
}

// wholeKinds have a status that is written with the specification: their definitions know no other way to write it.
var wholeKinds = map[schema.GroupVersionKind]bool{networkKind: true}

// Configuration is every object of OpenShift's configuration that the operator keeps in the guest; their statuses, where they have
// one, are applied too.
func Configuration(facts *Facts) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, objects := range configuration {
		out = append(out, objects(facts)...)
	}
	for _, obj := range out {
		obj.SetLabels(map[string]string{hyperv1.ManagedByLabel: managedBy})
	}
	return out
}

// configObject makes an object of config.openshift.io; a nil status is left to whoever writes it.
func configObject(kind, name string, spec, status map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	if status != nil {
		obj.Object["status"] = status
	}
	obj.SetGroupVersionKind(configv1.GroupVersion.WithKind(kind))
	obj.SetName(name)
	return obj
}

// clusterVersion is the identity of the cluster; its status is the version controller's.
func clusterVersion(facts *Facts) []*unstructured.Unstructured {
	hcp := facts.HCP
	spec := map[string]any{"clusterID": hcp.Spec.ClusterID}
	if hcp.Spec.Channel != "" {
		spec["channel"] = hcp.Spec.Channel
	}
	if hcp.Spec.UpdateService != "" {
		spec["upstream"] = hcp.Spec.UpdateService
	}
	return []*unstructured.Unstructured{configObject("ClusterVersion", clusterVersionName, spec, nil)}
}

// configure applies the configuration as far as its kinds are served, and watches them from then on. It tells whether all are.
func (r *resourceReconciler) configure(ctx context.Context, facts *Facts) (bool, error) {
	var failed []error
	served := true
	kinds := map[schema.GroupVersionKind]bool{}
	for _, obj := range Configuration(facts) {
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
func (r *resourceReconciler) watchConfiguration(kinds map[schema.GroupVersionKind]bool) error {
	if r.watching {
		return nil
	}
	for gvk := range kinds {
		obj := &metav1.PartialObjectMetadata{}
		obj.SetGroupVersionKind(gvk)
		kind := source.Kind[client.Object](r.cache, obj, reconcileOnce(), predicate.ResourceVersionChangedPredicate{})
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

// reconcileOnce maps whatever happened to the one request of a controller that has only one.
func reconcileOnce() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{{}} })
}

// ensureStatus applies the status an object was given, unless it is as this process left it.
func (r *resourceReconciler) ensureStatus(ctx context.Context, obj *unstructured.Unstructured) error {
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
	err = r.guest.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(desired), client.FieldOwner(FieldManager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply the status of %s: %w", kube.Describe(obj), err)
	}
	r.applied[key] = applied{hash, desired.GetResourceVersion()}
	return nil
}
