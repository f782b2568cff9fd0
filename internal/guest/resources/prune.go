package resources

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/guest/addons"
	"github.com/hypershift-on-azure/hypershift/internal/guest/configuration"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// kept are kinds whose objects stay when they are not wanted any more: what users keep in them would go too.
var kept = map[string]bool{"Namespace": true, "CustomResourceDefinition": true}

// prune deletes what this operator applied and does not want any more: an add-on that the payload dropped, a configuration that the
// user took back.
func (r *reconciler) prune(ctx context.Context, facts *inside.Facts) error {
	wanted, kinds := map[string]bool{}, map[schema.GroupVersionKind]bool{}
	note := func(obj client.Object) error {
		gvk, err := apiutil.GVKForObject(obj, r.guest.Scheme())
		if err != nil {
			return fmt.Errorf("find the kind of %T: %w", obj, err)
		}
		if obj.GetName() != "" {
			wanted[gvk.Kind+"/"+obj.GetNamespace()+"/"+obj.GetName()] = true
		}
		kinds[gvk] = true
		return nil
	}
	var failed []error
	for _, kind := range managedKinds() {
		failed = append(failed, note(kind))
	}
	for _, obj := range addons.Objects(facts) {
		failed = append(failed, note(obj))
	}
	if r.watching {
		for _, obj := range configuration.Objects(facts) {
			failed = append(failed, note(obj))
		}
		for _, kind := range configuration.OptionalKinds() {
			kinds[kind] = true
		}
	}
	for gvk := range kinds {
		if !kept[gvk.Kind] {
			failed = append(failed, r.pruneKind(ctx, gvk, wanted))
		}
	}
	return errors.Join(failed...)
}

func (r *reconciler) pruneKind(ctx context.Context, gvk schema.GroupVersionKind, wanted map[string]bool) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	err := r.guest.List(ctx, list, client.MatchingLabels{hyperv1.ManagedByLabel: inside.ManagedBy})
	if apimeta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s of this operator: %w", gvk.Kind, err)
	}
	var failed []error
	for i := range list.Items {
		obj := &list.Items[i]
		if wanted[gvk.Kind+"/"+obj.Namespace+"/"+obj.Name] || obj.DeletionTimestamp != nil || !appliedByUs(obj) {
			continue
		}
		obj.SetGroupVersionKind(gvk)
		failed = append(failed, kube.DeleteIfExists(ctx, r.guest, obj))
	}
	return errors.Join(failed...)
}

// appliedByUs: the label alone does not tell, because Kubernetes copies labels of Services to their endpoints.
func appliedByUs(obj client.Object) bool {
	return slices.ContainsFunc(obj.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == inside.FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply
	})
}
