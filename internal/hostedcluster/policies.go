package hostedcluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

const (
	// policyGroupLabel marks the namespaces of the management cluster's router and of its monitoring.
	policyGroupLabel = "network.openshift.io/policy-group"
	everywhere       = "0.0.0.0/0"
	// ingressPolicy lets the management cluster's ingress in.
	ingressPolicy = "openshift-ingress"

	apiServerPort    = 6443
	oauthPort        = 6443
	ignitionPort     = 9090
	konnectivityPort = 8091
	dnsPort          = 53
	openShiftDNSPort = 5353

	// forbiddenPeriod is how long the addresses of the management cluster's API servers are believed: they seldom change, and every
	// hosted cluster's pass asks for them.
	forbiddenPeriod = time.Minute
)

// ensureIsolation closes the control-plane namespace but for what hosts and neighbours need. Policies of a former publishing
// type stay: publishing cannot be changed. One that cannot be written keeps no other from being written: half of them would cut off
// what the other half admits.
func (p *pass) ensureIsolation(ctx context.Context) error {
	policies := p.networkPolicies()
	forbidden, err := p.forbidden.read(ctx, p.Live, p.Now())
	forbidden = slices.Concat(forbidden, p.EgressBlockCIDRs)
	if err == nil {
		policies = append(policies, p.apiServerEgressPolicy(forbidden))
	}
	if err == nil && p.hc.Spec.Platform.Type == hyperv1.AzurePlatform {
		policies = append(policies, p.privateRouterPolicy(forbidden))
	}
	errs := []error{err, p.closeToIngress(ctx)}
	for _, policy := range policies {
		errs = append(errs, p.apply(ctx, policy))
	}
	return errors.Join(errs...)
}

// closeToIngress takes back what let the management cluster's ingress in, where the cluster's own router serves every Route.
func (p *pass) closeToIngress(ctx context.Context) error {
	if p.publishing().UsesIngress() {
		return nil
	}
	stale := p.policy(ingressPolicy, metav1.LabelSelector{})
	if err := p.Get(ctx, client.ObjectKeyFromObject(stale), stale); err != nil {
		return client.IgnoreNotFound(err)
	}
	return kube.DeleteIfExists(ctx, p.Client, stale)
}

func (p *pass) publishing() publish.Plan {
	return publish.Plan{Platform: p.hc.Spec.Platform, Services: p.hc.Spec.Services}
}

// networkPolicies are those that need nothing but the HostedCluster.
func (p *pass) networkPolicies() []*networkingv1.NetworkPolicy {
	all := metav1.LabelSelector{}
	policies := []*networkingv1.NetworkPolicy{
		p.admit("same-namespace", all, networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}}),
		p.admit("openshift-monitoring", all, fromGroup("monitoring")),
		p.admitPorts("kas", component.APIServer, p.apiServerPorts()...),
	}
	if p.publishing().UsesIngress() {
		policies = append(policies, p.admit(ingressPolicy, all, fromGroup("ingress")))
	}
	for _, published := range []struct {
		service   hyperv1.ServiceType
		how       hyperv1.PublishingStrategyType
		name, app string
		port      int32
	}{
		{hyperv1.OAuthServer, hyperv1.NodePort, "nodeport-oauth", "oauth-openshift", oauthPort},
		{hyperv1.OAuthServer, hyperv1.LoadBalancer, "loadbalancer-oauth", "oauth-openshift", oauthPort},
		{hyperv1.Ignition, hyperv1.NodePort, "nodeport-ignition", ignitionServer, ignitionPort},
		{hyperv1.Ignition, hyperv1.NodePort, "nodeport-ignition-proxy", publish.IgnitionProxyService, publish.IgnitionProxyPort},
		{hyperv1.Ignition, hyperv1.LoadBalancer, "loadbalancer-ignition", publish.IgnitionProxyService, publish.IgnitionProxyPort},
		{hyperv1.Konnectivity, hyperv1.NodePort, "nodeport-konnectivity", "konnectivity-server", konnectivityPort},
		{hyperv1.Konnectivity, hyperv1.NodePort, "nodeport-konnectivity-kas", component.APIServer, konnectivityPort},
		{hyperv1.Konnectivity, hyperv1.LoadBalancer, "loadbalancer-konnectivity", component.APIServer, konnectivityPort},
	} {
		if p.strategyOf(published.service).Type == published.how {
			policies = append(policies, p.admitPorts(published.name, published.app, published.port))
		}
	}
	return policies
}

func (p *pass) apiServerPorts() []int32 {
	ports := []int32{apiServerPort}
	if api := p.hc.Spec.Networking.APIServer; api != nil && api.Port != nil && *api.Port != apiServerPort {
		ports = append(ports, *api.Port)
	}
	return ports
}

