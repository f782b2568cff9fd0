package manifest

import (
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Render writes the objects as YAML, keys sorted, with a separator after every document. Secrets are left out unless
// sensitive is set.
func Render(w io.Writer, objs []client.Object, sensitive bool) error {
	for _, obj := range objs {
		if _, isSecret := obj.(*corev1.Secret); isSecret && !sensitive {
			continue
		}
		raw, err := yaml.Marshal(obj)
		if err != nil {
			return fmt.Errorf("rendering %s %q: %w", obj.GetObjectKind().GroupVersionKind().Kind, obj.GetName(), err)
		}
		if _, err := fmt.Fprintf(w, "%s---\n", raw); err != nil {
			return err
		}
	}
	return nil
}
