package cleanup

import (
	"context"
	"fmt"

	imageregistryv1 "github.com/openshift/api/imageregistry/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Kinds of OpenShift's operators that make something in Azure; a guest without those operators does not know them.
var (
	ingressControllers = operatorv1.GroupVersion.WithKind("IngressController")
	registryConfig     = imageregistryv1.GroupVersion.WithKind("Config")
)

const (
	ingressNamespace = contract.IngressOperatorNamespace
	registryName     = "cluster"
	// Conditions of the registry's operator.
	registryRemoved = "Removed"
	storageExists   = "StorageExists"
)

// registry has the operator of the image registry take away the registry and the storage that it made for it. Storage of the user's stays.
func (r *reconciler) registry(ctx context.Context) ([]string, error) {
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(registryConfig)
	err := r.live.Get(ctx, client.ObjectKey{Name: registryName}, config)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration of the image registry: %w", err)
	}
	if state, _, _ := unstructured.NestedString(config.Object, "spec", "storage", "managementState"); state == string(operatorv1.Unmanaged) {
		return nil, nil
	}
	if state, _, _ := unstructured.NestedString(config.Object, "spec", "managementState"); state != string(operatorv1.Removed) {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"managementState":"Removed"}}`))
		if err := r.guest.Patch(ctx, config, patch); err != nil {
			return nil, fmt.Errorf("remove the image registry: %w", err)
		}
	}
	if holds(config, registryRemoved) && !holds(config, storageExists) {
		return nil, nil
	}
	return []string{registryName}, nil
}

// holds tells whether a condition of an operator's configuration is True.
func holds(config *unstructured.Unstructured, condition string) bool {
	conditions, _, _ := unstructured.NestedSlice(config.Object, "status", "conditions")
	for _, c := range conditions {
		if fields, _ := c.(map[string]any); fields["type"] == condition {
			return fields["status"] == string(operatorv1.ConditionTrue)
		}
	}
	return false
}
