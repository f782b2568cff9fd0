package publish

import (
	"strings"
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// plan of a cluster on Azure: strategies are "service=Type" or "service=Type:hostname".
func planOf(topology hyperv1.AzureTopology, strategies ...string) Plan {
	p := Plan{Platform: hyperv1.PlatformSpec{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzurePlatformSpec{Topology: topology}}}
	for _, text := range strategies {
		service, how, _ := strings.Cut(text, "=")
		kind, host, _ := strings.Cut(how, ":")
		s := hyperv1.ServicePublishingStrategy{Type: hyperv1.PublishingStrategyType(kind)}
		if host != "" && s.Type == hyperv1.Route {
			s.Route = &hyperv1.RoutePublishingStrategy{Hostname: hyperv1.Hostname(host)}
		}
		p.Services = append(p.Services, hyperv1.ServicePublishingStrategyMapping{Service: hyperv1.ServiceType(service), ServicePublishingStrategy: s})
	}
	return p
}

// TestWhoServesRoutes is the decision between the cluster's own router and the management cluster's ingress.
func TestWhoServesRoutes(t *testing.T) {
	none := Plan{Platform: hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}}
	for title, c := range map[string]struct {
		plan                    Plan
		labels, router, ingress bool
		own                     string
	}{
		"platform None":                   {none, false, false, true, ""},
		"public, load balancer":           {planOf("", "APIServer=LoadBalancer"), false, false, true, ""},
		"public, Route without hostname":  {planOf(hyperv1.AzureTopologyPublic, "APIServer=Route"), false, false, true, ""},
		"hostname of a load balancer":     {planOf("", "APIServer=LoadBalancer:a.test"), false, false, true, ""},
		"hostnames":                       {planOf("", "APIServer=Route:a.test", "OAuthServer=Route:o.test", "Konnectivity=Route:k.test", "Ignition=Route:i.test"), true, true, false, "APIServer OAuthServer Konnectivity Ignition"},
		"hostname of the API server only": {planOf("", "APIServer=Route:a.test"), true, true, true, "APIServer"},
		"public and private":              {planOf(hyperv1.AzureTopologyPublicAndPrivate, "APIServer=LoadBalancer"), false, true, true, ""},
		"public and private, hostname":    {planOf(hyperv1.AzureTopologyPublicAndPrivate, "APIServer=Route:a.test"), true, true, false, "APIServer OAuthServer Konnectivity Ignition"},
		"private":                         {planOf(hyperv1.AzureTopologyPrivate, "APIServer=Route"), true, true, false, "APIServer OAuthServer Konnectivity Ignition"},
	} {
		var own []string
		for _, service := range []hyperv1.ServiceType{hyperv1.APIServer, hyperv1.OAuthServer, hyperv1.Konnectivity, hyperv1.Ignition} {
			if c.plan.OwnRoute(service) {
				own = append(own, string(service))
			}
		}
		if c.plan.LabelsRoutes() != c.labels || c.plan.NeedsRouter() != c.router || c.plan.UsesIngress() != c.ingress || strings.Join(own, " ") != c.own {
			t.Errorf("%s: labels %t, router %t, ingress %t, own %v", title, c.plan.LabelsRoutes(), c.plan.NeedsRouter(), c.plan.UsesIngress(), own)
		}
	}
}

// TestSupported is the table of what may be published how.
func TestSupported(t *testing.T) {
	const azure, none = hyperv1.AzurePlatform, hyperv1.NonePlatform
	for _, row := range []struct {
		service  hyperv1.ServiceType
		how      hyperv1.PublishingStrategyType
		platform hyperv1.PlatformType
		want     bool
	}{
		{hyperv1.APIServer, hyperv1.LoadBalancer, azure, true}, {hyperv1.APIServer, hyperv1.Route, azure, true},
		{hyperv1.APIServer, hyperv1.NodePort, azure, false}, {hyperv1.APIServer, hyperv1.NodePort, none, true},
		{hyperv1.OAuthServer, hyperv1.LoadBalancer, azure, true}, {hyperv1.OAuthServer, hyperv1.Route, azure, true},
		{hyperv1.OAuthServer, hyperv1.NodePort, azure, false},
		{hyperv1.Konnectivity, hyperv1.LoadBalancer, azure, true}, {hyperv1.Konnectivity, hyperv1.Route, azure, true},
		{hyperv1.Konnectivity, hyperv1.NodePort, azure, false}, {hyperv1.Konnectivity, hyperv1.NodePort, none, true},
		{hyperv1.Ignition, hyperv1.LoadBalancer, azure, false}, {hyperv1.Ignition, hyperv1.Route, azure, true},
		{hyperv1.Ignition, hyperv1.NodePort, azure, false}, {hyperv1.Ignition, hyperv1.NodePort, none, true},
		{hyperv1.APIServer, "None", azure, false}, {"OIDC", "S3", azure, true},
	} {
		if got := Supported(row.platform, row.service, row.how); got != row.want {
			t.Errorf("%s by %s on %s: %t", row.service, row.how, row.platform, got)
		}
	}
}
