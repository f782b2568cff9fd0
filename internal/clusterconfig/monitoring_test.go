package clusterconfig

import (
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

func TestForwardsMetrics(t *testing.T) {
	hcp := &hyperv1.HostedControlPlane{}
	check := func(what string, want bool) {
		if got := ForwardsMetrics(hcp); got != want {
			t.Errorf("%s: %t", what, got)
		}
	}
	check("nothing is said", false)
	hcp.Spec.Monitoring = &hyperv1.Monitoring{MetricsSet: "All"}
	check("a set", false)
	hcp.Spec.Monitoring.MetricsForwarding = &hyperv1.MetricsForwarding{Mode: "None"}
	check("None", false)
	hcp.Spec.Monitoring.MetricsForwarding.Mode = "Forward"
	check("Forward", true)
	hcp.Annotations = map[string]string{hyperv1.DisableMonitoringServicesAnnotation: "true"}
	check("without monitoring", false)
}
