package checks

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
)

// hostName is one that a hosted cluster wants for itself.
type hostName struct {
	field, name string
	// zones, if any, make it the domain of all names below it, which has records in these zones.
	zones []string
}

// hostNames are those of a control plane: its services', its API server's further name, and the domain of its applications where records
// are made for it.
func hostNames(hcp *hyperv1.HostedControlPlane) []hostName {
	var names []hostName
	add := func(field, name string, zones ...string) {
		if name = strings.ToLower(strings.TrimSuffix(name, ".")); name != "" {
			names = append(names, hostName{field, name, zones})
		}
	}
	for i, service := range hcp.Spec.Services {
		add(fmt.Sprintf("spec.services[%d]", i), cluster.PublishedHost(service.ServicePublishingStrategy))
	}
	add("spec.kubeAPIServerDNSName", hcp.Spec.KubeAPIServerDNSName)
	var zones []string
	for _, zone := range []string{hcp.Spec.DNS.PublicZoneID, hcp.Spec.DNS.PrivateZoneID} {
		if zone != "" {
			zones = append(zones, strings.ToLower(zone))
		}
	}
	// What cannot be read, another check tells of.
	if domain, err := component.AppsDomain(hcp); err == nil && hcp.Spec.DNS.BaseDomain != "" && len(zones) > 0 {
		add("spec.dns", domain, zones...)
	}
	return names
}

// wishes is as much of the control plane that a HostedCluster wants as names are told by.
func wishes(hc *hyperv1.HostedCluster) *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{}
	hcp.Name, hcp.Spec.DNS, hcp.Spec.Services = hc.Name, hc.Spec.DNS, hc.Spec.Services
	hcp.Spec.KubeAPIServerDNSName, hcp.Spec.Configuration = hc.Spec.KubeAPIServerDNSName, hc.Spec.Configuration
	return hcp
}

// meets tells whether clients or records of the one would be led to the other.
func (a hostName) meets(b hostName) bool {
	below := func(host, domain hostName) bool {
		return len(host.zones) == 0 && len(domain.zones) > 0 && strings.HasSuffix(host.name, "."+domain.name)
	}
	if below(a, b) || below(b, a) {
		return true
	}
	if a.name != b.name || (len(a.zones) == 0) != (len(b.zones) == 0) {
		return false
	}
	for _, zone := range a.zones {
		for _, other := range b.zones {
			if zone == other {
				return true
			}
		}
	}
	return len(a.zones) == 0
}

// claimedHosts tells which host names another HostedCluster had first. Some of the fields can be changed: who writes a name in after
// another's control plane has got it comes second, however old the HostedCluster is.
func claimedHosts(ctx context.Context, c *cluster.Cluster, other *hyperv1.HostedCluster) ([]error, error) {
	var problems []error
	theirs := hostNames(wishes(other))
	for _, mine := range hostNames(wishes(c.Hosted)) {
		for _, name := range theirs {
			if !mine.meets(name) {
				continue
			}
			iHave, err := has(ctx, c, c.Hosted, mine)
			if err != nil {
				return nil, err
			}
			theyHave, err := has(ctx, c, other, name)
			if err != nil {
				return nil, err
			}
			if iHave == theyHave && before(other, c.Hosted) || theyHave && !iHave {
				problems = append(problems, fmt.Errorf("%s: the host name %q is that of another HostedCluster, which had it first; give each cluster host names of its own", mine.field, mine.name))
				break
			}
		}
	}
	return problems, nil
}

// has tells whether the control plane of a HostedCluster has got the name already.
func has(ctx context.Context, c *cluster.Cluster, hc *hyperv1.HostedCluster, wanted hostName) (bool, error) {
	hcp := &hyperv1.HostedControlPlane{}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: contract.ControlPlaneNamespace(hc.Namespace, hc.Name), Name: hc.Name}, hcp)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the control plane of a HostedCluster that has the same host name: %w", err)
	}
	for _, name := range hostNames(hcp) {
		if name.name == wanted.name {
			return true, nil
		}
	}
	return false, nil
}
