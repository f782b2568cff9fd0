package configuration

import (
	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig/singletons"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

const (
	// Singleton is the name of every configuration object.
	Singleton = "cluster"
)

// MirrorSetKind says where images are fetched from instead.
var MirrorSetKind = configv1.GroupVersion.WithKind("ImageDigestMirrorSet")

// clusterSingletons are the configuration objects `cluster`: facts of the hosted cluster, and what the user asked for in spec.configuration.
func clusterSingletons(facts *inside.Facts) []*unstructured.Unstructured {
	hcp := facts.HCP
	configuration := hcp.Spec.Configuration
	if configuration == nil {
		configuration = &hyperv1.ClusterConfiguration{}
	}
	authentication := singletons.UserSpec(configuration.Authentication)
	authentication["serviceAccountIssuer"] = hcp.Spec.IssuerURL
	out := []*unstructured.Unstructured{
		singletons.Infrastructure(hcp),
		singletons.Object("DNS", Singleton, singletons.DNSSpec(hcp), nil),
		singletons.Object("Ingress", Singleton, ingressSpec(hcp), nil),
		networkObject(facts, singletons.UserSpec(configuration.Network)),
		singletons.Proxy(hcp, configuration),
		singletons.Object("Authentication", Singleton, authentication, nil),
		singletons.Object("APIServer", Singleton, singletons.UserSpec(configuration.APIServer), nil),
		singletons.Object("Image", Singleton, singletons.UserSpec(configuration.Image), nil),
	}
	if mirrors := digestMirrors(hcp.Spec.ImageContentSources); len(mirrors) > 0 {
		out = append(out, singletons.Object(MirrorSetKind.Kind, Singleton, map[string]any{"imageDigestMirrors": mirrors}, nil))
	}
	return out
}

// ingressSpec always has a domain.
func ingressSpec(hcp *hyperv1.HostedControlPlane) map[string]any {
	var user *runtime.RawExtension
	if c := hcp.Spec.Configuration; c != nil {
		user = c.Ingress
	}
	spec := singletons.UserSpec(user)
	if chosen, _ := spec["domain"].(string); chosen == "" {
		spec["domain"] = "apps." + component.ClusterDomain(hcp)
	}
	return spec
}

func digestMirrors(sources []hyperv1.ImageContentSource) []any {
	var out []any
	for _, source := range sources {
		entry := map[string]any{"source": source.Source}
		if len(source.Mirrors) > 0 {
			entry["mirrors"] = singletons.Texts(source.Mirrors)
		}
		out = append(out, entry)
	}
	return out
}
