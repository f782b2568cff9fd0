package clusterconfig

import hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"

// ForwardsMetrics tells whether the hosted cluster's own monitoring is to read the metrics of its control plane.
func ForwardsMetrics(hcp *hyperv1.HostedControlPlane) bool {
	_, off := hcp.Annotations[hyperv1.DisableMonitoringServicesAnnotation]
	m := hcp.Spec.Monitoring
	return !off && m != nil && m.MetricsForwarding != nil && m.MetricsForwarding.Mode == "Forward"
}
