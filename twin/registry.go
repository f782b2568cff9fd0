package twin

import (
	"context"
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var registryKind = schema.GroupVersionKind{Group: "imageregistry.operator.openshift.io", Version: "v1", Kind: "Config"}

// removedRegistry says for the operator of the image registry, who is a checker, that a registry which is to be removed has nothing left: a
// checker never made anything for it.
func (v versionOperator) removedRegistry(ctx context.Context) error {
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(registryKind)
	err := v.client.Get(ctx, client.ObjectKey{Name: "cluster"}, config)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	if state, _, _ := unstructured.NestedString(config.Object, "spec", "managementState"); state != string(operatorv1.Removed) {
		return nil
	}
	before := config.DeepCopy()
	conditions, _, _ := unstructured.NestedSlice(config.Object, "status", "conditions")
	if len(conditions) == 0 {
		now := metav1.Now().UTC().Format("2006-01-02T15:04:05Z")
		for kind, status := range map[string]string{"Removed": "True", "StorageExists": "False"} {
			conditions = append(conditions, map[string]any{"type": kind, "status": status, "reason": "Checker", "message": Said + "it made no registry", "lastTransitionTime": now})
		}
		config.Object["status"] = map[string]any{"storageManaged": false, "storage": map[string]any{}, "readyReplicas": int64(0), "conditions": conditions,
			"observedGeneration": config.GetGeneration(), "generations": []any{}}
	}
	return v.writeStatus(ctx, config, before)
}
