package component

import (
	"encoding/json"
	"fmt"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// RouterName is the default router of a guest, and its Service, in contract.RouterNamespace.
const RouterName = "router-default"

// IngressScope is who reaches the default router.
type IngressScope string

// Scopes of the default router.
const (
	IngressExternal IngressScope = "External" // a public load balancer
	IngressInternal IngressScope = "Internal" // a load balancer inside the virtual network
	IngressPrivate  IngressScope = "Private"  // the hosted cluster itself
)

// Ingress is how the default router is published.
type Ingress struct {
	Scope IngressScope
	// Unmanaged leaves the DNS record to the user.
	Unmanaged bool
}

// DefaultIngress follows, in this order: spec.operatorConfiguration, the annotations, the topology.
func DefaultIngress(hcp *hyperv1.HostedControlPlane) (Ingress, error) {
	out := Ingress{Scope: IngressExternal}
	if azure := hcp.Spec.Platform.Azure; azure != nil && azure.Topology != "" && azure.Topology != hyperv1.AzureTopologyPublic {
		out.Scope = IngressInternal
	}
	if scope := IngressScope(hcp.Annotations[hyperv1.IngressControllerScopeAnnotation]); scope == IngressInternal || scope == IngressExternal {
		out.Scope = scope
	}
	if hcp.Annotations[hyperv1.PrivateIngressControllerAnnotation] == "true" {
		out.Scope = IngressPrivate
	}
	operators := hcp.Spec.OperatorConfiguration
	if operators == nil || operators.IngressOperator == nil || operators.IngressOperator.EndpointPublishingStrategy == nil {
		return out, nil
	}
	var strategy struct {
		Type         string `json:"type"`
		LoadBalancer *struct {
			Scope               IngressScope `json:"scope"`
			DNSManagementPolicy string       `json:"dnsManagementPolicy"`
		} `json:"loadBalancer"`
	}
	raw := operators.IngressOperator.EndpointPublishingStrategy.Raw
	if err := json.Unmarshal(raw, &strategy); err != nil {
		return out, fmt.Errorf("read spec.operatorConfiguration.ingressOperator.endpointPublishingStrategy: %w", err)
	}
	switch strategy.Type {
	case "Private":
		out.Scope = IngressPrivate
	case "LoadBalancerService":
		if b := strategy.LoadBalancer; b != nil {
			out = Ingress{Scope: b.Scope, Unmanaged: b.DNSManagementPolicy == "Unmanaged"}
		}
	default:
		return out, fmt.Errorf("spec.operatorConfiguration.ingressOperator.endpointPublishingStrategy has type %q: "+
			"the default router of this payload knows LoadBalancerService and Private", strategy.Type)
	}
	return out, nil
}
