package hostedcluster

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
	"github.com/hypershift-on-azure/hypershift/internal/component"
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
}

var mirroredPrefixes = []string{hyperv1.ResourceRequestOverridePrefix + "/", hyperv1.IDPOverridePrefix + "/"}

const platformLabelPrefix = "api.openshift.com/"

// ensureControlPlane projects the HostedCluster onto its HostedControlPlane.
func (p *pass) ensureControlPlane(ctx context.Context) error {
	hcp := p.desiredControlPlane()
	autoscaled, err := p.autoscaled(ctx)
	if err != nil {
		return err
	}
	if !autoscaled {
		hcp.Annotations[hyperv1.DisableClusterAutoscalerAnnotation] = "true"
	}
	if err := p.apply(ctx, hcp); err != nil {
		return err
	}
	stored := &hyperv1.HostedControlPlane{}
	// Read past the cache, which has not seen a first write yet: children refer to the object's uid.
	if p.hcp == nil {
		if err := p.Live.Get(ctx, client.ObjectKeyFromObject(hcp), stored); err != nil {
			return err
		}
		p.hcp = stored
	}
	return p.setControlPlanePaused(ctx)
}

// autoscaled tells whether a node pool of this cluster leaves its size to the autoscaler.
func (p *pass) autoscaled(ctx context.Context) (bool, error) {
	pools, err := p.nodePools(ctx)
	return slices.ContainsFunc(pools, func(pool hyperv1.NodePool) bool { return pool.Spec.AutoScaling != nil }), err
}

// nodePools lists those of this cluster.
func (p *pass) nodePools(ctx context.Context) ([]hyperv1.NodePool, error) {
	pools := &hyperv1.NodePoolList{}
	if err := p.List(ctx, pools, client.InNamespace(p.hc.Namespace)); err != nil {
		return nil, fmt.Errorf("list NodePools: %w", err)
	}
	return slices.DeleteFunc(pools.Items, func(pool hyperv1.NodePool) bool { return pool.Spec.ClusterName != p.hc.Name }), nil
}

// setControlPlanePaused hands spec.pausedUntil down. It is patched beside the apply, so that a pause changes nothing else, and so that
// the live value decides: the hash of the desired state knows nothing of it.
func (p *pass) setControlPlanePaused(ctx context.Context) error {
	if p.hcp == nil || equality.Semantic.DeepEqual(p.hcp.Spec.PausedUntil, p.hc.Spec.PausedUntil) {
		return nil
	}
	before := p.hcp.DeepCopy()
	p.hcp.Spec.PausedUntil = p.hc.Spec.PausedUntil
	if err := p.Patch(ctx, p.hcp, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("set spec.pausedUntil of HostedControlPlane %s/%s: %w", p.namespace, p.cluster, err)
	}
	return nil
}

func (p *pass) desiredControlPlane() *hyperv1.HostedControlPlane {
	spec := p.hc.Spec.DeepCopy()
	hcp := &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Name: p.cluster, Namespace: p.namespace, Annotations: map[string]string{}, Labels: map[string]string{}},
		Spec: hyperv1.HostedControlPlaneSpec{
			ReleaseImage:                     spec.Release.Image,
			UpdateService:                    spec.UpdateService,
			Channel:                          spec.Channel,
			PullSecret:                       localCopy(component.PullSecret),
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
		hcp.Spec.SSHKey = localCopy(sshKeySecret)
	}
	if spec.ServiceAccountSigningKey != nil {
		reference := localCopy(signingKeySecret)
		hcp.Spec.ServiceAccountSigningKey = &reference
	}
	if spec.AdditionalTrustBundle != nil {
		reference := localCopy(userCABundle)
		hcp.Spec.AdditionalTrustBundle = &reference
	}
	p.mirrorMetadata(hcp)
	return hcp
}

func (p *pass) mirrorMetadata(hcp *hyperv1.HostedControlPlane) {
	for _, key := range mirroredAnnotations {
		if value, ok := p.hc.Annotations[key]; ok {
			hcp.Annotations[key] = value
		}
	}
	for key, value := range p.hc.Annotations {
		for _, prefix := range mirroredPrefixes {
			if strings.HasPrefix(key, prefix) {
				hcp.Annotations[key] = value
			}
		}
	}
	for key, value := range p.hc.Labels {
		if strings.HasPrefix(key, platformLabelPrefix) {
			hcp.Labels[key] = value
		}
	}
}

func localCopy(name string) corev1.LocalObjectReference {
	return corev1.LocalObjectReference{Name: name}
}
