package azure

import (
	"slices"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
)

// ofInfra is a hosted cluster of this infrastructure, or one that lives in its network.
func ofInfra(name, infraID string) uses {
	groups := []string{node.MainGroup(name, infraID), name + "-vnet-" + infraID, name + "-nsg-" + infraID}
	return func(hc *hyperv1.HostedCluster) bool {
		if strings.EqualFold(hc.Spec.InfraID, infraID) {
			return true
		}
		platform := hc.Spec.Platform.Azure
		if platform == nil {
			return false
		}
		own := func(group string) bool {
			return slices.ContainsFunc(groups, func(g string) bool { return strings.EqualFold(g, group) })
		}
		for _, id := range []string{platform.VnetID, platform.SubnetID, platform.SecurityGroupID} {
			if parsed, err := azure.ParseID(id); err == nil && own(parsed.ResourceGroup) {
				return true
			}
		}
		return own(platform.ResourceGroupName)
	}
}

// ofIdentities is a hosted cluster of this infrastructure id, by which the identities are named, or one that signs in as one of them.
func ofIdentities(infraID string, identities *identity.WorkloadIdentities) uses {
	return func(hc *hyperv1.HostedCluster) bool {
		if strings.EqualFold(hc.Spec.InfraID, infraID) {
			return true
		}
		platform := hc.Spec.Platform.Azure
		if platform == nil || identities == nil || platform.AzureAuthenticationConfig.WorkloadIdentities == nil {
			return false
		}
		theirs := platform.AzureAuthenticationConfig.WorkloadIdentities
		for key, id := range map[string]hyperv1.WorkloadIdentity{
			"imageRegistry": theirs.ImageRegistry, "ingress": theirs.Ingress, "file": theirs.File, "disk": theirs.Disk,
			"nodePoolManagement": theirs.NodePoolManagement, "cloudProvider": theirs.CloudProvider, "network": theirs.Network,
		} {
			if id.ClientID != "" && strings.EqualFold(string(id.ClientID), identities.Get(key)) {
				return true
			}
		}
		return false
	}
}

// ofIssuer is a hosted cluster whose tokens name the issuer.
func ofIssuer(url string) uses {
	return func(hc *hyperv1.HostedCluster) bool {
		return url != "" && strings.TrimSuffix(hc.Spec.IssuerURL, "/") == strings.TrimSuffix(url, "/")
	}
}

// ofZone is a hosted cluster that has names in the zone.
func ofZone(zone string) uses {
	within := func(name string) bool {
		return strings.EqualFold(name, zone) || strings.HasSuffix(strings.ToLower(name), "."+strings.ToLower(zone))
	}
	return func(hc *hyperv1.HostedCluster) bool {
		if within(hc.Spec.DNS.BaseDomain) {
			return true
		}
		return slices.ContainsFunc(hc.Spec.Services, func(s hyperv1.ServicePublishingStrategyMapping) bool {
			route := s.ServicePublishingStrategy.Route
			return route != nil && within(string(route.Hostname))
		})
	}
}
