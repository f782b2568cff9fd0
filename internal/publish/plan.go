package publish

import (
	"slices"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// Plan is what the endpoints of a hosted cluster follow from. HostedCluster and HostedControlPlane say the same here.
type Plan struct {
	Platform hyperv1.PlatformSpec
	Services []hyperv1.ServicePublishingStrategyMapping
}

// PlanOf a control plane.
func PlanOf(hcp *hyperv1.HostedControlPlane) Plan {
	return Plan{Platform: hcp.Spec.Platform, Services: hcp.Spec.Services}
}

// Strategy returns how a service is published; the API server defaults to a load balancer, the others to Routes.
func (p Plan) Strategy(service hyperv1.ServiceType) hyperv1.ServicePublishingStrategy {
	for _, mapping := range p.Services {
		if mapping.Service == service {
			return mapping.ServicePublishingStrategy
		}
	}
	if service == hyperv1.APIServer {
		return hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}
	}
	return hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}
}

func (p Plan) topology() hyperv1.AzureTopology {
	if p.Platform.Azure == nil || p.Platform.Azure.Topology == "" {
		return hyperv1.AzureTopologyPublic
	}
	return p.Platform.Azure.Topology
}

// Public tells whether the endpoints are reachable from everywhere.
func (p Plan) Public() bool { return p.topology() != hyperv1.AzureTopologyPrivate }

// Private tells whether they are reachable from the cluster's own network.
func (p Plan) Private() bool { return p.topology() != hyperv1.AzureTopologyPublic }

// LabelsRoutes tells whether the cluster's own router serves its Routes, and not the management cluster's ingress: the ingress is
// shared, and finds its way by the name that a client asks for. Pods ask the API server by an address.
func (p Plan) LabelsRoutes() bool {
	return !p.Public() || p.hostname(hyperv1.APIServer) != ""
}

// NeedsRouter tells whether the cluster has a router of its own.
func (p Plan) NeedsRouter() bool { return p.Private() || p.LabelsRoutes() }

// OwnRoute tells whether the cluster's own router serves the service. A Route without a host name stays with the management cluster's
// ingress, whose domain it is named in, unless the network is private.
func (p Plan) OwnRoute(service hyperv1.ServiceType) bool {
	return p.Strategy(service).Type == hyperv1.Route && p.LabelsRoutes() && (p.Private() || p.hostname(service) != "")
}

// UsesIngress tells whether the management cluster's ingress serves a Route of the cluster.
func (p Plan) UsesIngress() bool {
	for _, service := range []hyperv1.ServiceType{hyperv1.APIServer, hyperv1.OAuthServer, hyperv1.Konnectivity, hyperv1.Ignition} {
		if p.Strategy(service).Type == hyperv1.Route && !p.OwnRoute(service) {
			return true
		}
	}
	return !p.LabelsRoutes()
}

// hostname that the user chose for a service published by Route.
func (p Plan) hostname(service hyperv1.ServiceType) string {
	if s := p.Strategy(service); s.Type == hyperv1.Route && s.Route != nil {
		return string(s.Route.Hostname)
	}
	return ""
}

// Supported tells whether a service may be published so on the platform. Node ports are for machines without a cloud's load balancers:
// elsewhere nobody reaches them.
func Supported(platform hyperv1.PlatformType, service hyperv1.ServiceType, how hyperv1.PublishingStrategyType) bool {
	switch service {
	case hyperv1.APIServer, hyperv1.OAuthServer, hyperv1.Konnectivity, hyperv1.Ignition:
		return slices.Contains(Alternatives(platform, service), string(how))
	}
	return true // accepted and ignored
}

// Alternatives are the ways of publishing a service on the platform.
func Alternatives(platform hyperv1.PlatformType, service hyperv1.ServiceType) []string {
	ways := []string{string(hyperv1.Route)}
	if service != hyperv1.Ignition || platform == hyperv1.NonePlatform {
		ways = append(ways, string(hyperv1.LoadBalancer))
	}
	if platform == hyperv1.NonePlatform {
		ways = append(ways, string(hyperv1.NodePort))
	}
	return ways
}
