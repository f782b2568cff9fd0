package teardown

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// The wait for a control plane names what has to go in Azure first, and how to leave it there; once that is over it says nothing.
func TestWaitNamesCloudResources(t *testing.T) {
	if got := cloudResources(nil); got != "" {
		t.Errorf("without a control plane: %q", got)
	}
	plane := &hyperv1.HostedControlPlane{}
	set := kube.Conditions(&plane.Status.Conditions, 1)
	for reason, named := range map[string]bool{
		hyperv1.RemainingCloudResourcesReason: true, hyperv1.CloudResourcesErrorReason: true,
		hyperv1.CloudResourcesCleanupSkipped: false, hyperv1.CloudResourcesDeletionTimedOut: false,
	} {
		set.Set(hyperv1.CloudResourcesDestroyed, metav1.ConditionFalse, reason, "loadbalancers (default/web)")
		if got := cloudResources(plane); strings.Contains(got, "default/web") != named || strings.Contains(got, "cleanup-cloud-resources=false") != named {
			t.Errorf("%s: %q", reason, got)
		}
	}
	set.True(hyperv1.CloudResourcesDestroyed, hyperv1.CloudResourcesDestroyed, "")
	if got := cloudResources(plane); got != "" {
		t.Errorf("all is gone: %q", got)
	}
}
