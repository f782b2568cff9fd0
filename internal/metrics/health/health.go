// Package health says which statuses of conditions tell of a failure.
package health

import (
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// Rule says which status of a condition is healthy.
type Rule struct {
	Status string
	// OrUnknown: Unknown is healthy too, because the condition does not concern every cluster.
	OrUnknown bool
}

var (
	whenTrue          = Rule{Status: string(corev1.ConditionTrue)}
	whenTrueOrUnknown = Rule{Status: string(corev1.ConditionTrue), OrUnknown: true}
	whenFalse         = Rule{Status: string(corev1.ConditionFalse)}
)

// Name is how the failure of a condition is reported: one that is healthy when False gets a prefix, so that the name says what
// should be.
func (h Rule) Name(condition string) string {
	if h == whenFalse {
		return "not_" + condition
	}
	return condition
}

// Failed tells whether a status tells of a failure.
func (h Rule) Failed(status string) bool {
	return status != h.Status && (!h.OrUnknown || status != string(corev1.ConditionUnknown))
}

// Conditions that tell of a failure. Those that only inform, or belong to a deletion, are not here.
var (
	Cluster = map[string]Rule{
		hyperv1.HostedClusterAvailable:           whenTrue,
		hyperv1.HostedClusterProgressing:         whenFalse,
		hyperv1.HostedClusterDegraded:            whenFalse,
		hyperv1.ReconciliationActive:             whenTrue,
		hyperv1.ReconciliationSucceeded:          whenTrue,
		hyperv1.ValidHostedClusterConfiguration:  whenTrue,
		hyperv1.SupportedHostedCluster:           whenTrue,
		hyperv1.ValidReleaseImage:                whenTrue,
		hyperv1.ValidReleaseInfo:                 whenTrue,
		hyperv1.ValidHostedControlPlaneConfig:    whenTrue,
		hyperv1.PlatformCredentialsFound:         whenTrue,
		hyperv1.InfrastructureReady:              whenTrue,
		hyperv1.EtcdAvailable:                    whenTrue,
		hyperv1.UnmanagedEtcdAvailable:           whenTrue,
		hyperv1.KubeAPIServerAvailable:           whenTrue,
		hyperv1.IgnitionEndpointAvailable:        whenTrue,
		hyperv1.ExternalDNSReachable:             whenTrueOrUnknown,
		hyperv1.ValidIDPConfiguration:            whenTrue,
		hyperv1.ValidProxyConfiguration:          whenTrue,
		hyperv1.ClusterVersionSucceeding:         whenTrue,
		hyperv1.ClusterVersionAvailable:          whenTrue,
		hyperv1.ClusterVersionProgressing:        whenFalse,
		hyperv1.ClusterVersionReleaseAccepted:    whenTrue,
		hyperv1.ClusterVersionUpgradeable:        whenTrueOrUnknown,
		hyperv1.ConfigOperatorReconcileSucceeded: whenTrue,
		hyperv1.DataPlaneConnectionAvailable:     whenTrueOrUnknown,
		hyperv1.ControlPlaneConnectionAvailable:  whenTrueOrUnknown,
		hyperv1.ValidAzureKMSConfig:              whenTrueOrUnknown,
		hyperv1.IngressDNSReady:                  whenTrueOrUnknown,
		hyperv1.EtcdDataEncryptionUpToDate:       whenTrue,
		hyperv1.ControlPlaneIsolated:             whenTrue,
	}
	Pool = map[string]Rule{
		hyperv1.NodePoolUpdateManagementEnabled:         whenTrue,
		hyperv1.NodePoolValidReleaseImage:               whenTrue,
		hyperv1.NodePoolIgnitionEndpointAvailable:       whenTrue,
		hyperv1.NodePoolValidArchPlatform:               whenTrue,
		hyperv1.NodePoolReconciliationActive:            whenTrue,
		hyperv1.NodePoolSupportedVersionSkew:            whenTrue,
		hyperv1.NodePoolValidMachineConfig:              whenTrue,
		hyperv1.NodePoolUpdatingConfig:                  whenFalse,
		hyperv1.NodePoolUpdatingVersion:                 whenFalse,
		hyperv1.NodePoolValidGeneratedPayload:           whenTrue,
		hyperv1.NodePoolReachedIgnitionEndpoint:         whenTrue,
		hyperv1.NodePoolAllMachinesReady:                whenTrue,
		hyperv1.NodePoolAllNodesHealthy:                 whenTrue,
		hyperv1.NodePoolClusterNetworkCIDRConflict:      whenFalse,
		hyperv1.NodePoolValidPlatformConfig:             whenTrue,
		hyperv1.NodePoolUpdatingPlatformMachineTemplate: whenFalse,
		hyperv1.NodePoolReady:                           whenTrue,
		hyperv1.NodePoolValidTuningConfig:               whenTrue,
		hyperv1.NodePoolValidPlatformImage:              whenTrue,
	}
)

// ClusterFails tells whether a condition of a HostedCluster with this status tells of a failure, as it is counted.
func ClusterFails(condition, status string) bool {
	h, known := Cluster[condition]
	return known && h.Failed(status)
}

// PoolFails is the same of a NodePool.
func PoolFails(condition, status string) bool {
	h, known := Pool[condition]
	return known && h.Failed(status)
}
