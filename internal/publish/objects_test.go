package publish

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

const domain = "apps.mgmt.example.com"

// plane is a control plane published as planOf says.
func plane(topology hyperv1.AzureTopology, strategies ...string) *hyperv1.HostedControlPlane {
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "clusters-demo", UID: "a-uid"}}
	p := planOf(topology, strategies...)
	hcp.Spec.Platform, hcp.Spec.Services = p.Platform, p.Services
	return hcp
}

func serviceWith(name string, change func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "clusters-demo"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 7443}}}}
	change(s)
	return s
}

func balanced(name string, ingress ...corev1.LoadBalancerIngress) *corev1.Service {
	return serviceWith(name, func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = ingress })
}

// routeWith is a Route with these entries of routers in its status.
func routeWith(name, host string, entries ...any) *unstructured.Unstructured {
	r := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}, "status": map[string]any{"ingress": entries}}}
	if host != "" {
		r.Object["spec"] = map[string]any{"host": host}
	}
	if entries == nil {
		r.Object["status"] = map[string]any{}
	}
	r.SetGroupVersionKind(RouteKind)
	r.SetNamespace("clusters-demo")
	r.SetName(name)
	return r
}

func entry(router, host, address, admitted string) map[string]any {
	return map[string]any{"routerName": router, "host": host, "routerCanonicalHostname": address,
		"conditions": []any{map[string]any{"type": "Admitted", "status": admitted}}}
}

// summary of what is published beside the Services that there always are: load balancers, "internal" ones, and Routes with their host and router.
func summary(objects []client.Object) []string {
	var all []string
	for _, obj := range objects {
		switch o := obj.(type) {
		case *corev1.Service:
			if o.Spec.Type != corev1.ServiceTypeClusterIP {
				text := string(o.Spec.Type) + " " + o.Name
				if o.Annotations[internalLoadBalancer] == "true" {
					text += " internal"
				}
				all = append(all, text)
			}
		case *unstructured.Unstructured:
			host, _, _ := unstructured.NestedString(o.Object, "spec", "host")
			text := "Route " + o.GetName() + " " + host
			if o.GetLabels()["hypershift.openshift.io/hosted-control-plane"] != "" {
				text += " own"
			}
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return all
}

// TestObjects is what each strategy and topology leads to. What is private has no public load balancer, whatever else is asked for.
func TestObjects(t *testing.T) {
	const (
		konnectivity = "Route konnectivity-server konnectivity-server-clusters-demo.apps.mgmt.example.com"
		ignition     = "Route ignition-server ignition-server-clusters-demo.apps.mgmt.example.com"
		inside       = "Route kube-apiserver-internal api.demo.hypershift.local own"
		ownRouter    = "LoadBalancer private-router internal"
		ownTunnel    = "Route konnectivity-server konnectivity-server.apps.demo.hypershift.local own"
		ownIgnition  = "Route ignition-server ignition-server.apps.demo.hypershift.local own"
	)
	for name, c := range map[string]struct {
		hcp  *hyperv1.HostedControlPlane
		want []string
	}{
		"nothing is said": {plane(""), []string{"LoadBalancer kube-apiserverlb", ignition, konnectivity}},
		"tunnel by load balancer": {plane("", "APIServer=LoadBalancer", "Konnectivity=LoadBalancer"),
			[]string{"LoadBalancer konnectivity-server", "LoadBalancer kube-apiserverlb", ignition}},
		"API server by a Route of the ingress": {plane("", "APIServer=Route"),
			[]string{ignition, konnectivity, "Route kube-apiserver kube-apiserver-clusters-demo.apps.mgmt.example.com"}},
		"names": {plane("", "APIServer=Route:a.test", "Konnectivity=Route:k.test", "Ignition=Route:i.test"),
			[]string{"LoadBalancer router", "Route ignition-server i.test own", "Route konnectivity-server k.test own", "Route kube-apiserver a.test own"}},
		"both, load balancer": {plane(hyperv1.AzureTopologyPublicAndPrivate, "APIServer=LoadBalancer"),
			[]string{"LoadBalancer kube-apiserver-private internal", "LoadBalancer kube-apiserverlb", ownRouter, ignition, konnectivity, inside}},
		"private, load balancer": {plane(hyperv1.AzureTopologyPrivate, "APIServer=LoadBalancer"),
			[]string{"LoadBalancer kube-apiserver-private internal", ownRouter, ownIgnition, ownTunnel, inside}},
		"private, names": {plane(hyperv1.AzureTopologyPrivate, "APIServer=Route:a.test", "Konnectivity=Route:k.test", "Ignition=Route:i.test"),
			[]string{ownRouter, "Route ignition-server i.test own", "Route konnectivity-server k.test own", inside, "Route kube-apiserver-private a.test own"}},
	} {
		got := summary(Objects(c.hcp, domain))
		if slices.Sort(c.want); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
		for _, obj := range Objects(c.hcp, domain) {
			if owner := metav1.GetControllerOf(obj); owner == nil || owner.UID != "a-uid" || obj.GetNamespace() != "clusters-demo" {
				t.Errorf("%s: %s of namespace %q is owned by %+v", name, obj.GetName(), obj.GetNamespace(), owner)
			}
		}
	}
}

// TestNodePorts: a port that the user chose is that of the Service, and one left open is Kubernetes' to choose.
func TestNodePorts(t *testing.T) {
	for chosen, address := range map[int32]string{0: "192.0.2.1", 30443: "192.0.2.2"} {
		hcp := plane("")
		hcp.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
		for _, kind := range []hyperv1.ServiceType{hyperv1.APIServer, hyperv1.Konnectivity, hyperv1.Ignition} {
			hcp.Spec.Services = append(hcp.Spec.Services, hyperv1.ServicePublishingStrategyMapping{Service: kind,
				ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
					Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: address, Port: chosen}}})
		}
		got := map[string]int32{}
		for _, obj := range Objects(hcp, "") {
			if s, ok := obj.(*corev1.Service); ok && s.Spec.Type == corev1.ServiceTypeNodePort {
				got[s.Name] = s.Spec.Ports[0].NodePort
			} else if !ok {
				t.Errorf("%s is published by %T", obj.GetName(), obj)
			}
		}
		for _, name := range []string{APIServerService, KonnectivityService, IgnitionProxyService} {
			if port, ok := got[name]; !ok || port != chosen || len(got) != 3 {
				t.Errorf("port %d: %v", chosen, got)
			}
		}
	}
}

