package conversion

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize bounds what is in memory of a kind's objects.
const pageSize = 500

// Migration rewrites objects that are stored in a version other than the definition's, and then takes that version off the
// definition's list: from then on nobody needs the webhook to read them.
type Migration struct {
	client.Client
	// Live reads past the cache, whose watches these kinds should not get.
	Live client.Reader
}

// SetupWithManager registers the controller; the leader alone migrates.
func (m *Migration) SetupWithManager(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("storage-migration").
		For(&apiextensionsv1.CustomResourceDefinition{}).
		Complete(m)
	if err != nil {
		return fmt.Errorf("set the migration of stored objects up: %w", err)
	}
	return nil
}

// Reconcile migrates the objects of one definition.
func (m *Migration) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := m.Get(ctx, request.NamespacedName, crd); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	at := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if at < 0 || !crd.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	stored := crd.Spec.Versions[at].Name
	if slices.Equal(crd.Status.StoredVersions, []string{stored}) || !slices.Contains(crd.Status.StoredVersions, stored) {
		return ctrl.Result{}, nil
	}
	if err := m.rewrite(ctx, crd, stored); err != nil {
		return ctrl.Result{}, fmt.Errorf("store the objects of %s as %s: %w", crd.Name, stored, err)
	}
	// The version that was read goes along: a definition that changed meanwhile is looked at again.
	patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"status":{"storedVersions":[%q]}}`, crd.ResourceVersion, stored)
	target := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.Name}}
	if err := m.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(fieldManager)); err != nil {
		return ctrl.Result{}, fmt.Errorf("say that objects of %s are stored as %s alone: %w", crd.Name, stored, err)
	}
	ctrl.LoggerFrom(ctx).Info("objects are stored in one version", "definition", crd.Name, "version", stored, "before", crd.Status.StoredVersions)
	return ctrl.Result{}, nil
}

// rewrite changes nothing in the objects; the API server stores what it is given anew where the stored form differs.
func (m *Migration) rewrite(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string) error {
	list := &metav1.PartialObjectMetadataList{}
	kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version, Kind: crd.Spec.Names.Kind}
	for {
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(crd.Spec.Names.ListKind))
		if err := m.Live.List(ctx, list, client.Limit(pageSize), client.Continue(list.Continue)); err != nil {
			return err
		}
		for i := range list.Items {
			object := &list.Items[i]
			object.SetGroupVersionKind(kind)
			err := m.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte("{}")), client.FieldOwner(fieldManager))
			if client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("%s/%s: %w", object.Namespace, object.Name, err)
			}
		}
		if list.Continue == "" {
			return nil
		}
	}
}
