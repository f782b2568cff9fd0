package resources

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hypershift-on-azure/hypershift/internal/guest/addons"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

func TestEnsureIsQuietUntilSomethingChanges(t *testing.T) {
	writes := 0
	guest := fake.NewClientBuilder().WithScheme(guesttest.Scheme(t)).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			writes++
			return c.Apply(ctx, obj, opts...)
		},
	}).Build()
	r := &reconciler{guest: guest, applied: map[string]applied{}}
	pass := func() int {
		writes = 0
		for _, obj := range addons.Objects(guesttest.PlainFacts()) {
			if err := r.ensure(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
		return writes
	}
	if first := pass(); first != len(addons.Objects(guesttest.PlainFacts())) {
		t.Errorf("first pass wrote %d objects", first)
	}
	if again := pass(); again != 0 {
		t.Errorf("converged pass wrote %d objects", again)
	}
	made, _ := guesttest.Find[*corev1.ConfigMap](addons.Objects(guesttest.PlainFacts()), inside.KubeSystem, "coredns")
	config := &corev1.ConfigMap{}
	if err := guest.Get(t.Context(), client.ObjectKey{Namespace: inside.KubeSystem, Name: "coredns"}, config); err != nil {
		t.Fatal(err)
	}
	config.Data["Corefile"] = "broken"
	if err := guest.Update(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if repaired := pass(); repaired != 1 {
		t.Errorf("drift in one object led to %d writes", repaired)
	}
	if err := guest.Get(t.Context(), client.ObjectKey{Namespace: inside.KubeSystem, Name: "coredns"}, config); err != nil || config.Data["Corefile"] != made.Data["Corefile"] {
		t.Errorf("Corefile = %q, %v", config.Data["Corefile"], err)
	}
}
