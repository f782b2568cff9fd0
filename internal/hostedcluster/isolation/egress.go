package isolation

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// Addresses at which Azure's host serves whoever asks from a node: the metadata service gives credentials of the node, the WireServer its
// configuration. Name servers are reached by a rule of their own.
const (
	metadataService = "169.254.169.254"
	wireServer      = "168.63.129.16"
)

// Policies of ways out, beside that of the router.
const (
	apiServerEgressPolicy = "kas-egress"
	podsEgressPolicy      = "pods-egress"
	managementAPIPolicy   = "management-api"
)

// out is what the ways out of a control plane's pods follow.
type out struct {
	// closed are the addresses that no pod has any business with.
	closed []string
	dns    networkingv1.NetworkPolicyEgressRule
	proxy  proxyenv.Proxy
	// management is the network of the management cluster.
	management management
}

// egress are the policies of ways out. Policies add up, so the pods of each but the last are those of no other.
func (p policies) egress(o out) []*networkingv1.NetworkPolicy {
	wanted := []*networkingv1.NetworkPolicy{p.apiServerEgress(o), p.podsEgress(o), p.managementAPI(o)}
	if p.hc.Spec.Platform.Type == hyperv1.AzurePlatform {
		wanted = append(wanted, p.privateRouter(o))
	}
	return wanted
}

// apiServerEgress: whoever administers the guest can have its API server call any URL, as a webhook or to convert objects, and the
// API server calls URLs itself, not through the tunnel. So it reaches its own namespace, which demands certificates of its callers,
// and the outside, where an audit webhook, a key vault or an identity provider may be; but neither the management cluster's API, nor
// pods of others, nor nodes and what serves them.
func (p policies) apiServerEgress(o out) *networkingv1.NetworkPolicy {
	policy := p.policy(apiServerEgressPolicy, appSelector(contract.APIServer), networkingv1.PolicyTypeEgress)
	policy.Spec.Egress = o.rules()
	return policy
}

// podsEgress is the way out of every other pod: a program of a control plane that was taken over reaches no more of the management
// cluster than the guest's API server, and the namespaces that their owner has opened to control planes, as that of a registry.
func (p policies) podsEgress(o out) *networkingv1.NetworkPolicy {
	policy := p.policy(podsEgressPolicy, metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{withEgressOfTheirOwn}}, networkingv1.PolicyTypeEgress)
	opened := metav1.LabelSelector{MatchLabels: map[string]string{contract.OpenToControlPlanesLabel: "true"}}
	policy.Spec.Egress = append(o.rules(), networkingv1.NetworkPolicyEgressRule{To: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &opened}}})
	return policy
}

// managementAPI lets the programs that have an account of the management cluster reach its API servers.
func (p policies) managementAPI(o out) *networkingv1.NetworkPolicy {
	policy := p.policy(managementAPIPolicy, metav1.LabelSelector{
		MatchLabels:      map[string]string{component.LabelManagementAccess: "true"},
		MatchExpressions: []metav1.LabelSelectorRequirement{withEgressOfTheirOwn},
	}, networkingv1.PolicyTypeEgress)
	rule := networkingv1.NetworkPolicyEgressRule{}
	for _, server := range o.management.servers {
		rule.To = append(rule.To, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: server.String()}})
	}
	for _, port := range o.management.ports {
		rule.Ports = append(rule.Ports, policyPorts(port, corev1.ProtocolTCP)...)
	}
	if len(rule.To) > 0 { // a rule without peers would let them reach everybody
		policy.Spec.Egress = append(policy.Spec.Egress, rule)
	}
	return policy
}

// withEgressOfTheirOwn leaves out the pods whose ways out are closed further, whatever labels the user gives to pods.
var withEgressOfTheirOwn = metav1.LabelSelectorRequirement{
	Key: component.LabelApp, Operator: metav1.LabelSelectorOpNotIn, Values: []string{contract.APIServer, publish.RouterApp},
}

// rules admit the own namespace, the outside without what is closed, name servers and the management cluster's proxies.
func (o out) rules() []networkingv1.NetworkPolicyEgressRule {
	rules := []networkingv1.NetworkPolicyEgressRule{
		{To: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}},
		{To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: everywhere, Except: o.closed}}}},
		o.dns,
	}
	ways := []string{o.proxy.HTTPSProxy, o.proxy.HTTPProxy}
	for _, way := range slices.Compact(ways) {
		if proxy, ok := proxyRule(way); ok {
			rules = append(rules, proxy)
		}
	}
	return rules
}

// privateRouter lets a router of this cluster, which takes requests from outside, reach what serves them and the outside, but
// neither the management cluster's API nor other pods of it.
func (p policies) privateRouter(o out) *networkingv1.NetworkPolicy {
	policy := p.policy(contract.PrivateRouter, appSelector(publish.RouterApp), networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress)
	policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{
		{Ports: policyPorts(8080, corev1.ProtocolTCP)}, {Ports: policyPorts(publish.RouterPort, corev1.ProtocolTCP)},
	}
	serving := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: hyperv1.RequestServingComponentLabel, Operator: metav1.LabelSelectorOpExists}}}
	policy.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{
		{To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: everywhere, Except: o.closed}}}},
		{To: []networkingv1.NetworkPolicyPeer{{PodSelector: &serving}}},
		o.dns,
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
