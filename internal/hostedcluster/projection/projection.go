// Package projection writes the HostedControlPlane that a HostedCluster asks for.
package projection

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
)

// mirroredAnnotations are copied to the HostedControlPlane, and removed from it with their original.
var mirroredAnnotations = []string{
	hyperv1.CleanupCloudResourcesAnnotation,
	hyperv1.DebugDeploymentsAnnotation,
	hyperv1.RestartDateAnnotation,
	hyperv1.DisablePKIReconciliationAnnotation,
	hyperv1.RotateAuthoritiesAnnotation,
	hyperv1.DisableProfilingAnnotation,
	hyperv1.DisableMachineManagementAnnotation,
	hyperv1.DisableIgnitionServerAnnotation,
	hyperv1.TopologyAnnotation,
	hyperv1.ClusterScheduledAnnotation,
	hyperv1.RequestServingNodeSelectorAnnotation,
	hyperv1.ControlPlanePriorityClassAnnotation,
	hyperv1.APICriticalPriorityClassAnnotation,
	hyperv1.EtcdPriorityClassAnnotation,
	hyperv1.LoginURLOverrideAnnotation,
	hyperv1.KubeAPIServerGOGCAnnotation,
	hyperv1.KubeAPIServerGOMemLimitAnnotation,
	hyperv1.KubeAPIServerMaxInFlightAnnotation,
	hyperv1.KubeAPIServerMaxMutatingAnnotation,
	hyperv1.KubeAPIServerVerbosityAnnotation,
	hyperv1.KubeAPIServerGoAwayChanceAnnotation,
	hyperv1.KubeAPIServerTokenExpirationAnnotation,
	hyperv1.AzureTagsAnnotation,
	hyperv1.LoadBalancerProbeModeAnnotation,
	hyperv1.SharedLoadBalancerProbePathAnnotation,
	hyperv1.SharedLoadBalancerProbePortAnnotation,
	hyperv1.PrivateIngressControllerAnnotation,
	hyperv1.IngressControllerScopeAnnotation,
	hyperv1.ClusterAutoscalerImageAnnotation,
	hyperv1.KonnectivityServerImageAnnotation,
	hyperv1.KonnectivityAgentImageAnnotation,
	hyperv1.CertifiedOperatorsCatalogAnnotation,
	hyperv1.CommunityOperatorsCatalogAnnotation,
	hyperv1.RedHatOperatorsCatalogAnnotation,
	hyperv1.OLMCatalogRegistryOverridesAnnotation,
	hyperv1.EnsureExistsPullSecretAnnotation,
	hyperv1.ManagementPlatformAnnotation,
	hyperv1.SwiftPodNetworkInstanceAnnotation,
	hyperv1.RestoredFromBackupAnnotation,
	hyperv1.EnableMetricsForwardingAnnotation,
	hyperv1.DisableMonitoringServicesAnnotation,
	hyperv1.EtcdBackupScheduleAnnotation,
}

var mirroredPrefixes = []string{hyperv1.ResourceRequestOverridePrefix + "/", hyperv1.IDPOverridePrefix + "/"}

const platformLabelPrefix = "api.openshift.com/"

// Ensure projects the HostedCluster onto its HostedControlPlane. live is the stored one, nil before there is one; Ensure returns it, or
// the one that it made.
func Ensure(ctx context.Context, c *cluster.Cluster, live *hyperv1.HostedControlPlane) (*hyperv1.HostedControlPlane, error) {
	hcp := Desired(c.Hosted)
	scaled, err := autoscaled(ctx, c)
	if err != nil {
		return live, err
	}
	if !scaled {
		hcp.Annotations[hyperv1.DisableClusterAutoscalerAnnotation] = "true"
	}
	if err := c.Apply(ctx, hcp); err != nil {
		return live, err
	}
	// Read past the cache, which has not seen a first write yet: children refer to the object's uid.
	if live == nil {
		stored := &hyperv1.HostedControlPlane{}
		if err := c.Live.Get(ctx, client.ObjectKeyFromObject(hcp), stored); err != nil {
			return nil, err
		}
		live = stored
	}
	return live, SetPaused(ctx, c, live)
}

// autoscaled tells whether a node pool of this cluster leaves its size to the autoscaler.
func autoscaled(ctx context.Context, c *cluster.Cluster) (bool, error) {
	pools, err := c.NodePools(ctx)
	return slices.ContainsFunc(pools, func(pool hyperv1.NodePool) bool { return pool.Spec.AutoScaling != nil }), err
}

