// Package publish makes the endpoints of a hosted control plane reachable and tells where they are.
package publish

import (
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Names of Services and Routes, and their ports.
const (
	APIServerService         = contract.APIServer
	APIServerLoadBalancer    = "kube-apiserverlb"
	APIServerPrivate         = "kube-apiserver-private"
	APIServerInternal        = "kube-apiserver-internal"
	KonnectivityService      = contract.KonnectivityServer
	KonnectivityLocalService = contract.KonnectivityLocal
	IgnitionService          = contract.IgnitionServer
	IgnitionProxyService     = "ignition-server-proxy"
	RouterService            = "router"
	PrivateRouterService     = contract.PrivateRouter
	OAuthService             = contract.OAuthServer
	OAuthRoute               = "oauth"

	APIServerPort         = 6443
	KonnectivityPort      = 8091
	KonnectivityLocalPort = 8090
	IgnitionPort          = 9090
	OAuthPort             = 6443
	// RouterPort and IgnitionProxyPort are where the pods listen; their Services have 443.
	RouterPort        = 8443
	IgnitionProxyPort = 8443

	// RouterApp is the label of the router's pods, public or not: the network policy that lets clients in names it.
	RouterApp = contract.PrivateRouter

	// loadBalancerPort differs from 6443: that rule would clash with the management cluster's own API load balancer.
	loadBalancerPort = 7443
	httpsPort        = 443

	internalLoadBalancer = "service.beta.kubernetes.io/azure-load-balancer-internal"
)

// Endpoint is where something answers; an empty host means it is not known yet.
type Endpoint struct {
	Host string
	Port int32
}

// Known tells whether the address is there.
func (e Endpoint) Known() bool { return e.Host != "" }

// URL is the endpoint as an https URL.
func (e Endpoint) URL() string {
	return "https://" + net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// Endpoints of a control plane as clients outside of the management cluster reach them.
type Endpoints struct {
	APIServer, Konnectivity, Ignition Endpoint
	// OAuth is where users log in, with a payload that has a server for it.
	OAuth Endpoint
	// Metrics is where the hosted cluster reads the control plane's metrics, where they are forwarded.
	Metrics Endpoint
	// Waiting says, for people, what is not published yet.
	Waiting []string
}

// Strategy returns how a service is published; the API server defaults to a load balancer, the others to Routes.
func Strategy(hcp *hyperv1.HostedControlPlane, service hyperv1.ServiceType) hyperv1.ServicePublishingStrategy {
	return PlanOf(hcp).Strategy(service)
}

// published is a service that a component of ours answers.
type published struct {
	kind hyperv1.ServiceType
	// name of its Route; service and port are what stands behind it, within the namespace.
	name, service string
	port          int32
}

// services that are published with every payload.
var services = []published{
	{hyperv1.APIServer, APIServerService, APIServerService, APIServerPort},
	{hyperv1.Konnectivity, KonnectivityService, KonnectivityService, KonnectivityPort},
	{hyperv1.Ignition, IgnitionService, IgnitionProxyService, httpsPort},
}

// Objects are the Services and Routes that components of ours answer behind.
func Objects(hcp *hyperv1.HostedControlPlane, ingressDomain string) []client.Object {
	plan := PlanOf(hcp)
	objects := []client.Object{
		service(hcp, APIServerService, contract.APIServer, APIServerPort, APIServerPort, hyperv1.APIServer),
		tunnel(hcp),
		service(hcp, KonnectivityLocalService, contract.APIServer, KonnectivityLocalPort, KonnectivityLocalPort, ""),
		service(hcp, IgnitionService, contract.IgnitionServer, httpsPort, IgnitionPort, ""),
		service(hcp, IgnitionProxyService, IgnitionProxyService, httpsPort, IgnitionProxyPort, hyperv1.Ignition),
	}
	objects = append(objects, loadBalancers(hcp, plan)...)
	for _, r := range routesOf(hcp, plan) {
		objects = append(objects, r.object(hcp, ingressDomain))
	}
	for _, obj := range objects {
		component.Own(hcp, obj)
	}
	return objects
}

// tunnel is where agents dial in. They find a server before the API server beside it is ready, which waits for them.
func tunnel(hcp *hyperv1.HostedControlPlane) *corev1.Service {
	s := service(hcp, KonnectivityService, contract.APIServer, KonnectivityPort, KonnectivityPort, hyperv1.Konnectivity)
	s.Spec.PublishNotReadyAddresses = true
	return s
}

func service(hcp *hyperv1.HostedControlPlane, name, app string, port, target int32, published hyperv1.ServiceType) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: hcp.Namespace, Labels: map[string]string{component.LabelApp: app}},
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: map[string]string{component.LabelApp: app},
			Ports:    []corev1.ServicePort{{Name: "https", Protocol: corev1.ProtocolTCP, Port: port, TargetPort: intstr.FromInt32(target)}},
		},
	}
	strategy := Strategy(hcp, published)
	switch {
	case published == "":
	case strategy.Type == hyperv1.NodePort:
		s.Spec.Type = corev1.ServiceTypeNodePort
		if strategy.NodePort != nil {
			s.Spec.Ports[0].NodePort = strategy.NodePort.Port
		}
	case strategy.Type == hyperv1.LoadBalancer && published != hyperv1.APIServer:
		s.Spec.Type = corev1.ServiceTypeLoadBalancer
		annotateHostname(s, strategy)
	}
	return s
}

// loadBalancers in front of the API server and of the cluster's router.
func loadBalancers(hcp *hyperv1.HostedControlPlane, plan Plan) []client.Object {
	balanced := func(name, app string, port, target int32) *corev1.Service {
		s := service(hcp, name, app, port, target, "")
		s.Spec.Type = corev1.ServiceTypeLoadBalancer
		return s
	}
	internal := func(s *corev1.Service) *corev1.Service {
		s.Annotations = map[string]string{internalLoadBalancer: "true"}
		return s
	}
	var objects []client.Object
	if api := plan.Strategy(hyperv1.APIServer); api.Type == hyperv1.LoadBalancer {
		if plan.Public() {
			s := balanced(APIServerLoadBalancer, contract.APIServer, loadBalancerPort, APIServerPort)
			annotateHostname(s, api)
			objects = append(objects, restricted(hcp, s))
		}
		if plan.Private() {
			objects = append(objects, internal(balanced(APIServerPrivate, contract.APIServer, loadBalancerPort, APIServerPort)))
		}
	}
	if plan.Public() && plan.LabelsRoutes() {
		objects = append(objects, restricted(hcp, balanced(RouterService, RouterApp, httpsPort, RouterPort)))
	}
	if plan.Private() {
		objects = append(objects, internal(balanced(PrivateRouterService, RouterApp, httpsPort, RouterPort)))
	}
	return objects
}

// restricted lets only those in who may reach the API server.
func restricted(hcp *hyperv1.HostedControlPlane, s *corev1.Service) *corev1.Service {
	if n := hcp.Spec.Networking.APIServer; n != nil {
		for _, cidr := range n.AllowedCIDRBlocks {
			s.Spec.LoadBalancerSourceRanges = append(s.Spec.LoadBalancerSourceRanges, string(cidr))
		}
	}
	return s
}

func annotateHostname(s *corev1.Service, strategy hyperv1.ServicePublishingStrategy) {
	if lb := strategy.LoadBalancer; lb != nil && lb.Hostname != "" {
		s.Annotations = map[string]string{hyperv1.ExternalDNSHostnameAnnotation: string(lb.Hostname), ttlAnnotation: recordTTL}
	}
}
