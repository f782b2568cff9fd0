package change

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// TestVersionsOffered: --to offers what lies beside the present payload and is allowed, each version once, the newest first.
func TestVersionsOffered(t *testing.T) {
	registry := releasetest.New(t)
	for _, tag := range []string{"4.20.9", "4.21.0", "4.21.3", "4.22.1-multi", "4.22.1-x86_64", "4.22.10", "4.99.0", "latest"} {
		registry.PushPayload(t, tag, releasetest.Payload{Version: "4.21.0"})
	}
	hc := surveytest.Cluster("demo", func(hc *hyperv1.HostedCluster) {
		hc.Spec.PullSecret.Name, hc.Spec.Release.Image = "pull", registry.Reference("4.21.0")
	})
	np := surveytest.Pool("demo", "old", 2, func(np *hyperv1.NodePool) {
		np.Spec.Release.Image, np.Status.Version = registry.Reference("4.20.9"), "4.20.9"
	})
	c := surveytest.Client(hc, np, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "pull"}, Data: map[string][]byte{hyperv1.PullSecretKey: []byte(`{"auths":{}}`)}}).Build()
	offered := func(c client.Client, pool bool, name string) []string {
		t.Helper()
		versions, err := (&upgrade{target: *of(t, c, pool, name)}).versions(t.Context(), release.Reader{})
		if err != nil {
			t.Fatal(err)
		}
		return versions
	}
	if got, want := offered(c, false, "demo"), []string{"4.22.10", "4.22.1", "4.21.3"}; !slices.Equal(got, want) {
		t.Errorf("a cluster is offered %v, want %v", got, want)
	}
	// A pool goes no further than its control plane.
	if got, want := offered(c, true, "old"), []string{"4.21.0"}; !slices.Equal(got, want) {
		t.Errorf("a pool is offered %v, want %v", got, want)
	}
	registry.Answer(503)
	if versions, err := (&upgrade{target: *of(t, c, false, "demo")}).versions(t.Context(), release.Reader{}); err == nil {
		t.Errorf("a registry that does not answer offers %v", versions)
	}
}