// TestWhoMayReachTheAPIServer: the ranges hold for each public way to it, and for no private one and no other service.
func TestWhoMayReachTheAPIServer(t *testing.T) {
	for name, c := range map[string]struct {
		hcp        *hyperv1.HostedControlPlane
		restricted []string
	}{
		"load balancer": {plane(hyperv1.AzureTopologyPublicAndPrivate, "Konnectivity=LoadBalancer"), []string{APIServerLoadBalancer}},
		"router":        {plane(hyperv1.AzureTopologyPublicAndPrivate, "APIServer=Route:a.test"), []string{RouterService}},
		"private":       {plane(hyperv1.AzureTopologyPrivate), nil},
	} {
		c.hcp.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AllowedCIDRBlocks: []hyperv1.CIDR{"192.0.2.0/24"}}
		var got []string
		for _, obj := range Objects(c.hcp, domain) {
			if s, ok := obj.(*corev1.Service); ok && slices.Equal(s.Spec.LoadBalancerSourceRanges, []string{"192.0.2.0/24"}) {
				got = append(got, s.Name)
			}
		}
		if !slices.Equal(got, c.restricted) {
			t.Errorf("%s: %v are restricted, want %v", name, got, c.restricted)
		}
	}
}

// TestNamesOfTheIngress: a name whose first label is longer than DNS takes is left to the ingress, and so is one without a known domain.
func TestNamesOfTheIngress(t *testing.T) {
	for _, c := range []struct{ label, domain, want string }{
		{strings.Repeat("a", 63), domain, strings.Repeat("a", 63) + "." + domain}, {strings.Repeat("a", 64), domain, ""}, {"a", "", ""},
	} {
		if got := ingressHost(c.label, c.domain); got != c.want {
			t.Errorf("%q in %q: %q", c.label, c.domain, got)
		}
	}
	hcp := plane("")
	hcp.Namespace = strings.Repeat("n", 50)
	for _, obj := range Objects(hcp, domain) {
		if r, ok := obj.(*unstructured.Unstructured); ok {
			if host, found, _ := unstructured.NestedString(r.Object, "spec", "host"); found {
				t.Errorf("Route %s asks for %s", r.GetName(), host)
			}
		}
	}
}

