package machinetags

import (
	"maps"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// A pool's own tags win, whatever case the cluster's have; what is refused is told with the object that has it.
func TestTagsOfPoolAndCluster(t *testing.T) {
	tagged := func(tags string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Annotations: map[string]string{hyperv1.AzureTagsAnnotation: tags}}
	}
	for _, c := range []struct {
		cluster, pool string
		want          map[string]any
		refusal       string
	}{
		{"", "", map[string]any{}, ""},
		{"Team=web,owner=x", "team=blue", map[string]any{"team": "blue", "owner": "x"}, ""},
		{"azure=x", "", nil, "of the HostedCluster: "},
		{"", "azure=x", nil, "of the NodePool: "},
	} {
		got, err := Of(&hyperv1.NodePool{ObjectMeta: tagged(c.pool)}, &hyperv1.HostedCluster{ObjectMeta: tagged(c.cluster)})
		if (err != nil) != (c.refusal != "") || err != nil && !strings.Contains(err.Error(), c.refusal) || !maps.Equal(got, c.want) {
			t.Errorf("%q and %q: %v, %v", c.cluster, c.pool, got, err)
		}
	}
}

func TestTemplatesOfTheSameTags(t *testing.T) {
	template := func(tags map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"additionalTags": tags}}}}}
	}
	one, other := template(map[string]any{"a": "1"}), template(map[string]any{"a": "2"})
	if !Same(one, template(map[string]any{"a": "1"})) || Same(one, other) || !Same(template(map[string]any{}), &unstructured.Unstructured{Object: map[string]any{}}) {
		t.Error("templates are the same by something else than their tags")
	}
}
