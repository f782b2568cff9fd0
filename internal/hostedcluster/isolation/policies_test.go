package isolation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
)

// TestNetworkPolicies compares each policy with the row that it is written from.
func TestNetworkPolicies(t *testing.T) {
	for title, c := range map[string]struct {
		platform      hyperv1.PlatformType
		oauth, others hyperv1.PublishingStrategyType
		hosts, want   string
	}{
		"azure":               {hyperv1.AzurePlatform, hyperv1.Route, hyperv1.Route, "", "kas openshift-ingress openshift-monitoring same-namespace"},
		"azure, own router":   {hyperv1.AzurePlatform, hyperv1.Route, hyperv1.Route, "a.test b.test c.test d.test", "kas openshift-monitoring same-namespace"},
		"azure, both routers": {hyperv1.AzurePlatform, hyperv1.Route, hyperv1.Route, "a.test b.test", "kas openshift-ingress openshift-monitoring same-namespace"},
		"azure, OAuth by LB":  {hyperv1.AzurePlatform, hyperv1.LoadBalancer, hyperv1.Route, "", "kas loadbalancer-oauth openshift-ingress openshift-monitoring same-namespace"},
		"none":                {hyperv1.NonePlatform, hyperv1.Route, hyperv1.Route, "", "kas openshift-ingress openshift-monitoring same-namespace"},
		"none, node ports":    {hyperv1.NonePlatform, hyperv1.NodePort, hyperv1.NodePort, "", "kas nodeport-ignition nodeport-ignition-proxy nodeport-konnectivity nodeport-konnectivity-kas nodeport-oauth openshift-ingress openshift-monitoring same-namespace"},
		"none, load balancer": {hyperv1.NonePlatform, hyperv1.LoadBalancer, hyperv1.LoadBalancer, "", "kas loadbalancer-ignition loadbalancer-konnectivity loadbalancer-oauth openshift-ingress openshift-monitoring same-namespace"},
	} {
		hc := hostedclustertest.Cluster("demo", "image")
		hc.Spec.Platform.Type = c.platform
		for i := range hc.Spec.Services {
			service := &hc.Spec.Services[i]
			if service.ServicePublishingStrategy.Type = c.others; service.Service == hyperv1.OAuthServer {
				service.ServicePublishingStrategy.Type = c.oauth
			}
		}
		for i, host := range strings.Fields(c.hosts) {
			hc.Spec.Services[i].ServicePublishingStrategy.Route = &hyperv1.RoutePublishingStrategy{Hostname: hyperv1.Hostname(host)}
		}
		var names []string
		for _, policy := range (policies{hc: hc}).admitting() {
			names = append(names, policy.Name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: %s\nwant %s", title, got, c.want)
		}
	}
}

// TestProxyRule: only a proxy given by its address needs a rule of its own, and gets one for its port.
func TestProxyRule(t *testing.T) {
	for text, want := range map[string]string{"http://198.18.0.1:8888": "198.18.0.1/32:8888", "http://proxy.corp:3128": "", "": "", "http://10.0.0.1": ""} {
		rule, ok := proxyRule(text)
		got := ""
		if ok {
			got = fmt.Sprintf("%s:%d", rule.To[0].IPBlock.CIDR, rule.Ports[0].Port.IntValue())
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
