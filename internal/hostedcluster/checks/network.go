package checks

import (
	"fmt"
	"net/netip"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

const (
	// The API server's own range of node ports; 0 lets Kubernetes choose.
	firstNodePort, lastNodePort = 30000, 32767
	// Where nodes find the API server when spec.networking.apiServer does not say.
	defaultAdvertiseAddress  = contract.DefaultAdvertiseAddress
	defaultAdvertiseAddress6 = "fd00::1"
)

func invalidServices(hc *hyperv1.HostedCluster) []error {
	var problems []error
	hosts := map[string]hyperv1.ServiceType{}
	for _, service := range hc.Spec.Services {
		host := cluster.PublishedHost(service.ServicePublishingStrategy)
		if other, taken := hosts[host]; host != "" && taken {
			problems = append(problems, fmt.Errorf("services %s and %s have the same hostname %q; give each its own", other, service.Service, host))
		}
		hosts[host] = service.Service
		how := service.ServicePublishingStrategy.Type
		if !publish.Supported(hc.Spec.Platform.Type, service.Service, how) {
			problems = append(problems, fmt.Errorf("service %s cannot be published by %s on platform %s: use %s",
				service.Service, how, hc.Spec.Platform.Type, strings.Join(publish.Alternatives(hc.Spec.Platform.Type, service.Service), " or ")))
		}
		problems = append(problems, invalidNodePort(service, hc.Spec.Networking.ServiceNetwork)...)
	}
	return problems
}

func invalidNodePort(service hyperv1.ServicePublishingStrategyMapping, networks []hyperv1.NetworkEntry) []error {
	published := service.ServicePublishingStrategy.NodePort
	if published == nil {
		return nil
	}
	var problems []error
	if port := published.Port; service.Service == hyperv1.APIServer && port != 0 && (port < firstNodePort || port > lastNodePort) {
		problems = append(problems, fmt.Errorf("service %s: node port %d is outside of %d to %d; use one of those, or 0 for any", service.Service, port, firstNodePort, lastNodePort))
	}
	address, err := netip.ParseAddr(published.Address)
	if err != nil {
		return problems // a host name
	}
	for _, network := range networks {
		if prefix, err := netip.ParsePrefix(string(network.CIDR)); err == nil && prefix.Contains(address) {
			problems = append(problems, fmt.Errorf("service %s: node port address %s lies within spec.networking.serviceNetwork %s; nodes have addresses outside of it", service.Service, address, prefix))
		}
	}
	return problems
}

// network is one range with the field that holds it.
type network struct {
	field  string
	prefix netip.Prefix
}

func invalidNetworking(networking hyperv1.ClusterNetworking) []error {
	networks, problems := parseNetworks(networking)
	for i, one := range networks {
		for _, other := range networks[:i] {
			if other.prefix.Overlaps(one.prefix) {
				problems = append(problems, fmt.Errorf("spec.networking: %s %s overlaps %s %s; choose separate ranges", one.field, one.prefix, other.field, other.prefix))
			}
		}
	}
	if err := primaryFamilies(networks); err != nil {
		problems = append(problems, err)
	}
	return append(problems, invalidAdvertiseAddress(networking.APIServer, networks)...)
}

func parseNetworks(networking hyperv1.ClusterNetworking) ([]network, []error) {
	var networks []network
	var problems []error
	add := func(field string, cidr hyperv1.CIDR) {
		prefix, err := netip.ParsePrefix(string(cidr))
		if err != nil {
			problems = append(problems, fmt.Errorf("spec.networking.%s: %q is not a CIDR", field, cidr))
			return
		}
		networks = append(networks, network{field, prefix})
	}
	for _, entry := range networking.MachineNetwork {
		add("machineNetwork", entry.CIDR)
	}
	for _, entry := range networking.ClusterNetwork {
		add("clusterNetwork", entry.CIDR)
	}
	for _, entry := range networking.ServiceNetwork {
		add("serviceNetwork", entry.CIDR)
	}
	return networks, problems
}

// primaryFamilies: the first range of each kind of network decides the family of what has one address only.
func primaryFamilies(networks []network) error {
	first := map[string]network{}
	var reference *network
	for i, n := range networks {
		if _, seen := first[n.field]; seen {
			continue
		}
		first[n.field] = n
		if reference == nil {
			reference = &networks[i]
		}
		if n.prefix.Addr().Is4() != reference.prefix.Addr().Is4() {
			return fmt.Errorf("spec.networking: the first range of %s is %s and that of %s is %s; the first ranges must be of one IP family",
				reference.field, reference.prefix, n.field, n.prefix)
		}
	}
	return nil
}

func invalidAdvertiseAddress(api *hyperv1.APIServerNetworking, networks []network) []error {
	text := defaultAdvertiseAddress
	if len(networks) > 0 && networks[0].prefix.Addr().Is6() {
		text = defaultAdvertiseAddress6
	}
	if api != nil && api.AdvertiseAddress != nil && *api.AdvertiseAddress != "" {
		text = *api.AdvertiseAddress
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return []error{fmt.Errorf("spec.networking.apiServer.advertiseAddress %q is not an IP address", text)}
	}
	var problems []error
	for _, n := range networks {
		if n.prefix.Contains(address) {
			problems = append(problems, fmt.Errorf("spec.networking.apiServer.advertiseAddress %s lies within %s %s; nodes keep it for themselves, so it must be outside of every network",
				address, n.field, n.prefix))
		}
	}
	return problems
}
