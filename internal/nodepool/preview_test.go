package nodepool

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// stored answers with an object as the API server has it.
type stored struct {
	client.Reader
	spec map[string]any
}

func (s stored) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	obj.(*unstructured.Unstructured).Object["spec"] = s.spec
	return nil
}

func TestOSImageStreamIsToldOf(t *testing.T) {
	asked := map[string]any{"osImageStream": map[string]any{"name": "rhel-10"}}
	for name, test := range map[string]struct {
		preview bool
		spec    map[string]any
		want    corev1.ConditionStatus
	}{
		"asked for": {true, asked, corev1.ConditionFalse}, "not asked for": {true, map[string]any{}, ""}, "no previews": {false, asked, ""},
	} {
		p := &pass{np: nodePool()}
		r := &Reconciler{live: stored{spec: test.spec}, techPreview: test.preview}
		if err := r.osImageStream(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if got := p.condition(hyperv1.NodePoolOSImageStreamSupported); got.Status != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
