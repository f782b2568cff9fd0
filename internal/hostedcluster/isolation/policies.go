package isolation

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

const (
	everywhere = "0.0.0.0/0"
	// ingressPolicy lets the management cluster's ingress in.
	ingressPolicy = "openshift-ingress"

	apiServerPort    = 6443
	oauthPort        = 6443
	ignitionPort     = 9090
	konnectivityPort = 8091
	dnsPort          = 53
	openShiftDNSPort = 5353
)

// Surroundings are what policies follow beside the HostedCluster.
type Surroundings struct {
	// Networks are those of the management cluster, Blocked further ones, as CIDRs of IPv4: a control plane's pods must reach neither.
	Networks *Networks
	Blocked  []string
	// OpenShiftDNS: name servers are pods of namespace openshift-dns.
	OpenShiftDNS bool
	// Proxy is the way out of the management cluster.
	Proxy proxyenv.Proxy
}

// EnsurePolicies closes the control-plane namespace but for what hosts and neighbours need. Policies of a former publishing
// type stay: publishing cannot be changed. One that cannot be written keeps no other from being written: half of them would cut off
// what the other half admits.
func EnsurePolicies(ctx context.Context, c *cluster.Cluster, around Surroundings) error {
	p := policies{hc: c.Hosted, namespace: c.Namespace}
	wanted := p.admitting()
	found, err := around.Networks.read(ctx, c.Live, c.Now())
	if err == nil {
		tellUnknownPods(c, found, around.Blocked)
		further := append(networksOf(around.Blocked...), hosts(metadataService, wireServer)...)
		wanted = append(wanted, p.egress(out{closed: found.closed(further...), dns: dnsRule(around.OpenShiftDNS), proxy: around.Proxy, management: found})...)
	}
	errs := []error{err, closeToIngress(ctx, c, p)}
	for _, policy := range wanted {
		errs = append(errs, c.Apply(ctx, policy))
	}
	return errors.Join(errs...)
}

// tellUnknownPods says that pods of others stay open where nobody tells their networks.
func tellUnknownPods(c *cluster.Cluster, found management, blocked []string) {
	if len(found.pods) > 0 || len(blocked) > 0 {
		c.Conditions().Remove(hyperv1.ControlPlaneIsolated)
		return
	}
	c.Conditions().False(hyperv1.ControlPlaneIsolated, hyperv1.PodNetworksUnknownReason,
		"Pods of this control plane reach pods of others: the management cluster does not tell its pod networks, "+
			"neither in networks.config.openshift.io nor in spec.podCIDRs of its nodes. Name them with: hypershift install --hcp-egress-block-cidrs.")
}

// policies of one control-plane namespace.
type policies struct {
	hc        *hyperv1.HostedCluster
	namespace string
}

// closeToIngress takes back what let the management cluster's ingress in, where the cluster's own router serves every Route.
func closeToIngress(ctx context.Context, c *cluster.Cluster, p policies) error {
	if p.publishing().UsesIngress() {
		return nil
	}
	stale := p.policy(ingressPolicy, metav1.LabelSelector{})
	if err := c.Client.Get(ctx, client.ObjectKeyFromObject(stale), stale); err != nil {
		return client.IgnoreNotFound(err)
	}
	return kube.DeleteIfExists(ctx, c.Client, stale)
}

func (p policies) publishing() publish.Plan {
	return publish.Plan{Platform: p.hc.Spec.Platform, Services: p.hc.Spec.Services}
}

