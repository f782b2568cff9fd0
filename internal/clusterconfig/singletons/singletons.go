// Package singletons makes the objects of config.openshift.io by which a hosted cluster describes itself: inside it, and to the programs that
// configure its machines.
package singletons

import (
	"encoding/json"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
)

// Name of every one of them.
const Name = "cluster"

// CloudName is Azure's cloud as its clients name it.
func CloudName(azure *hyperv1.AzurePlatformSpec) string {
	if azure.Cloud == "" {
		return "AzurePublicCloud"
	}
	return azure.Cloud
}

// Object makes an object of config.openshift.io; a nil status is left to whoever writes it.
func Object(kind, name string, spec, status map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(configv1.GroupVersion.WithKind(kind))
	obj.SetName(name)
	if status != nil {
		obj.Object["status"] = status
	}
	return obj
}

// UserSpec is what the user wrote; the API server has checked it against the same schema, so that it is an object.
func UserSpec(raw *runtime.RawExtension) map[string]any {
	spec := map[string]any{}
	if raw == nil || len(raw.Raw) == 0 {
		return spec
	}
	if err := json.Unmarshal(raw.Raw, &spec); err != nil || spec == nil {
		return map[string]any{}
	}
	return spec
}

// Infrastructure tells operators that the control plane is not theirs.
func Infrastructure(hcp *hyperv1.HostedControlPlane) *unstructured.Unstructured {
	platform := string(hcp.Spec.Platform.Type)
	topology := "HighlyAvailable"
	if hcp.Spec.InfrastructureAvailabilityPolicy == hyperv1.SingleReplica {
		topology = "SingleReplica"
	}
	platformStatus := map[string]any{"type": platform}
	spec := map[string]any{"platformSpec": map[string]any{"type": platform}}
	if azure := hcp.Spec.Platform.Azure; azure != nil {
		platformStatus["azure"] = map[string]any{"resourceGroupName": azure.ResourceGroupName, "cloudName": CloudName(azure)}
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
	return Object("Infrastructure", Name, spec, status)
}

// DNSSpec names the domain and its zones.
func DNSSpec(hcp *hyperv1.HostedControlPlane) map[string]any {
	spec := map[string]any{"baseDomain": component.ClusterDomain(hcp)}
	for field, zone := range map[string]string{"publicZone": hcp.Spec.DNS.PublicZoneID, "privateZone": hcp.Spec.DNS.PrivateZoneID} {
		if zone != "" {
			spec[field] = map[string]any{"id": zone}
		}
	}
	return spec
}

// NetworkSpec is the user's configuration with the networks, which are the cluster's, whatever the user's configuration says beside them.
func NetworkSpec(hcp *hyperv1.HostedControlPlane, spec map[string]any) map[string]any {
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

// Proxy has in its status what machines were configured with before the guest existed.
func Proxy(hcp *hyperv1.HostedControlPlane, configuration *hyperv1.ClusterConfiguration) *unstructured.Unstructured {
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
			spec["readinessEndpoints"] = Texts(wanted.ReadinessEndpoints)
		}
		if wanted.HTTPProxy != "" || wanted.HTTPSProxy != "" {
			effective := ignition.ClusterProxy(configuration, hcp.Spec.Networking, hcp.Spec.Platform.Type)
			put(status, "httpProxy", effective.HTTPProxy)
			put(status, "httpsProxy", effective.HTTPSProxy)
			put(status, "noProxy", effective.NoProxy)
		}
	}
	return Object("Proxy", Name, spec, status)
}

// Texts is the list as objects without types have it.
func Texts(list []string) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}
