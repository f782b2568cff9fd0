package status

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// Without an ingress that clusters share there is one thing to say: that a private cluster has no public endpoint.
func TestPublicEndpointExposed(t *testing.T) {
	hc := &hyperv1.HostedCluster{}
	hc.Spec.Platform.Azure = &hyperv1.AzurePlatformSpec{Topology: hyperv1.AzureTopologyPrivate}
	c := hostedclustertest.At(hc)
	observeExposure(c)
	if told := kube.Find(hc.Status.Conditions, hyperv1.PublicEndpointExposed); told == nil || told.Status != metav1.ConditionFalse || told.Reason != hyperv1.TopologyPrivateReason {
		t.Errorf("private: %+v", told)
	}
	hc.Spec.Platform.Azure.Topology = hyperv1.AzureTopologyPublic
	observeExposure(c)
	if told := kube.Find(hc.Status.Conditions, hyperv1.PublicEndpointExposed); told != nil {
		t.Errorf("public: %+v", told)
	}
}