// admitting are the policies that need nothing but the HostedCluster.
func (p policies) admitting() []*networkingv1.NetworkPolicy {
	all := metav1.LabelSelector{}
	wanted := []*networkingv1.NetworkPolicy{
		p.admit("same-namespace", all, networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}}),
		p.admit(contract.MonitoringNamespace, all, fromGroup("monitoring")),
		p.admitPorts("kas", contract.APIServer, p.apiServerPorts()...),
	}
	if p.publishing().UsesIngress() {
		wanted = append(wanted, p.admit(ingressPolicy, all, fromGroup(contract.PolicyGroupIngress)))
	}
	for _, published := range []struct {
		service   hyperv1.ServiceType
		how       hyperv1.PublishingStrategyType
		name, app string
		port      int32
	}{
		{hyperv1.OAuthServer, hyperv1.NodePort, "nodeport-oauth", contract.OAuthServer, oauthPort},
		{hyperv1.OAuthServer, hyperv1.LoadBalancer, "loadbalancer-oauth", contract.OAuthServer, oauthPort},
		{hyperv1.Ignition, hyperv1.NodePort, "nodeport-ignition", contract.IgnitionServer, ignitionPort},
		{hyperv1.Ignition, hyperv1.NodePort, "nodeport-ignition-proxy", publish.IgnitionProxyService, publish.IgnitionProxyPort},
		{hyperv1.Ignition, hyperv1.LoadBalancer, "loadbalancer-ignition", publish.IgnitionProxyService, publish.IgnitionProxyPort},
		{hyperv1.Konnectivity, hyperv1.NodePort, "nodeport-konnectivity", contract.KonnectivityServer, konnectivityPort},
		{hyperv1.Konnectivity, hyperv1.NodePort, "nodeport-konnectivity-kas", contract.APIServer, konnectivityPort},
		{hyperv1.Konnectivity, hyperv1.LoadBalancer, "loadbalancer-konnectivity", contract.APIServer, konnectivityPort},
	} {
		if cluster.Strategy(p.hc, published.service).Type == published.how {
			wanted = append(wanted, p.admitPorts(published.name, published.app, published.port))
		}
	}
	return wanted
}

func (p policies) apiServerPorts() []int32 {
	ports := []int32{apiServerPort}
	if api := p.hc.Spec.Networking.APIServer; api != nil && api.Port != nil && *api.Port != apiServerPort {
		ports = append(ports, *api.Port)
	}
	return ports
}

func (p policies) policy(name string, pods metav1.LabelSelector, types ...networkingv1.PolicyType) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.namespace},
		Spec:       networkingv1.NetworkPolicySpec{PodSelector: pods, PolicyTypes: types},
	}
}

// admit lets the peer reach every port of the pods.
func (p policies) admit(name string, pods metav1.LabelSelector, peer networkingv1.NetworkPolicyPeer) *networkingv1.NetworkPolicy {
	policy := p.policy(name, pods, networkingv1.PolicyTypeIngress)
	policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{peer}}}
	return policy
}

// admitPorts lets everybody reach the ports of one application: a rule per port, without peers.
func (p policies) admitPorts(name, app string, ports ...int32) *networkingv1.NetworkPolicy {
	policy := p.policy(name, appSelector(app), networkingv1.PolicyTypeIngress)
	for _, port := range ports {
		policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{Ports: policyPorts(port, corev1.ProtocolTCP)})
	}
	return policy
}

func appSelector(app string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: map[string]string{component.LabelApp: app}}
}

func policyPorts(port int32, protocols ...corev1.Protocol) []networkingv1.NetworkPolicyPort {
	var ports []networkingv1.NetworkPolicyPort
	for _, protocol := range protocols {
		ports = append(ports, networkingv1.NetworkPolicyPort{Protocol: ptr.To(protocol), Port: ptr.To(intstr.FromInt32(port))})
	}
	return ports
}

func fromGroup(group string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{contract.PolicyGroupLabel: group}}}
}

// dnsRule admits questions to name servers.
func dnsRule(openShiftDNS bool) networkingv1.NetworkPolicyEgressRule {
	if !openShiftDNS {
		return networkingv1.NetworkPolicyEgressRule{Ports: policyPorts(dnsPort, corev1.ProtocolUDP, corev1.ProtocolTCP)}
	}
	return networkingv1.NetworkPolicyEgressRule{
		Ports: policyPorts(openShiftDNSPort, corev1.ProtocolUDP, corev1.ProtocolTCP),
		To: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: contract.DNSNamespace}}}},
	}
}
