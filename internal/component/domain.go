package component

import (
	"encoding/json"
	"fmt"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// ClusterDomain is the domain of a hosted cluster: its prefix, by default its name, below the base domain.
func ClusterDomain(hcp *hyperv1.HostedControlPlane) string {
	prefix := hcp.Name
	if p := hcp.Spec.DNS.BaseDomainPrefix; p != nil {
		prefix = *p
	}
	if prefix == "" {
		return hcp.Spec.DNS.BaseDomain
	}
	return prefix + "." + hcp.Spec.DNS.BaseDomain
}

// AppsDomain is where the applications of a hosted cluster are published: spec.configuration.ingress.domain, or apps below its domain.
func AppsDomain(hcp *hyperv1.HostedControlPlane) (string, error) {
	if c := hcp.Spec.Configuration; c != nil && c.Ingress != nil {
		var ingress struct {
			Domain string `json:"domain"`
		}
		if err := json.Unmarshal(c.Ingress.Raw, &ingress); err != nil {
			return "", fmt.Errorf("read spec.configuration.ingress of HostedControlPlane %s: %w", hcp.Name, err)
		}
		if ingress.Domain != "" {
			return ingress.Domain, nil
		}
	}
	return "apps." + ClusterDomain(hcp), nil
}

// RoutingDomain is where Routes without a host name get one: spec.configuration.ingress.appsDomain, otherwise where applications are published.
func RoutingDomain(hcp *hyperv1.HostedControlPlane) (string, error) {
	if c := hcp.Spec.Configuration; c != nil && c.Ingress != nil {
		var ingress struct {
			AppsDomain string `json:"appsDomain"`
		}
		if err := json.Unmarshal(c.Ingress.Raw, &ingress); err != nil {
			return "", fmt.Errorf("read spec.configuration.ingress of HostedControlPlane %s: %w", hcp.Name, err)
		}
		if ingress.AppsDomain != "" {
			return ingress.AppsDomain, nil
		}
	}
	return AppsDomain(hcp)
}
