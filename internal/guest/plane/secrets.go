package plane

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Secrets watches the Secrets of these names in the control-plane namespace, and reads no other: a right to list them all would be one
// to the keys of every authority. A cache has one selector for a kind, so that each name has a cache of its own, which runs with the
// manager.
func Secrets(runs manager.Manager, management cluster.Cluster, namespace string, names []string) ([]cache.Cache, error) {
	var all []cache.Cache
	for _, name := range names {
		one, err := cache.New(management.GetConfig(), cache.Options{
			Scheme: management.GetScheme(), Mapper: management.GetRESTMapper(),
			DefaultNamespaces: map[string]cache.Config{namespace: {}},
			ByObject:          map[client.Object]cache.ByObject{&corev1.Secret{}: {Field: fields.OneTermEqualSelector("metadata.name", name)}},
		})
		if err != nil {
			return nil, fmt.Errorf("watch Secret %s of the control plane: %w", name, err)
		}
		if err := runs.Add(one); err != nil {
			return nil, fmt.Errorf("watch Secret %s of the control plane: %w", name, err)
		}
		all = append(all, one)
	}
	return all, nil
}
