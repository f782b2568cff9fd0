package releases

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/hypershift-on-azure/hypershift/internal/release"
)

func TestMirrors(t *testing.T) {
	scheme, mapper := runtime.NewScheme(), meta.NewDefaultRESTMapper(nil)
	for _, kind := range mirrorKinds {
		scheme.AddKnownTypeWithName(kind.GroupVersionKind, &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &unstructured.UnstructuredList{})
		mapper.Add(kind.GroupVersionKind, meta.RESTScopeRoot)
	}
	policy := func(kind mirrorKind, name string, entries ...any) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{kind.list: entries}}}
		obj.SetGroupVersionKind(kind.GroupVersionKind)
		obj.SetName(name)
		return obj
	}
	live := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(
		policy(mirrorKinds[1], "old", map[string]any{"source": "quay.io/ocp", "mirrors": []any{"a.example.com/ocp"}}),
		policy(mirrorKinds[0], "new", map[string]any{"source": "quay.io/ocp", "mirrors": []any{"b.example.com", "c.example.com"}},
			map[string]any{"source": "quay.io/none"}, "nonsense", map[string]any{"source": int64(1), "mirrors": []any{"x"}}),
	).Build()
	mirrors, err := ProbeMirrors(mapper, live)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	mirrors.now = func() time.Time { return now }
	expect := func(want string) {
		t.Helper()
		found, err := mirrors.List(t.Context())
		if err != nil || release.FormatMirrors(found) != want {
			t.Errorf("mirrors %s, %v; want %s", release.FormatMirrors(found), err, want)
		}
	}
	const both = "quay.io/ocp=b.example.com,quay.io/ocp=c.example.com,quay.io/ocp=a.example.com/ocp"
	expect(both)
	if err := live.Delete(t.Context(), policy(mirrorKinds[0], "new")); err != nil {
		t.Fatal(err)
	}
	expect(both)
	now = now.Add(mirrorsLifetime)
	expect("quay.io/ocp=a.example.com/ocp")

	plain, err := ProbeMirrors(meta.NewDefaultRESTMapper([]schema.GroupVersion{}), client.Reader(nil))
	if err != nil {
		t.Fatal(err)
	}
	if found, err := plain.List(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("without the APIs: %v, %v", found, err)
	}
}
