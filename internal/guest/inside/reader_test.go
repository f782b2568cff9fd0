package inside

import (
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

func TestAgentImage(t *testing.T) {
	hcp, images := &hyperv1.HostedControlPlane{}, map[string]string{"apiserver-network-proxy": "payload"}
	if got := withAgentImage(hcp, images)["apiserver-network-proxy"]; got != "payload" {
		t.Errorf("without the annotation: %s", got)
	}
	hcp.Annotations = map[string]string{hyperv1.KonnectivityAgentImageAnnotation: "mine"}
	if got := withAgentImage(hcp, images)["apiserver-network-proxy"]; got != "mine" || images["apiserver-network-proxy"] != "payload" {
		t.Errorf("%s, and the payload has %v", got, images)
	}
}
