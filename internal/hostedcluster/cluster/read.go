package cluster

import (
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// Strategy is how the HostedCluster says that a service is published; the zero value when it says nothing.
func Strategy(hc *hyperv1.HostedCluster, service hyperv1.ServiceType) hyperv1.ServicePublishingStrategy {
	for _, mapping := range hc.Spec.Services {
		if mapping.Service == service {
			return mapping.ServicePublishingStrategy
		}
	}
	return hyperv1.ServicePublishingStrategy{}
}

// PublishedHost is the host name that the user chose for a service; empty when he leaves it to others.
func PublishedHost(strategy hyperv1.ServicePublishingStrategy) string {
	switch {
	case strategy.Route != nil:
		return string(strategy.Route.Hostname)
	case strategy.LoadBalancer != nil:
		return string(strategy.LoadBalancer.Hostname)
	}
	return ""
}

// PodSecurityOverride is the pod security standard that the user chose for the control plane's namespace, in lower case; empty when he
// leaves it to this operator.
func PodSecurityOverride(hc *hyperv1.HostedCluster) string {
	return strings.ToLower(hc.Annotations[hyperv1.PodSecurityLabelOverrideAnnotation])
}

// ControlPlaneImage is the payload of what runs on the management cluster.
func ControlPlaneImage(hc *hyperv1.HostedCluster) string {
	if hc.Spec.ControlPlaneRelease != nil {
		return hc.Spec.ControlPlaneRelease.Image
	}
	return hc.Spec.Release.Image
}

// AzureEnvironment is the cloud, as Azure's own programs call it.
func AzureEnvironment(azure *hyperv1.AzurePlatformSpec) string {
	if azure.Cloud == "" {
		return "AzurePublicCloud"
	}
	return azure.Cloud
}