// TestWhatExternalDNSSees: public names of the own router get short-lived records, private and internal ones none at all.
func TestWhatExternalDNSSees(t *testing.T) {
	for name, c := range map[string]struct {
		hcp   *hyperv1.HostedControlPlane
		route string
		ttl   bool
		label string
	}{
		"public":   {plane("", "APIServer=Route:a.test"), "kube-apiserver", true, ""},
		"private":  {plane(hyperv1.AzureTopologyPrivate, "APIServer=Route:a.test"), "kube-apiserver-private", false, hyperv1.RouteVisibilityLabel},
		"internal": {plane(hyperv1.AzureTopologyPrivate), "kube-apiserver-internal", false, hyperv1.InternalRouteLabel},
		"shared":   {plane(""), "ignition-server", false, ""},
	} {
		objects := Objects(c.hcp, domain)
		obj := objects[slices.IndexFunc(objects, func(o client.Object) bool {
			return o.GetObjectKind().GroupVersionKind() == RouteKind && o.GetName() == c.route
		})]
		labels := obj.GetLabels()
		if ttl := obj.GetAnnotations()[ttlAnnotation] == recordTTL; ttl != c.ttl {
			t.Errorf("%s: %v", name, obj.GetAnnotations())
		}
		for _, label := range []string{hyperv1.RouteVisibilityLabel, hyperv1.InternalRouteLabel} {
			if (labels[label] != "") != (label == c.label) {
				t.Errorf("%s: %v", name, labels)
			}
		}
	}
	// A load balancer's own name is ExternalDNS' business too.
	hcp := plane("")
	hcp.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
		Type: hyperv1.LoadBalancer, LoadBalancer: &hyperv1.LoadBalancerPublishingStrategy{Hostname: "api.demo.test"}}}}
	for _, obj := range Objects(hcp, domain) {
		if got := obj.GetAnnotations()[hyperv1.ExternalDNSHostnameAnnotation]; (got == "api.demo.test") != (obj.GetName() == APIServerLoadBalancer) {
			t.Errorf("%s: %q", obj.GetName(), got)
		}
	}
}

