package support

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// What is said of catalogs has no effect with a payload that has no programs to read them, and nobody is told so with one that has.
func TestCatalogsNeedTheirReader(t *testing.T) {
	hc := &hyperv1.HostedCluster{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{hyperv1.RedHatOperatorsCatalogAnnotation: "mine.example.com/catalog@sha256:1"}},
		Spec: hyperv1.HostedClusterSpec{OLMCatalogPlacement: hyperv1.GuestOLMCatalogPlacement,
			Configuration: &hyperv1.ClusterConfiguration{OperatorHub: &hyperv1.OperatorHubSpec{DisableAllDefaultSources: true}}},
	}
	told := func(payload Images) []string {
		var fields []string
		for _, p := range Cluster(hc, payload) {
			if p.Field == "spec.olmCatalogPlacement" || p.Field == "spec.configuration.operatorhub" || p.Field == "annotation "+hyperv1.RedHatOperatorsCatalogAnnotation {
				fields = append(fields, p.Field)
			}
		}
		return fields
	}
	if fields := told(nil); len(fields) != 3 {
		t.Errorf("without a payload's programs: %v", fields)
	}
	if fields := told(Images{catalogReader: "x"}); !slices.Equal(fields, nil) {
		t.Errorf("with them: %v", fields)
	}
}

// Metrics are forwarded to the monitoring of OpenShift's payloads; with others, who asks for it is refused.
func TestForwardingNeedsMonitoring(t *testing.T) {
	hc := &hyperv1.HostedCluster{Spec: hyperv1.HostedClusterSpec{Monitoring: &hyperv1.Monitoring{MetricsForwarding: &hyperv1.MetricsForwarding{Mode: "Forward"}}}}
	refused := func(payload Images) bool {
		return slices.ContainsFunc(Cluster(hc, payload), func(p Problem) bool {
			return p.Field == "spec.monitoring.metricsForwarding.mode" && p.Verdict == Refused
		})
	}
	if !refused(Images{"hyperkube": "x"}) || refused(Images{"cluster-monitoring-operator": "x"}) {
		t.Errorf("refused without monitoring: %t, with it: %t", refused(Images{"hyperkube": "x"}), refused(Images{"cluster-monitoring-operator": "x"}))
	}
}
