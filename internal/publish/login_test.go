package publish

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// Where users log in follows the strategy of the OAuth server and the topology; the router leads there only where there is such a server.
func TestLogin(t *testing.T) {
	for name, c := range map[string]struct {
		topology hyperv1.AzureTopology
		oauth    hyperv1.ServicePublishingStrategy
		service  corev1.ServiceType
		port     int32
		internal bool
		route    string
		host     string
		backend  bool
	}{
		"ingress": {hyperv1.AzureTopologyPublic, hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}, corev1.ServiceTypeClusterIP, 6443, false,
			"oauth", "oauth-clusters-demo.apps.example.com", false},
		"own name": {hyperv1.AzureTopologyPrivate, hyperv1.ServicePublishingStrategy{Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: "oauth.mine"}},
			corev1.ServiceTypeClusterIP, 6443, false, "oauth-private", "oauth.mine", true},
		"no name": {hyperv1.AzureTopologyPrivate, hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}, corev1.ServiceTypeClusterIP, 6443, false,
			"oauth-internal", "oauth.apps.demo.hypershift.local", true},
		"load balancer":         {hyperv1.AzureTopologyPublic, hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}, corev1.ServiceTypeLoadBalancer, 443, false, "", "", false},
		"private load balancer": {hyperv1.AzureTopologyPrivate, hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}, corev1.ServiceTypeLoadBalancer, 443, true, "", "", false},
	} {
		hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "clusters-demo"}}
		hcp.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzurePlatformSpec{Topology: c.topology}}
		hcp.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.OAuthServer, ServicePublishingStrategy: c.oauth}}
		objects := LoginObjects(hcp, "apps.example.com")
		s := objects[0].(*corev1.Service)
		if s.Spec.Type != c.service || s.Spec.Ports[0].Port != c.port || (s.Annotations[internalLoadBalancer] == "true") != c.internal {
			t.Errorf("%s: Service %+v %v", name, s.Spec, s.Annotations)
		}
		if (len(objects) == 2) != (c.route != "") {
			t.Fatalf("%s: %d objects", name, len(objects))
		}
		if c.route != "" {
			r := objects[1].(*unstructured.Unstructured)
			if host, _, _ := unstructured.NestedString(r.Object, "spec", "host"); r.GetName() != c.route || host != c.host {
				t.Errorf("%s: Route %s at %s", name, r.GetName(), host)
			}
		}
		if with, without := len(Backends(hcp, true, false)), len(Backends(hcp, false, false)); (with > without) != c.backend {
			t.Errorf("%s: the router has %d backends, %d without a server to log in", name, with, without)
		}
	}
}