func (p *pass) policy(name string, pods metav1.LabelSelector, types ...networkingv1.PolicyType) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.namespace},
		Spec:       networkingv1.NetworkPolicySpec{PodSelector: pods, PolicyTypes: types},
	}
}

// admit lets the peer reach every port of the pods.
func (p *pass) admit(name string, pods metav1.LabelSelector, peer networkingv1.NetworkPolicyPeer) *networkingv1.NetworkPolicy {
	policy := p.policy(name, pods, networkingv1.PolicyTypeIngress)
	policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{peer}}}
	return policy
}

// admitPorts lets everybody reach the ports of one application: a rule per port, without peers.
func (p *pass) admitPorts(name, app string, ports ...int32) *networkingv1.NetworkPolicy {
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
	return networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{policyGroupLabel: group}}}
}

// privateRouterPolicy lets a router of this cluster, which takes requests from outside, reach what serves them and the outside, but
// neither the management cluster's API nor other pods of it.
func (p *pass) privateRouterPolicy(forbidden []string) *networkingv1.NetworkPolicy {
	policy := p.policy("private-router", appSelector(publish.RouterApp), networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress)
	policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{
		{Ports: policyPorts(8080, corev1.ProtocolTCP)}, {Ports: policyPorts(publish.RouterPort, corev1.ProtocolTCP)},
	}
	serving := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: hyperv1.RequestServingComponentLabel, Operator: metav1.LabelSelectorOpExists}}}
	policy.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{
		{To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: everywhere, Except: forbidden}}}},
		{To: []networkingv1.NetworkPolicyPeer{{PodSelector: &serving}}},
		p.dnsRule(),
	}
	return policy
}

func (p *pass) dnsRule() networkingv1.NetworkPolicyEgressRule {
	if !p.Capabilities.OpenShiftDNS {
		return networkingv1.NetworkPolicyEgressRule{Ports: policyPorts(dnsPort, corev1.ProtocolUDP, corev1.ProtocolTCP)}
	}
	return networkingv1.NetworkPolicyEgressRule{
		Ports: policyPorts(openShiftDNSPort, corev1.ProtocolUDP, corev1.ProtocolTCP),
		To: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: "openshift-dns"}}}},
	}
}

// forbiddenNetworks are the addresses of the management cluster that a control plane's router has no business with.
type forbiddenNetworks struct {
	mu    sync.Mutex
	until time.Time
	last  []string
}

func (f *forbiddenNetworks) read(ctx context.Context, live client.Reader, now time.Time) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Before(f.until) {
		return f.last, nil
	}
	servers, err := apiServerAddresses(ctx, live)
	if err != nil {
		return nil, err
	}
	pods, err := podNetworks(ctx, live)
	if err != nil {
		return nil, err
	}
	f.last, f.until = append(servers, pods...), now.Add(forbiddenPeriod)
	return f.last, nil
}

func apiServerAddresses(ctx context.Context, live client.Reader) ([]string, error) {
	endpoints := &discoveryv1.EndpointSliceList{}
	if err := live.List(ctx, endpoints, client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{discoveryv1.LabelServiceName: "kubernetes"}); err != nil {
		return nil, fmt.Errorf("read the addresses of the management cluster's API servers: %w", err)
	}
	var found []string
	for _, slice := range endpoints.Items {
		for _, endpoint := range slice.Endpoints {
			for _, text := range endpoint.Addresses {
				// The block they are excepted from is of IPv4.
				if address, err := netip.ParseAddr(text); err == nil && address.Is4() {
					found = append(found, netip.PrefixFrom(address, address.BitLen()).String())
				}
			}
		}
	}
	// In one order, whatever that of the answer: it becomes part of an object.
	slices.Sort(found)
	return slices.Compact(found), nil
}

// podNetworks are those of the management cluster's own configuration, or those of its nodes.
func podNetworks(ctx context.Context, live client.Reader) ([]string, error) {
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "Network"})
	err := live.Get(ctx, client.ObjectKey{Name: "cluster"}, config)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nodePodNetworks(ctx, live)
	}
	if err != nil {
		return nil, fmt.Errorf("read the management cluster's Network configuration: %w", err)
	}
	entries, _, err := unstructured.NestedSlice(config.Object, "spec", "clusterNetwork")
	if err != nil {
		return nil, fmt.Errorf("the management cluster's Network configuration is malformed: %w", err)
	}
	var found []string
	for _, entry := range entries {
		network, _ := entry.(object)
		text, _ := network["cidr"].(string)
		if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Addr().Is4() {
			found = append(found, prefix.String())
		}
	}
	return found, nil
}
