package teardown

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
)

func TestNamespaceIsKept(t *testing.T) {
	c := hostedclustertest.At(&hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{hyperv1.SkipDeleteNamespaceAnnotation: "true"}}})
	// No client: nothing is even looked at.
	if namespace, err := ownNamespace(t.Context(), c); namespace != nil || err != nil {
		t.Errorf("%v, %v", namespace, err)
	}
}
