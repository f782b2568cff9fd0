package manifest

import hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"

// services publishes the four endpoints. With an external domain all go by Route, named beneath it; without one the API
// server has a load balancer of its own. What only nodes use has no public name once the cluster is reachable privately.
func (c *Cluster) services() []hyperv1.ServicePublishingStrategyMapping {
	domain := c.Publishing.ExternalDNSDomain
	host := func(prefix string) hyperv1.Hostname {
		if domain == "" {
			return ""
		}
		return hyperv1.Hostname(prefix + "-" + c.Name + "." + domain)
	}
	nodeHost := func(prefix string) hyperv1.Hostname {
		if c.private() {
			return ""
		}
		return host(prefix)
	}

	api := route(host("api"))
	if domain == "" && c.Publishing.EndpointAccess != hyperv1.AzureTopologyPrivate {
		api = loadBalancer("")
	}
	oauth := route(host("oauth"))
	if c.Publishing.OAuthByLoadBalancer {
		oauth = loadBalancer(host("oauth"))
	}
	return []hyperv1.ServicePublishingStrategyMapping{
		{Service: hyperv1.APIServer, ServicePublishingStrategy: api},
		{Service: hyperv1.Ignition, ServicePublishingStrategy: route(nodeHost("ignition"))},
		{Service: hyperv1.Konnectivity, ServicePublishingStrategy: route(nodeHost("konnectivity"))},
		{Service: hyperv1.OAuthServer, ServicePublishingStrategy: oauth},
	}
}

func route(hostname hyperv1.Hostname) hyperv1.ServicePublishingStrategy {
	s := hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}
	if hostname != "" {
		s.Route = &hyperv1.RoutePublishingStrategy{Hostname: hostname}
	}
	return s
}

func loadBalancer(hostname hyperv1.Hostname) hyperv1.ServicePublishingStrategy {
	s := hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}
	if hostname != "" {
		s.LoadBalancer = &hyperv1.LoadBalancerPublishingStrategy{Hostname: hostname}
	}
	return s
}
