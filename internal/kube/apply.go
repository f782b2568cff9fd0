// Package kube is how controllers and the command line write to Kubernetes: server-side apply without needless writes,
// conditions and finalizers.
package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// DesiredHashPrefix and the field manager name the annotation with the hash of the state that manager last applied. Each
// manager has its own, so that two that share an object do not write in turns for ever.
const DesiredHashPrefix = "desired-hash.hypershift.openshift.io/"

// Apply brings every object to its desired state by server-side apply as fieldManager, taking over conflicting fields. It
// stops at the first object that fails.
//
// An object that already carries the hash of the desired state is left alone, so an idle reconcile makes no write. Drift
// made by hand therefore stays until the desired state or the hash changes; objects of someone else's making that have to
// be held in place go through ApplyAlways.
//
// The status of the objects is not applied.
func Apply(ctx context.Context, c client.Client, fieldManager string, objs ...client.Object) error {
	for _, obj := range objs {
		if err := applyChanged(ctx, c, fieldManager, obj); err != nil {
			return err
		}
	}
	return nil
}

// ApplyAlways is Apply without the comparison of hashes: the API server decides whether anything changes. It writes the hash all the
// same, so that an Apply of the same state afterwards finds nothing to do.
func ApplyAlways(ctx context.Context, c client.Client, fieldManager string, objs ...client.Object) error {
	for _, obj := range objs {
		desired, _, err := stamped(c.Scheme(), fieldManager, obj)
		if err != nil {
			return err
		}
		if err := write(ctx, c, fieldManager, desired); err != nil {
			return err
		}
	}
	return nil
}

func applyChanged(ctx context.Context, c client.Client, fieldManager string, obj client.Object) error {
	desired, hash, err := stamped(c.Scheme(), fieldManager, obj)
	if err != nil {
		return err
	}
	same, err := hasAnnotation(ctx, c, desired, DesiredHashPrefix+fieldManager, hash)
	if err != nil || same {
		return err
	}
	return write(ctx, c, fieldManager, desired)
}

// stamped is the object as it is applied, with the hash of its desired state among its annotations.
func stamped(scheme *runtime.Scheme, fieldManager string, obj client.Object) (*unstructured.Unstructured, string, error) {
	desired, err := ToApply(scheme, obj)
	if err != nil {
		return nil, "", err
	}
	hash, err := hashOf(desired)
	if err != nil {
		return nil, "", fmt.Errorf("hashing %s: %w", Describe(desired), err)
	}
	annotations := desired.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[DesiredHashPrefix+fieldManager] = hash
	desired.SetAnnotations(annotations)
	return desired, hash, nil
}

func write(ctx context.Context, c client.Client, fieldManager string, desired *unstructured.Unstructured) error {
	err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(desired), client.FieldOwner(fieldManager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("applying %s: %w", Describe(desired), err)
	}
	return nil
}

// ToApply turns an object into the form that server-side apply wants: with its kind, and without status and everything
// the server fills in. A field that the caller left at its zero value and that the type always prints stays in.
func ToApply(scheme *runtime.Scheme, obj client.Object) (*unstructured.Unstructured, error) {
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return nil, fmt.Errorf("finding the kind of %T %q: %w", obj, obj.GetName(), err)
	}
	var u *unstructured.Unstructured
	if given, ok := obj.(*unstructured.Unstructured); ok {
		u = given.DeepCopy()
	} else {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return nil, fmt.Errorf("converting %s %q: %w", gvk.Kind, obj.GetName(), err)
		}
		u = &unstructured.Unstructured{Object: content}
	}
	u.SetGroupVersionKind(gvk)
	delete(u.Object, "status")
	for _, field := range []string{"creationTimestamp", "resourceVersion", "uid", "generation", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	dropNulls(u.Object)
	return u, nil
}

// dropNulls removes null members: types without omitempty print them (creationTimestamp of a pod template is one), and
// apply would claim and clear those fields.
func dropNulls(v any) {
	switch t := v.(type) {
	case map[string]any:
		for k, member := range t {
			if member == nil {
				delete(t, k)
				continue
			}
			dropNulls(member)
		}
	case []any:
		for _, item := range t {
			dropNulls(item)
		}
	}
}

func hashOf(u *unstructured.Unstructured) (string, error) {
	raw, err := json.Marshal(u.Object)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8]), nil
}

func hasAnnotation(ctx context.Context, c client.Client, desired *unstructured.Unstructured, key, value string) (bool, error) {
	live, err := emptyLike(c.Scheme(), desired)
	if err != nil {
		return false, err
	}
	err = c.Get(ctx, client.ObjectKeyFromObject(desired), live)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading %s: %w", Describe(desired), err)
	}
	return live.GetDeletionTimestamp() == nil && live.GetAnnotations()[key] == value, nil
}

// emptyLike prefers the typed form, because a controller's cache is filled by type and reading an unstructured object
// would start a second watch.
func emptyLike(scheme *runtime.Scheme, desired *unstructured.Unstructured) (client.Object, error) {
	gvk := desired.GroupVersionKind()
	if scheme.Recognizes(gvk) {
		typed, err := scheme.New(gvk)
		if err != nil {
			return nil, fmt.Errorf("making an empty %s: %w", gvk.Kind, err)
		}
		if obj, ok := typed.(client.Object); ok {
			obj.GetObjectKind().SetGroupVersionKind(gvk) // the scheme may know it as unstructured
			return obj, nil
		}
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u, nil
}

// AppliedBy tells whether the field manager made the object with Apply.
func AppliedBy(obj client.Object, fieldManager string) bool {
	return obj.GetAnnotations()[DesiredHashPrefix+fieldManager] != ""
}

// Describe names an object for a person: kind and, where there is one, namespace.
func Describe(obj client.Object) string {
	kind := obj.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		// Typed objects seldom carry their kind, which is the name of the type.
		kind = reflect.Indirect(reflect.ValueOf(obj)).Type().Name()
	}
	if obj.GetNamespace() == "" {
		return fmt.Sprintf("%s %q", kind, obj.GetName())
	}
	return fmt.Sprintf("%s %q in namespace %q", kind, obj.GetName(), obj.GetNamespace())
}

// DeleteIfExists deletes an object; one that is gone already, or whose kind the cluster does not know, is no error.
func DeleteIfExists(ctx context.Context, c client.Client, obj client.Object, opts ...client.DeleteOption) error {
	err := c.Delete(ctx, obj, opts...)
	if err == nil || apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	return fmt.Errorf("deleting %s: %w", Describe(obj), err)
}
