package twin

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var registryKind = schema.GroupVersionKind{Group: "imageregistry.operator.openshift.io", Version: "v1", Kind: "Config"}

// operateRegistry plays of the operator of the image registry what the end of a hosted cluster waits for, until ctx ends.
func operateRegistry(ctx context.Context) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("twin: registry: %w", err)
	}
	c, err := client.New(config, client.Options{Mapper: registryMapper()})
	if err != nil {
		return fmt.Errorf("twin: registry: %w", err)
	}
	for {
		if err := removedRegistry(ctx, c); err != nil {
			slog.Error("twin: registry", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// registryMapper knows the one kind without asking for all that is served.
func registryMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{registryKind.GroupVersion()})
	mapper.Add(registryKind, meta.RESTScopeRoot)
	return mapper
}

// removedRegistry says of a registry that is to be removed that nothing of it is left: a checker never made anything for it.
func removedRegistry(ctx context.Context, c client.Client) error {
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(registryKind)
	err := c.Get(ctx, client.ObjectKey{Name: "cluster"}, config)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	conditions, _, _ := unstructured.NestedSlice(config.Object, "status", "conditions")
	if state, _, _ := unstructured.NestedString(config.Object, "spec", "managementState"); state != string(operatorv1.Removed) || len(conditions) > 0 {
		return nil
	}
	now := metav1.Now().UTC().Format(time.RFC3339)
	for _, condition := range [][2]string{{"Removed", "True"}, {"StorageExists", "False"}} {
		conditions = append(conditions, map[string]any{"type": condition[0], "status": condition[1], "reason": "Checker", "message": Said + "it made no registry", "lastTransitionTime": now})
	}
	config.Object["status"] = map[string]any{"storageManaged": false, "storage": map[string]any{}, "readyReplicas": int64(0), "conditions": conditions,
		"observedGeneration": config.GetGeneration(), "generations": []any{}}
	return c.Status().Update(ctx, config)
}
