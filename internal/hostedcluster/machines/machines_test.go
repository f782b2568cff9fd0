package machines

import (
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
)

// TestManaged: machines are the user's own business on no platform, and where he says so. Then nothing of Cluster API is written.
func TestManaged(t *testing.T) {
	for name, test := range map[string]struct {
		platform    hyperv1.PlatformType
		annotations map[string]string
		want        bool
	}{
		"Azure":                 {hyperv1.AzurePlatform, nil, true},
		"Azure, of the user":    {hyperv1.AzurePlatform, map[string]string{hyperv1.DisableMachineManagementAnnotation: ""}, false},
		"no platform":           {hyperv1.NonePlatform, nil, false},
		"another annotation":    {hyperv1.AzurePlatform, map[string]string{hyperv1.DisableProfilingAnnotation: ""}, true},
		"whatever it is set to": {hyperv1.AzurePlatform, map[string]string{hyperv1.DisableMachineManagementAnnotation: "false"}, false},
	} {
		hc := &hyperv1.HostedCluster{}
		hc.Spec.Platform.Type, hc.Annotations = test.platform, test.annotations
		if got := Managed(hc); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
		if test.want {
			continue
		}
		// There is no client: a write, or a read, ends the test.
		if err := EnsureCluster(t.Context(), &cluster.Cluster{Hosted: hc}, hyperv1.APIEndpoint{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
