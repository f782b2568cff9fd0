package router

import (
	"strings"
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// TestConfig: names lead to their backends, and whatever asks for none to the API server.
func TestConfig(t *testing.T) {
	hcp := &hyperv1.HostedControlPlane{}
	for service, host := range map[hyperv1.ServiceType]hyperv1.Hostname{
		hyperv1.APIServer: "api.demo.test", hyperv1.Konnectivity: "konnectivity.demo.test", hyperv1.Ignition: "ignition.demo.test",
	} {
		hcp.Spec.Services = append(hcp.Spec.Services, hyperv1.ServicePublishingStrategyMapping{Service: service,
			ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: host}}})
	}
	config := Config(publish.Backends(hcp, false, false))
	for _, want := range []string{
		"bind :::8443 v4v6",
		"bind :::9444 v4v6\n  monitor-uri /haproxy_ready",
		"maxconn 20000",
		"timeout connect 10s", "timeout client 24h", "timeout server 24h", "timeout tunnel 24h", "tcp-request inspect-delay 5s",
		"use_backend konnectivity-server if { req.ssl_sni -i konnectivity.demo.test }",
		"use_backend ignition-server if { req.ssl_sni -i ignition.demo.test }",
		"default_backend kube-apiserver",
		"backend konnectivity-server\n  server konnectivity-server konnectivity-server:8091",
		"backend ignition-server\n  server ignition-server ignition-server-proxy:443",
		"backend kube-apiserver\n  server kube-apiserver kube-apiserver:6443",
	} {
		if !strings.Contains(config, want+"\n") {
			t.Errorf("%q is missing from\n%s", want, config)
		}
	}
	if strings.Contains(config, "api.demo.test") {
		t.Errorf("the API server is found by its name alone:\n%s", config)
	}

	// What the management cluster's ingress serves is no business of the router's.
	hcp.Spec.Services = hcp.Spec.Services[:0]
	hcp.Spec.Services = append(hcp.Spec.Services, hyperv1.ServicePublishingStrategyMapping{Service: hyperv1.APIServer,
		ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: "api.demo.test"}}})
	if config := Config(publish.Backends(hcp, false, false)); strings.Contains(config, "use_backend") || !strings.Contains(config, "default_backend kube-apiserver") {
		t.Errorf("with a host name for the API server only:\n%s", config)
	}
}