// TestRead has a row for each thing that a publication waits for, and for where the API server is once it is there.
func TestRead(t *testing.T) {
	lb := plane("", "APIServer=LoadBalancer")
	named := plane("")
	named.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
		Type: hyperv1.LoadBalancer, LoadBalancer: &hyperv1.LoadBalancerPublishingStrategy{Hostname: "api.demo.test"}}}}
	port := plane("")
	port.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
		Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: "192.0.2.1"}}}}
	own, ingress, private := plane("", "APIServer=Route:a.test"), plane("", "APIServer=Route"), plane(hyperv1.AzureTopologyPrivate)
	ip := corev1.LoadBalancerIngress{IP: "198.51.100.7"}
	for name, c := range map[string]struct {
		hcp   *hyperv1.HostedControlPlane
		there []client.Object
		want  Endpoint
		waits string
	}{
		"no Service":     {lb, nil, Endpoint{}, "Service kube-apiserverlb is not there yet"},
		"no address":     {lb, []client.Object{balanced(APIServerLoadBalancer)}, Endpoint{}, "Service kube-apiserverlb an address yet"},
		"an empty entry": {lb, []client.Object{balanced(APIServerLoadBalancer, corev1.LoadBalancerIngress{})}, Endpoint{}, "an address yet"},
		"an address": {lb, []client.Object{balanced(APIServerLoadBalancer, corev1.LoadBalancerIngress{}, ip)},
			Endpoint{"198.51.100.7", 7443}, ""},
		"a name of the cloud": {lb, []client.Object{balanced(APIServerLoadBalancer, corev1.LoadBalancerIngress{Hostname: "c.test", IP: "1"})},
			Endpoint{"c.test", 7443}, ""},
		"a name before its address": {named, []client.Object{balanced(APIServerLoadBalancer)}, Endpoint{}, "an address yet"},
		"a name of the user's":      {named, []client.Object{balanced(APIServerLoadBalancer, ip)}, Endpoint{"api.demo.test", 7443}, ""},
		"no node port yet":          {port, []client.Object{balanced(APIServerService)}, Endpoint{}, "Service kube-apiserver has no node port yet"},
		"a node port": {port, []client.Object{serviceWith(APIServerService, func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 31000 })},
			Endpoint{"192.0.2.1", 31000}, ""},
		"no Route, its name is certain": {own, nil, Endpoint{"a.test", 443}, "Route kube-apiserver is not there yet"},
		"Route not admitted": {own, []client.Object{routeWith("kube-apiserver", "a.test", entry("default", "a.test", "x", "True"))},
			Endpoint{"a.test", 443}, "load balancer Service router an address"},
		"Route admitted": {own, []client.Object{routeWith("kube-apiserver", "a.test", entry("router", "a.test", "x", "True"))},
			Endpoint{"a.test", 443}, ""},
		"ingress, no host": {ingress, []client.Object{routeWith("kube-apiserver", "")},
			Endpoint{}, "the ingress has not admitted Route kube-apiserver yet"},
		"ingress, refused": {ingress, []client.Object{routeWith("kube-apiserver", "", entry("default", "g.test", "x", "False"))},
			Endpoint{}, "has not admitted"},
		"ingress, refused by one": {ingress, []client.Object{routeWith("kube-apiserver", "", "malformed",
			entry("a", "g.test", "x", "False"), entry("b", "h.test", "x", "True"))},
			Endpoint{"h.test", 443}, ""},
		"private": {private, []client.Object{routeWith(APIServerInternal, "", entry("router", "x", "y", "True"))},
			Endpoint{"api.demo.hypershift.local", 443}, ""},
		"private, without its router yet": {private, []client.Object{routeWith(APIServerInternal, "")},
			Endpoint{"api.demo.hypershift.local", 443}, "load balancer Service private-router an address"},
		"by something that does not exist": {plane("", "APIServer=S3"), nil,
			Endpoint{}, "service APIServer cannot be published as \"S3\": use LoadBalancer, Route or NodePort"},
	} {
		c.there = append(c.there, routeWith(KonnectivityService, "k.test"), routeWith(IgnitionService, "i.test"))
		if c.hcp == private {
			c.there[len(c.there)-2] = routeWith(KonnectivityService, "", entry("router", "x", "y", "True"))
			c.there[len(c.there)-1] = routeWith(IgnitionService, "", entry("router", "x", "y", "True"))
		}
		got, err := Read(t.Context(), fake.NewClientBuilder().WithObjects(c.there...).Build(), c.hcp)
		if err != nil || got.APIServer != c.want || got.APIServer.Known() != (c.want.Host != "") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if waits := strings.Join(got.Waiting, ";"); c.waits == "" && waits != "" || !strings.Contains(waits, c.waits) {
			t.Errorf("%s: it waits for %q, want %q", name, waits, c.waits)
		}
		if !got.Konnectivity.Known() || !got.Ignition.Known() {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestReadErrors: an answer that does not come is no "not there yet".
func TestReadErrors(t *testing.T) {
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no answer")
		},
	}).Build()
	for _, strategies := range [][]string{{"APIServer=LoadBalancer"}, {"APIServer=Route"}, {"APIServer=Route:a.test"}, {"APIServer=NodePort"}} {
		hcp := plane("", strategies...)
		if got, err := Read(t.Context(), c, hcp); err == nil || len(got.Waiting) != 0 {
			t.Errorf("%v: %+v, %v", strategies, got, err)
		}
		if err := Admit(t.Context(), c, hcp, time.Now()); (err != nil) != PlanOf(hcp).LabelsRoutes() {
			t.Errorf("%v: %v", strategies, err)
		}
	}
}

// TestAdmit: the own router's entry comes first, the entries of others stay, and nothing is written twice.
func TestAdmit(t *testing.T) {
	hcp := plane("", "APIServer=Route:a.test")
	others := entry("default", "a.test", "other", "True")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		before []any
		writes int64
	}{
		"nobody's":            {nil, 1},
		"another router's":    {[]any{others}, 1},
		"behind another's":    {[]any{others, entry("router", "a.test", "198.51.100.7", "True")}, 1},
		"a former address":    {[]any{entry("router", "a.test", "198.51.100.1", "True"), others}, 1},
		"a former name":       {[]any{entry("router", "b.test", "198.51.100.7", "True"), others}, 1},
		"as it is to be":      {[]any{entry("router", "a.test", "198.51.100.7", "True"), others}, 0},
		"one that is no map":  {[]any{"malformed"}, 1},
		"twice its own entry": {[]any{entry("router", "x", "y", "True"), entry("router", "x", "z", "True")}, 1},
	} {
		route := routeWith("kube-apiserver", "a.test", c.before...)
		var writes atomic.Int64
		fakes := fake.NewClientBuilder().WithObjects(route, balanced(RouterService, corev1.LoadBalancerIngress{IP: "198.51.100.7"})).
			WithStatusSubresource(route).WithInterceptorFuncs(kubetest.CountWrites(&writes)).Build()
		if err := errors.Join(Admit(t.Context(), fakes, hcp, now), Admit(t.Context(), fakes, hcp, now.Add(time.Hour))); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := fakes.Get(t.Context(), client.ObjectKeyFromObject(route), route); err != nil {
			t.Fatal(err)
		}
		entries, _, _ := unstructured.NestedSlice(route.Object, "status", "ingress")
		ours, first := ownIngress(route)
		if !first || ours["host"] != "a.test" || ours["routerCanonicalHostname"] != "198.51.100.7" || AdmittedHost(route) != "a.test" || writes.Load() != c.writes {
			t.Errorf("%s: %v after %d writes", name, entries, writes.Load())
		}
		kept := slices.ContainsFunc(entries, func(e any) bool { m, ok := e.(map[string]any); return ok && m["routerName"] == "default" })
		had := slices.ContainsFunc(c.before, func(e any) bool { m, ok := e.(map[string]any); return ok && m["routerName"] == "default" })
		if kept != had {
			t.Errorf("%s: the other router's entry is there: %t", name, kept)
		}
	}
}

