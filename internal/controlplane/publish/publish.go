// Package publish makes the endpoints of a hosted control plane reachable and tells where they are.
package publish

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

// Names of Services and Routes, and their ports.
const (
	APIServerService         = "kube-apiserver"
	APIServerLoadBalancer    = "kube-apiserverlb"
	KonnectivityService      = "konnectivity-server"
	KonnectivityLocalService = "konnectivity-server-local"
	IgnitionService          = "ignition-server"

	APIServerPort         = 6443
	KonnectivityPort      = 8091
	KonnectivityLocalPort = 8090
	IgnitionPort          = 9090

	// loadBalancerPort differs from 6443: that rule would clash with the management cluster's own API load balancer.
	loadBalancerPort = 7443
	routePort        = 443
)

// RouteKind of OpenShift's ingress.
var RouteKind = schema.GroupVersionKind{Group: "route.openshift.io", Version: "v1", Kind: "Route"}

// Endpoint is where something answers; an empty host means it is not known yet.
type Endpoint struct {
	Host string
	Port int32
}

// Known tells whether the address is there.
func (e Endpoint) Known() bool { return e.Host != "" }

// URL is the endpoint as an https URL.
func (e Endpoint) URL() string { return fmt.Sprintf("https://%s:%d", hostInURL(e.Host), e.Port) }

func hostInURL(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// Endpoints of a control plane as clients outside of the management cluster reach them.
type Endpoints struct {
	APIServer, Konnectivity, Ignition Endpoint
	// Waiting says, for people, what is not published yet.
	Waiting []string
}

// Strategy returns how a service is published; the API server defaults to a load balancer, the others to Routes.
func Strategy(hcp *hyperv1.HostedControlPlane, service hyperv1.ServiceType) hyperv1.ServicePublishingStrategy {
	for _, mapping := range hcp.Spec.Services {
		if mapping.Service == service {
			return mapping.ServicePublishingStrategy
		}
	}
	if service == hyperv1.APIServer {
		return hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}
	}
	return hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}
}