// SetPaused hands spec.pausedUntil down. It is patched beside the apply, so that a pause changes nothing else, and so that
// the live value decides: the hash of the desired state knows nothing of it.
func SetPaused(ctx context.Context, c *cluster.Cluster, hcp *hyperv1.HostedControlPlane) error {
	if hcp == nil || equality.Semantic.DeepEqual(hcp.Spec.PausedUntil, c.Hosted.Spec.PausedUntil) {
		return nil
	}
	before := hcp.DeepCopy()
	hcp.Spec.PausedUntil = c.Hosted.Spec.PausedUntil
	if err := c.Client.Patch(ctx, hcp, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("set spec.pausedUntil of HostedControlPlane %s/%s: %w", c.Namespace, c.Name, err)
	}
	return nil
}

// Desired is the HostedControlPlane that the HostedCluster asks for.
func Desired(hc *hyperv1.HostedCluster) *hyperv1.HostedControlPlane {
	spec := hc.Spec.DeepCopy()
	hcp := &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Name: hc.Name, Namespace: contract.ControlPlaneNamespace(hc.Namespace, hc.Name), Annotations: map[string]string{}, Labels: map[string]string{}},
		Spec: hyperv1.HostedControlPlaneSpec{
			ReleaseImage:                     spec.Release.Image,
			UpdateService:                    spec.UpdateService,
			Channel:                          spec.Channel,
			PullSecret:                       localCopy(contract.PullSecret),
			IssuerURL:                        spec.IssuerURL,
			Networking:                       spec.Networking,
			ClusterID:                        spec.ClusterID,
			InfraID:                          spec.InfraID,
			Platform:                         spec.Platform,
			DNS:                              spec.DNS,
			KubeAPIServerDNSName:             spec.KubeAPIServerDNSName,
			ControllerAvailabilityPolicy:     spec.ControllerAvailabilityPolicy,
			InfrastructureAvailabilityPolicy: spec.InfrastructureAvailabilityPolicy,
			FIPS:                             spec.FIPS,
			Services:                         spec.Services,
			AuditWebhook:                     spec.AuditWebhook,
			Etcd:                             spec.Etcd,
			Configuration:                    spec.Configuration,
			OperatorConfiguration:            spec.OperatorConfiguration,
			ImageContentSources:              spec.ImageContentSources,
			SecretEncryption:                 spec.SecretEncryption,
			OLMCatalogPlacement:              spec.OLMCatalogPlacement,
			Autoscaling:                      spec.Autoscaling,
			NodeSelector:                     spec.NodeSelector,
			Tolerations:                      spec.Tolerations,
			Labels:                           spec.Labels,
			Capabilities:                     spec.Capabilities,
			Monitoring:                       spec.Monitoring,
		},
	}
	if spec.ControlPlaneRelease != nil {
		hcp.Spec.ControlPlaneReleaseImage = &spec.ControlPlaneRelease.Image
	}
	// References name the copies, which have fixed names.
	if spec.SSHKey.Name != "" {
		hcp.Spec.SSHKey = localCopy(contract.SSHKey)
	}
	if spec.ServiceAccountSigningKey != nil {
		reference := localCopy(contract.SigningKey)
		hcp.Spec.ServiceAccountSigningKey = &reference
	}
	if spec.AdditionalTrustBundle != nil {
		reference := localCopy(contract.UserCABundle)
		hcp.Spec.AdditionalTrustBundle = &reference
	}
	mirrorMetadata(hc, hcp)
	return hcp
}

func mirrorMetadata(hc *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane) {
	for _, key := range mirroredAnnotations {
		if value, ok := hc.Annotations[key]; ok {
			hcp.Annotations[key] = value
		}
	}
	for key, value := range hc.Annotations {
		for _, prefix := range mirroredPrefixes {
			if strings.HasPrefix(key, prefix) {
				hcp.Annotations[key] = value
			}
		}
	}
	for key, value := range hc.Labels {
		if strings.HasPrefix(key, platformLabelPrefix) {
			hcp.Labels[key] = value
		}
	}
}

func localCopy(name string) corev1.LocalObjectReference {
	return corev1.LocalObjectReference{Name: name}
}
