package configuration

import (
	"encoding/json"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
)

const (
	// Singleton is the name of every configuration object.
	Singleton = "cluster"
)

// MirrorSetKind says where images are fetched from instead.
var MirrorSetKind = configv1.GroupVersion.WithKind("ImageDigestMirrorSet")

// singletons are the configuration objects `cluster`: facts of the hosted cluster, and what the user asked for in spec.configuration.
func singletons(facts *inside.Facts) []*unstructured.Unstructured {
	hcp := facts.HCP
	configuration := hcp.Spec.Configuration
	if configuration == nil {
		configuration = &hyperv1.ClusterConfiguration{}
	}
	authentication := userSpec(configuration.Authentication)
	authentication["serviceAccountIssuer"] = hcp.Spec.IssuerURL
	out := []*unstructured.Unstructured{
		infrastructure(hcp),
		configObject("DNS", Singleton, dnsSpec(hcp), nil),
		configObject("Ingress", Singleton, ingressSpec(hcp), nil),
		networkObject(facts, userSpec(configuration.Network)),
		proxy(hcp, configuration),
		configObject("Authentication", Singleton, authentication, nil),
		configObject("APIServer", Singleton, userSpec(configuration.APIServer), nil),
		configObject("Image", Singleton, userSpec(configuration.Image), nil),
	}
	if mirrors := digestMirrors(hcp.Spec.ImageContentSources); len(mirrors) > 0 {
		out = append(out, configObject(MirrorSetKind.Kind, Singleton, map[string]any{"imageDigestMirrors": mirrors}, nil))
	}
	return out
}

// userSpec is what the user wrote; the API server has checked it against the same schema, so that it is an object.
func userSpec(raw *runtime.RawExtension) map[string]any {
	spec := map[string]any{}
	if raw == nil || len(raw.Raw) == 0 {
		return spec
	}
	if err := json.Unmarshal(raw.Raw, &spec); err != nil || spec == nil {
		return map[string]any{}
	}
	return spec
}

// ingressSpec always has a domain.
func ingressSpec(hcp *hyperv1.HostedControlPlane) map[string]any {
	var user *runtime.RawExtension
	if c := hcp.Spec.Configuration; c != nil {
		user = c.Ingress
	}
	spec := userSpec(user)
	if chosen, _ := spec["domain"].(string); chosen == "" {
		spec["domain"] = "apps." + component.ClusterDomain(hcp)
	}
	return spec
}

// infrastructure tells operators that the control plane is not theirs.
func infrastructure(hcp *hyperv1.HostedControlPlane) *unstructured.Unstructured {
	platform := string(hcp.Spec.Platform.Type)
	topology := "HighlyAvailable"
	if hcp.Spec.InfrastructureAvailabilityPolicy == hyperv1.SingleReplica {
		topology = "SingleReplica"
	}
	platformStatus := map[string]any{"type": platform}
	spec := map[string]any{"platformSpec": map[string]any{"type": platform}}
	if azure := hcp.Spec.Platform.Azure; azure != nil {
		platformStatus["azure"] = map[string]any{"resourceGroupName": azure.ResourceGroupName, "cloudName": inside.CloudName(azure)}
		spec["cloudConfig"] = map[string]any{"name": contract.CloudConfigKey}
	}
	status := map[string]any{
		"infrastructureName": hcp.Spec.InfraID, "platform": platform, "platformStatus": platformStatus,
		"etcdDiscoveryDomain": component.ClusterDomain(hcp), "controlPlaneTopology": "External", "infrastructureTopology": topology,
	}
	if endpoint := hcp.Status.ControlPlaneEndpoint; endpoint.Host != "" {
		external := fmt.Sprintf("https://%s:%d", endpoint.Host, endpoint.Port)
		status["apiServerURL"], status["apiServerInternalURI"] = external, external
	}
	return configObject("Infrastructure", Singleton, spec, status)
}

func dnsSpec(hcp *hyperv1.HostedControlPlane) map[string]any {
	spec := map[string]any{"baseDomain": component.ClusterDomain(hcp)}
	for field, zone := range map[string]string{"publicZone": hcp.Spec.DNS.PublicZoneID, "privateZone": hcp.Spec.DNS.PrivateZoneID} {
		if zone != "" {
			spec[field] = map[string]any{"id": zone}
		}
	}
	return spec
}

// networkSpec: the networks are the cluster's, whatever the user's configuration says beside them.
func networkSpec(hcp *hyperv1.HostedControlPlane, spec map[string]any) map[string]any {
	var pods, services []any
	for _, network := range hcp.Spec.Networking.ClusterNetwork {
		pods = append(pods, map[string]any{"cidr": string(network.CIDR), "hostPrefix": int64(component.HostPrefix(network))})
	}
	for _, network := range hcp.Spec.Networking.ServiceNetwork {
		services = append(services, string(network.CIDR))
	}
	spec["clusterNetwork"], spec["serviceNetwork"], spec["networkType"] = pods, services, string(hcp.Spec.Networking.NetworkType)
	return spec
}

// proxy has in its status what machines were configured with before the guest existed.
func proxy(hcp *hyperv1.HostedControlPlane, configuration *hyperv1.ClusterConfiguration) *unstructured.Unstructured {
	spec, status := map[string]any{}, map[string]any{}
	put := func(m map[string]any, key, value string) {
		if value != "" {
			m[key] = value
		}
	}
	if wanted := configuration.Proxy; wanted != nil {
		put(spec, "httpProxy", wanted.HTTPProxy)
		put(spec, "httpsProxy", wanted.HTTPSProxy)
		put(spec, "noProxy", wanted.NoProxy)
		if wanted.TrustedCA != nil {
			spec["trustedCA"] = map[string]any{"name": wanted.TrustedCA.Name}
		}
		if len(wanted.ReadinessEndpoints) > 0 {
			spec["readinessEndpoints"] = texts(wanted.ReadinessEndpoints)
		}
		if wanted.HTTPProxy != "" || wanted.HTTPSProxy != "" {
			effective := ignition.ClusterProxy(configuration, hcp.Spec.Networking, hcp.Spec.Platform.Type)
			put(status, "httpProxy", effective.HTTPProxy)
			put(status, "httpsProxy", effective.HTTPSProxy)
			put(status, "noProxy", effective.NoProxy)
		}
	}
	return configObject("Proxy", Singleton, spec, status)
}

func digestMirrors(sources []hyperv1.ImageContentSource) []any {
	var out []any
	for _, source := range sources {
		entry := map[string]any{"source": source.Source}
		if len(source.Mirrors) > 0 {
			entry["mirrors"] = texts(source.Mirrors)
		}
		out = append(out, entry)
	}
	return out
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}
