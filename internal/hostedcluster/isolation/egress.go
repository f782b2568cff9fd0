package isolation

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
)

// metadataService gives credentials of the node to whoever asks from it.
const metadataService = "169.254.169.254/32"

// apiServerEgress: whoever administers the guest can have its API server call any URL, as a webhook or to convert objects, and the
// API server calls URLs itself, not through the tunnel. So it reaches its own namespace, which demands certificates of its callers,
// and the outside, where an audit webhook, a key vault or an identity provider may be; but neither the management cluster's API, nor
// pods of others, nor the metadata of the node.
func (p policies) apiServerEgress(forbidden []string, dns networkingv1.NetworkPolicyEgressRule, way proxyenv.Proxy) *networkingv1.NetworkPolicy {
	policy := p.policy("kas-egress", appSelector(contract.APIServer), networkingv1.PolicyTypeEgress)
	policy.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{
		{To: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}},
		{To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: everywhere, Except: append(slices.Clone(forbidden), metadataService)}}}},
		dns,
	}
	if proxy, ok := proxyRule(way.HTTPSProxy); ok {
		policy.Spec.Egress = append(policy.Spec.Egress, proxy)
	}
	return policy
}

// proxyRule admits the port of a proxy that is given by its address: it may be the address of the management cluster's API as well.
func proxyRule(text string) (networkingv1.NetworkPolicyEgressRule, bool) {
	proxy, err := url.Parse(text)
	if err != nil {
		return networkingv1.NetworkPolicyEgressRule{}, false
	}
	address, err := netip.ParseAddr(proxy.Hostname())
	if err != nil {
		return networkingv1.NetworkPolicyEgressRule{}, false
	}
	port, err := strconv.ParseInt(proxy.Port(), 10, 32)
	if err != nil {
		return networkingv1.NetworkPolicyEgressRule{}, false
	}
	return networkingv1.NetworkPolicyEgressRule{
		Ports: policyPorts(int32(port), corev1.ProtocolTCP),
		To:    []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: netip.PrefixFrom(address, address.BitLen()).String()}}},
	}, true
}
