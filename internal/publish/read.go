package publish

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// Read looks the published addresses up.
func Read(ctx context.Context, c client.Reader, hcp *hyperv1.HostedControlPlane) (Endpoints, error) {
	var e Endpoints
	for _, s := range services {
		endpoint, waiting, err := read(ctx, c, hcp, s)
		if err != nil {
			return Endpoints{}, err
		}
		switch s.kind {
		case hyperv1.APIServer:
			e.APIServer = endpoint
		case hyperv1.Konnectivity:
			e.Konnectivity = endpoint
		case hyperv1.Ignition:
			e.Ignition = endpoint
		}
		if waiting != "" {
			e.Waiting = append(e.Waiting, waiting)
		}
	}
	return e, nil
}

func read(ctx context.Context, c client.Reader, hcp *hyperv1.HostedControlPlane, s published) (Endpoint, string, error) {
	plan := PlanOf(hcp)
	if s.kind == hyperv1.APIServer && !plan.Public() {
		return readOwnRoute(ctx, c, hcp, route{published: published{name: APIServerInternal}, host: InternalAPIHost(hcp), router: PrivateRouterService})
	}
	strategy := plan.Strategy(s.kind)
	switch strategy.Type {
	case hyperv1.Route:
		for _, r := range routesOf(hcp, plan) {
			if r.kind == s.kind && r.router != "" && r.name == s.name {
				return readOwnRoute(ctx, c, hcp, r)
			}
		}
		return readRoute(ctx, c, hcp.Namespace, s.name)
	case hyperv1.NodePort:
		return readNodePort(ctx, c, hcp.Namespace, s.service, strategy)
	case hyperv1.LoadBalancer:
		name := s.service
		if s.kind == hyperv1.APIServer {
			name = APIServerLoadBalancer
		}
		return readLoadBalancer(ctx, c, hcp.Namespace, name, strategy)
	}
	return Endpoint{}, fmt.Sprintf("service %s cannot be published as %q: use LoadBalancer, Route or NodePort", s.kind, strategy.Type), nil
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

// addressOf a load balancer: its host name or its IP.
func addressOf(s *corev1.Service) string {
	for _, ingress := range s.Status.LoadBalancer.Ingress {
		if ingress.Hostname != "" {
			return ingress.Hostname
		}
		if ingress.IP != "" {
			return ingress.IP
		}
	}
	return ""
}

func readLoadBalancer(ctx context.Context, c client.Reader, namespace, name string, strategy hyperv1.ServicePublishingStrategy) (Endpoint, string, error) {
	s, waiting, err := readService(ctx, c, namespace, name)
	if s == nil {
		return Endpoint{}, waiting, err
	}
	host := addressOf(s)
	if host == "" {
		return Endpoint{}, noAddress(name), nil
	}
	if lb := strategy.LoadBalancer; lb != nil && lb.Hostname != "" {
		host = string(lb.Hostname)
	}
	return Endpoint{Host: host, Port: s.Spec.Ports[0].Port}, "", nil
}

func noAddress(service string) string {
	return "the cloud has not given load balancer Service " + service + " an address yet"
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

func getRoute(ctx context.Context, c client.Reader, namespace, name string) (*unstructured.Unstructured, string, error) {
	r := &unstructured.Unstructured{}
	r.SetGroupVersionKind(RouteKind)
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, r)
	if apierrors.IsNotFound(err) {
		return nil, "Route " + name + " is not there yet", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read Route %s: %w", name, err)
	}
	return r, "", nil
}

// readRoute of the management cluster's ingress.
func readRoute(ctx context.Context, c client.Reader, namespace, name string) (Endpoint, string, error) {
	r, waiting, err := getRoute(ctx, c, namespace, name)
	if r == nil {
		return Endpoint{}, waiting, err
	}
	host, _, _ := unstructured.NestedString(r.Object, "spec", "host")
	if host == "" {
		host = AdmittedHost(r)
	}
	if host == "" {
		return Endpoint{}, "the ingress has not admitted Route " + name + " yet", nil
	}
	return Endpoint{Host: host, Port: httpsPort}, "", nil
}

// readOwnRoute of the cluster's own router. Its name is certain before its address is: certificates and pods need not wait.
func readOwnRoute(ctx context.Context, c client.Reader, hcp *hyperv1.HostedControlPlane, r route) (Endpoint, string, error) {
	endpoint := Endpoint{Host: r.host, Port: httpsPort}
	obj, waiting, err := getRoute(ctx, c, hcp.Namespace, r.name)
	if obj == nil {
		return endpoint, waiting, err
	}
	if entry, _ := ownIngress(obj); entry == nil {
		return endpoint, "Route " + r.name + " waits for the cluster's router: " + noAddress(r.router), nil
	}
	return endpoint, "", nil
}

// AdmittedHost is the host that a router serves the Route under; empty when none does. A host that was only asked for may lead nowhere.
func AdmittedHost(route *unstructured.Unstructured) string {
	ingresses, _, err := unstructured.NestedSlice(route.Object, "status", "ingress")
	if err != nil {
		return ""
	}
	for _, entry := range ingresses {
		ingress, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		host, _, _ := unstructured.NestedString(ingress, "host")
		conditions, _, _ := unstructured.NestedSlice(ingress, "conditions")
		for _, item := range conditions {
			condition, ok := item.(map[string]any)
			if ok && condition["type"] == "Admitted" && condition["status"] == "True" {
				return host
			}
		}
	}
	return ""
}
