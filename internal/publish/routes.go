package publish

import (
	"net"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

// RouteKind of OpenShift's ingress.
var RouteKind = schema.GroupVersionKind{Group: "route.openshift.io", Version: "v1", Kind: "Route"}

// ExternalDNS gives a record the time to live that this annotation says, in seconds, and Azure's default of 300 without it. A control plane that comes
// to another management cluster has other addresses, which workers and clients see no sooner: their resolvers keep the former ones.
const (
	ttlAnnotation = "external-dns.alpha.kubernetes.io/ttl"
	recordTTL     = "60"
)

// statusWriter says that the status of a Route is the control plane's to write: its own router admits what it has a backend for.
const statusWriter = "hcp-router"

// route is a Route as the plan has it.
type route struct {
	published
	// host is empty where the management cluster's ingress gives the name.
	host string
	// router is the Service of the cluster's own router that serves it; empty is the management cluster's ingress.
	router string
	// internal names exist in the cluster's own network only; private ones are not for ExternalDNS.
	internal, private bool
}

func routesOf(hcp *hyperv1.HostedControlPlane, plan Plan) []route {
	var routes []route
	for _, s := range services {
		r, ok := routeOf(hcp, plan, s)
		if !ok || s.kind == hyperv1.APIServer && r.internal {
			continue // the internal Route below is it
		}
		routes = append(routes, r)
	}
	if plan.Private() {
		internal := route{published: services[0], host: InternalAPIHost(hcp), router: PrivateRouterService, internal: true}
		internal.name = APIServerInternal
		routes = append(routes, internal)
	}
	return routes
}

// routeOf a service that is published by one.
func routeOf(hcp *hyperv1.HostedControlPlane, plan Plan, s published) (route, bool) {
	r := route{published: s, host: plan.hostname(s.kind)}
	switch {
	case plan.Strategy(s.kind).Type != hyperv1.Route:
		return r, false
	case !plan.OwnRoute(s.kind):
	case r.host == "":
		r.router, r.internal = PrivateRouterService, true
		r.host = s.name + ".apps." + privateDomain(hcp)
	case plan.Public():
		r.router = RouterService
	default:
		r.router, r.private = PrivateRouterService, true
	}
	if r.internal && s.kind == hyperv1.OAuthServer {
		r.name = OAuthRoute + "-internal"
	}
	if r.private && (s.kind == hyperv1.APIServer || s.kind == hyperv1.OAuthServer) {
		r.name = s.name + "-private"
	}
	return r, true
}

func privateDomain(hcp *hyperv1.HostedControlPlane) string { return hcp.Name + ".hypershift.local" }

// InternalAPIHost is the name of the API server within private networks.
func InternalAPIHost(hcp *hyperv1.HostedControlPlane) string { return "api." + privateDomain(hcp) }

func (r route) object(hcp *hyperv1.HostedControlPlane, ingressDomain string) *unstructured.Unstructured {
	spec := map[string]any{
		"to":   map[string]any{"kind": "Service", "name": r.service, "weight": int64(100)},
		"port": map[string]any{"targetPort": "https"},
		"tls":  map[string]any{"termination": "passthrough", "insecureEdgeTerminationPolicy": "None"},
	}
	host := r.host
	if host == "" {
		host = ingressHost(r.name+"-"+hcp.Namespace, ingressDomain)
	}
	if host != "" {
		spec["host"] = host
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(RouteKind)
	obj.SetName(r.name)
	obj.SetNamespace(hcp.Namespace)
	annotations, labels := map[string]string{}, map[string]string{}
	if r.kind == hyperv1.Konnectivity {
		// Agents hold one connection to each server: spreading by load would join them on one.
		annotations["haproxy.router.openshift.io/balance"] = "roundrobin"
	}
	if r.router != "" {
		labels[component.LabelControlPlane] = hcp.Namespace
		annotations[hyperv1.RouteStatusWriterAnnotation] = statusWriter
	}
	if r.internal {
		labels[hyperv1.InternalRouteLabel] = "true"
	} else if r.router != "" && !r.private {
		annotations[ttlAnnotation] = recordTTL
	}
	if r.private {
		labels[hyperv1.RouteVisibilityLabel] = "private"
	}
	if len(labels) > 0 {
		obj.SetLabels(labels)
	}
	if len(annotations) > 0 {
		obj.SetAnnotations(annotations)
	}
	return obj
}

// ingressHost is the name the management cluster's ingress would choose, where its domain is known; else empty.
func ingressHost(label, domain string) string {
	if domain == "" || len(label) > 63 {
		return ""
	}
	return label + "." + domain
}

// Backend is what the cluster's own router leads a host name to.
type Backend struct {
	Name, Host string
	// Address of the Service, within the namespace.
	Address string
}

// Backends of the cluster's own router, by host name. Whatever asks for no name, or for another one, wants the API server: it is last
// and has no host. withLogin tells whether there is a server where users log in, withMetrics whether the control plane's metrics are forwarded.
func Backends(hcp *hyperv1.HostedControlPlane, withLogin, withMetrics bool) []Backend {
	var backends []Backend
	address := func(p published) string { return net.JoinHostPort(p.service, strconv.Itoa(int(p.port))) }
	plan := PlanOf(hcp)
	routes := routesOf(hcp, plan)
	if r, ok := routeOf(hcp, plan, login); ok && withLogin {
		routes = append(routes, r)
	}
	if withMetrics {
		routes = append(routes, metricsRoute(hcp, plan))
	}
	for _, r := range routes {
		if r.router != "" && r.kind != hyperv1.APIServer {
			backends = append(backends, Backend{Name: r.name, Host: r.host, Address: address(r.published)})
		}
	}
	return append(backends, Backend{Name: services[0].name, Address: address(services[0])})
}