// Objects are the Services and Routes that components of ours answer behind.
func Objects(hcp *hyperv1.HostedControlPlane, ingressDomain string) []client.Object {
	objects := []client.Object{
		service(hcp, APIServerService, "kube-apiserver", APIServerPort, APIServerPort, hyperv1.APIServer),
		service(hcp, KonnectivityService, "kube-apiserver", KonnectivityPort, KonnectivityPort, hyperv1.Konnectivity),
		service(hcp, KonnectivityLocalService, "kube-apiserver", KonnectivityLocalPort, KonnectivityLocalPort, ""),
		service(hcp, IgnitionService, "ignition-server", routePort, IgnitionPort, hyperv1.Ignition),
	}
	if s := Strategy(hcp, hyperv1.APIServer); s.Type == hyperv1.LoadBalancer {
		objects = append(objects, apiLoadBalancer(hcp, s))
	}
	for _, published := range []struct {
		service hyperv1.ServiceType
		name    string
		port    int32
	}{
		{hyperv1.APIServer, APIServerService, APIServerPort},
		{hyperv1.Konnectivity, KonnectivityService, KonnectivityPort},
		{hyperv1.Ignition, IgnitionService, routePort},
	} {
		if s := Strategy(hcp, published.service); s.Type == hyperv1.Route {
			objects = append(objects, route(hcp, published.name, published.port, routeHost(hcp, published.name, s, ingressDomain)))
		}
	}
	for _, obj := range objects {
		component.Own(hcp, obj)
	}
	return objects
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

func apiLoadBalancer(hcp *hyperv1.HostedControlPlane, strategy hyperv1.ServicePublishingStrategy) *corev1.Service {
	s := service(hcp, APIServerLoadBalancer, "kube-apiserver", loadBalancerPort, APIServerPort, "")
	s.Spec.Type = corev1.ServiceTypeLoadBalancer
	if n := hcp.Spec.Networking.APIServer; n != nil {
		for _, cidr := range n.AllowedCIDRBlocks {
			s.Spec.LoadBalancerSourceRanges = append(s.Spec.LoadBalancerSourceRanges, string(cidr))
		}
	}
	annotateHostname(s, strategy)
	return s
}

func annotateHostname(s *corev1.Service, strategy hyperv1.ServicePublishingStrategy) {
	if lb := strategy.LoadBalancer; lb != nil && lb.Hostname != "" {
		s.Annotations = map[string]string{hyperv1.ExternalDNSHostnameAnnotation: string(lb.Hostname)}
	}
}

// routeHost is the user's host name or, where the ingress domain is known, the name the ingress would choose; else empty.
func routeHost(hcp *hyperv1.HostedControlPlane, name string, strategy hyperv1.ServicePublishingStrategy, ingressDomain string) string {
	if strategy.Route != nil && strategy.Route.Hostname != "" {
		return string(strategy.Route.Hostname)
	}
	label := name + "-" + hcp.Namespace
	if ingressDomain == "" || len(label) > 63 {
		return ""
	}
	return label + "." + ingressDomain
}

func route(hcp *hyperv1.HostedControlPlane, name string, port int32, host string) *unstructured.Unstructured {
	spec := map[string]any{
		"to":   map[string]any{"kind": "Service", "name": name, "weight": int64(100)},
		"port": map[string]any{"targetPort": "https"},
		"tls":  map[string]any{"termination": "passthrough", "insecureEdgeTerminationPolicy": "None"},
	}
	if host != "" {
		spec["host"] = host
	}
	r := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	r.SetGroupVersionKind(RouteKind)
	r.SetName(name)
	r.SetNamespace(hcp.Namespace)
	if port == KonnectivityPort {
		// Agents hold one connection to each server: spreading by load would join them on one.
		r.SetAnnotations(map[string]string{"haproxy.router.openshift.io/balance": "roundrobin"})
	}
	return r
}

// Read looks the published addresses up.
func Read(ctx context.Context, c client.Reader, hcp *hyperv1.HostedControlPlane) (Endpoints, error) {
	var e Endpoints
	for _, item := range []struct {
		service hyperv1.ServiceType
		name    string
		into    *Endpoint
	}{
		{hyperv1.APIServer, APIServerService, &e.APIServer},
		{hyperv1.Konnectivity, KonnectivityService, &e.Konnectivity},
		{hyperv1.Ignition, IgnitionService, &e.Ignition},
	} {
		endpoint, waiting, err := read(ctx, c, hcp, item.service, item.name)
		if err != nil {
			return Endpoints{}, err
		}
		*item.into = endpoint
		if waiting != "" {
			e.Waiting = append(e.Waiting, waiting)
		}
	}
	return e, nil
}

func read(ctx context.Context, c client.Reader, hcp *hyperv1.HostedControlPlane, kind hyperv1.ServiceType, name string) (Endpoint, string, error) {
	strategy := Strategy(hcp, kind)
	switch strategy.Type {
	case hyperv1.Route:
		return readRoute(ctx, c, hcp.Namespace, name)
	case hyperv1.NodePort:
		return readNodePort(ctx, c, hcp.Namespace, name, strategy)
	case hyperv1.LoadBalancer:
		if kind == hyperv1.APIServer {
			name = APIServerLoadBalancer
		}
		return readLoadBalancer(ctx, c, hcp.Namespace, name, strategy)
	}
	return Endpoint{}, fmt.Sprintf("service %s cannot be published as %q: use LoadBalancer, Route or NodePort", kind, strategy.Type), nil
}

func readService(ctx context.Context, c client.Reader, namespace, name string) (*corev1.Service, string, error) {
	s := &corev1.Service{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, s)
	if apierrors.IsNotFound(err) {
		return nil, "Service " + name + " is not there yet", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read Service %s: %w", name, err)
	}
	return s, "", nil
}

func readLoadBalancer(ctx context.Context, c client.Reader, namespace, name string, strategy hyperv1.ServicePublishingStrategy) (Endpoint, string, error) {
	s, waiting, err := readService(ctx, c, namespace, name)
	if s == nil {
		return Endpoint{}, waiting, err
	}
	for _, ingress := range s.Status.LoadBalancer.Ingress {
		host := ingress.Hostname
		if host == "" {
			host = ingress.IP
		}
		if lb := strategy.LoadBalancer; lb != nil && lb.Hostname != "" {
			host = string(lb.Hostname)
		}
		if host != "" {
			return Endpoint{Host: host, Port: s.Spec.Ports[0].Port}, "", nil
		}
	}
	return Endpoint{}, "the cloud has not given load balancer Service " + name + " an address yet", nil
}

func readNodePort(ctx context.Context, c client.Reader, namespace, name string, strategy hyperv1.ServicePublishingStrategy) (Endpoint, string, error) {
	s, waiting, err := readService(ctx, c, namespace, name)
	if s == nil {
		return Endpoint{}, waiting, err
	}
	if strategy.NodePort == nil || s.Spec.Ports[0].NodePort == 0 {
		return Endpoint{}, "Service " + name + " has no node port yet", nil
	}
	return Endpoint{Host: strategy.NodePort.Address, Port: s.Spec.Ports[0].NodePort}, "", nil
}

func readRoute(ctx context.Context, c client.Reader, namespace, name string) (Endpoint, string, error) {
	r := &unstructured.Unstructured{}
	r.SetGroupVersionKind(RouteKind)
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, r)
	if apierrors.IsNotFound(err) {
		return Endpoint{}, "Route " + name + " is not there yet", nil
	}
	if err != nil {
		return Endpoint{}, "", fmt.Errorf("read Route %s: %w", name, err)
	}
	host, _, _ := unstructured.NestedString(r.Object, "spec", "host")
	if host == "" {
		host = admittedHost(r)
	}
	if host == "" {
		return Endpoint{}, "the ingress has not admitted Route " + name + " yet", nil
	}
	return Endpoint{Host: host, Port: routePort}, "", nil
}

func admittedHost(r *unstructured.Unstructured) string {
	ingresses, _, _ := unstructured.NestedSlice(r.Object, "status", "ingress")
	for _, item := range ingresses {
		if ingress, ok := item.(map[string]any); ok {
			if host, _, _ := unstructured.NestedString(ingress, "host"); host != "" {
				return host
			}
		}
	}
	return ""
}
