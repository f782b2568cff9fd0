package publish

import (
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// TestMetrics: the proxy of metrics has a Route beside what machines read, with a name in the same domain, and the cluster's own router leads to it.
func TestMetrics(t *testing.T) {
	named := hyperv1.ServicePublishingStrategy{Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: "ignition.demo.example.com"}}
	for name, c := range map[string]struct {
		topology hyperv1.AzureTopology
		ignition hyperv1.ServicePublishingStrategy
		host     string
		own      bool
	}{
		"the ingress's name": {hyperv1.AzureTopologyPublic, hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}, "metrics-proxy-clusters-demo.apps.mgmt.example.com", false},
		"the user's domain":  {hyperv1.AzureTopologyPublic, named, "metrics-proxy-demo.demo.example.com", false},
		"no Route beside it": {hyperv1.AzureTopologyPublic, hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}, "metrics-proxy-clusters-demo.apps.mgmt.example.com", false},
		"private":            {hyperv1.AzureTopologyPrivate, hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}, "metrics-proxy.apps.demo.hypershift.local", true},
	} {
		hcp := &hyperv1.HostedControlPlane{}
		hcp.Namespace, hcp.Name = "clusters-demo", "demo"
		hcp.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzurePlatformSpec{Topology: c.topology}}
		hcp.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.Ignition, ServicePublishingStrategy: c.ignition}}
		obj := metricsRoute(hcp, PlanOf(hcp)).object(hcp, "apps.mgmt.example.com")
		if host := obj.Object["spec"].(map[string]any)["host"]; host != c.host || obj.GetName() != "metrics-proxy" {
			t.Errorf("%s: Route %s has host %v, want %s", name, obj.GetName(), host, c.host)
		}
		with, without := Backends(hcp, false, true), Backends(hcp, false, false)
		if (len(with) > len(without)) != c.own {
			t.Errorf("%s: the own router leads to %v", name, with)
		}
	}
}
