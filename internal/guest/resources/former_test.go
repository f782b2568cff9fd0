package resources

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/guest/observed"
)

// TestFormerDNSOperator: the one in the guest goes when the guest is of a release whose operator runs beside the control plane, and no earlier.
func TestFormerDNSOperator(t *testing.T) {
	for name, test := range map[string]struct {
		images map[string]string
		state  hyperv1.UpdateState
		gone   bool
	}{
		"complete":        {map[string]string{"cluster-version-operator": "x"}, hyperv1.CompletedUpdate, true},
		"on its way":      {map[string]string{"cluster-version-operator": "x"}, hyperv1.PartialUpdate, false},
		"a plain payload": {nil, hyperv1.CompletedUpdate, false},
	} {
		guest := fake.NewClientBuilder().WithScheme(guesttest.Scheme(t)).WithObjects(
			&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-dns-operator", Name: "dns-operator"}}).Build()
		r := &reconciler{guest: guest, observed: observed.Copier{Guest: guest}}
		facts := guesttest.PlainFacts()
		facts.HCP, facts.Images = guesttest.AzurePlane(), test.images
		facts.HCP.Status.VersionStatus = &hyperv1.ClusterVersionStatus{History: []hyperv1.UpdateHistory{{State: test.state}}}
		for range 2 {
			if err := r.dropFormer(t.Context(), facts); err != nil {
				t.Fatal(err)
			}
		}
		err := guest.Get(t.Context(), client.ObjectKey{Namespace: "openshift-dns-operator", Name: "dns-operator"}, &appsv1.Deployment{})
		if apierrors.IsNotFound(err) != test.gone {
			t.Errorf("%s: %v", name, err)
		}
	}
}