// TestAdmitWaits: no entry names an address that there is not, and a Route of the ingress is the ingress's.
func TestAdmitWaits(t *testing.T) {
	for name, c := range map[string]struct {
		hcp   *hyperv1.HostedControlPlane
		there []client.Object
	}{
		"no load balancer": {plane("", "APIServer=Route:a.test"), nil},
		"no address":       {plane("", "APIServer=Route:a.test"), []client.Object{balanced(RouterService)}},
		"the ingress's":    {plane("", "APIServer=Route"), []client.Object{balanced(RouterService, corev1.LoadBalancerIngress{IP: "198.51.100.7"})}},
	} {
		route := routeWith("kube-apiserver", "a.test")
		fakes := fake.NewClientBuilder().WithObjects(append(c.there, route)...).WithStatusSubresource(route).Build()
		if err := Admit(t.Context(), fakes, c.hcp, time.Now()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := fakes.Get(t.Context(), client.ObjectKeyFromObject(route), route); err != nil || AdmittedHost(route) != "" {
			t.Errorf("%s: %v, %v", name, route.Object["status"], err)
		}
	}
}

// TestRemoveMetrics takes away the Route of this control plane, and not one that another has made under its name.
func TestRemoveMetrics(t *testing.T) {
	for owner, gone := range map[string]bool{"a-uid": true, "another-uid": false, "": false} {
		hcp := plane("")
		route := routeWith(metrics.name, "m.test")
		if owner != "" {
			route.SetOwnerReferences([]metav1.OwnerReference{{
				APIVersion: hyperv1.GroupVersion.String(), Kind: "HostedControlPlane", Name: "demo", UID: "a-uid", Controller: new(true),
			}})
			route.Object["metadata"].(map[string]any)["ownerReferences"].([]any)[0].(map[string]any)["uid"] = owner
		}
		c := fake.NewClientBuilder().WithObjects(route).Build()
		if err := errors.Join(RemoveMetrics(t.Context(), c, hcp), RemoveMetrics(t.Context(), c, hcp)); err != nil {
			t.Error(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(route), route); (err != nil) != gone {
			t.Errorf("owned by %q: %v", owner, err)
		}
	}
}

// TestBackends: the router leads each name to its Service, and everything else to the API server, which comes last.
func TestBackends(t *testing.T) {
	hcp := plane("", "APIServer=Route:a.test", "OAuthServer=Route:o.test", "Konnectivity=Route:k.test", "Ignition=Route:i.test")
	var got []string
	for _, b := range Backends(hcp, true, true) {
		got = append(got, b.Host+">"+b.Address)
	}
	want := []string{"k.test>konnectivity-server:8091", "i.test>ignition-server-proxy:443",
		"o.test>oauth-openshift:6443", "metrics-proxy-demo.test>metrics-proxy:443", ">kube-apiserver:6443"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	// What the ingress serves is not the router's.
	if got := Backends(plane("", "APIServer=Route:a.test"), true, true); len(got) != 1 || got[0].Host != "" {
		t.Errorf("%+v", got)
	}
}

// TestURL: an address of IPv6 is in brackets.
func TestURL(t *testing.T) {
	for host, want := range map[string]string{"a.test": "https://a.test:443", "fd00::1": "https://[fd00::1]:443"} {
		if got := (Endpoint{host, 443}).URL(); got != want {
			t.Errorf("%s: %s", host, got)
		}
	}
}
