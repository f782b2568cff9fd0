package install

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hypershift-on-azure/hypershift/internal/install"
)

// The platform's own operator of Cluster API must let go of the definitions before they are applied, and is asked by an object that
// names all of them.
func TestDefinitionsAreHandedOver(t *testing.T) {
	for _, tc := range []struct {
		name   string
		served bool
		status map[string]any
		err    string
	}{
		{"no such platform", false, nil, ""},
		{"agreed", true, map[string]any{"observedRevisionGeneration": int64(3), "currentRevision": "a", "desiredRevision": "a"}, ""},
		{"on its way", true, map[string]any{"observedRevisionGeneration": int64(3), "currentRevision": "a", "desiredRevision": "b"}, "did not hand its definitions over"},
		{"not seen", true, map[string]any{"observedRevisionGeneration": int64(2), "currentRevision": "a", "desiredRevision": "a"}, "did not hand its definitions over"},
		{"nobody there", true, map[string]any{}, "did not hand its definitions over"},
	} {
		mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{clusterAPIKind.GroupVersion()})
		if tc.served {
			mapper.Add(clusterAPIKind, meta.RESTScopeRoot)
		}
		var applied *unstructured.Unstructured
		platform := interceptor.NewClient(fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithRESTMapper(mapper).Build(), interceptor.Funcs{
			Apply: func(_ context.Context, _ client.WithWatch, obj runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
				raw, err := json.Marshal(obj)
				if err != nil {
					return err
				}
				applied = &unstructured.Unstructured{}
				return applied.UnmarshalJSON(raw)
			},
			Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
				live := obj.(*unstructured.Unstructured)
				live.SetGeneration(3)
				live.Object["status"] = tc.status
				return nil
			},
		})
		i := &installer{client: platform, opts: &install.Options{Namespace: "hypershift"}, out: io.Discard, patience: 20 * time.Millisecond, say: func(string, ...any) {}}
		crds, err := i.opts.CRDs()
		if err != nil {
			t.Fatal(err)
		}
		err = i.claimCRDs(t.Context(), crds)
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.err)
		}
		if (applied != nil) != tc.served {
			t.Fatalf("%s: applied %v", tc.name, applied)
		}
		if !tc.served {
			continue
		}
		names, _, _ := unstructured.NestedStringSlice(applied.Object, "spec", "unmanagedCustomResourceDefinitions")
		ours := func(name string) bool { return !strings.HasSuffix(name, ".cluster.x-k8s.io") }
		if applied.GetKind() != "ClusterAPI" || applied.GetName() != "cluster" || len(names) != 23 || !slices.IsSorted(names) || slices.ContainsFunc(names, ours) {
			t.Errorf("%s: %s %s names %s", tc.name, applied.GetKind(), applied.GetName(), fmt.Sprint(names))
		}
	}
}
