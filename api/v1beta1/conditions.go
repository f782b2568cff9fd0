package v1beta1

// ConditionType names a condition; an alias, because metav1.Condition and the condition of NodePools carry plain strings.
type ConditionType = string

// Conditions of HostedCluster and HostedControlPlane.
const (
	HostedClusterAvailable               ConditionType = "Available"                             // healthy True: the control plane serves; copied from the HostedControlPlane, unless the management cluster shows otherwise
	HostedClusterProgressing             ConditionType = "Progressing"                           // healthy False: a version is being rolled out, or cannot be
	HostedClusterDegraded                ConditionType = "Degraded"                              // healthy False: a Deployment or StatefulSet of the control plane lacks replicas
	ReconciliationActive                 ConditionType = "ReconciliationActive"                  // healthy True: spec.pausedUntil does not stop the controllers
	ReconciliationSucceeded              ConditionType = "ReconciliationSucceeded"               // healthy True: the last pass over the HostedCluster had no error
	ValidHostedClusterConfiguration      ConditionType = "ValidConfiguration"                    // healthy True: the spec holds together, as far as the schema cannot tell
	SupportedHostedCluster               ConditionType = "SupportedHostedCluster"                // healthy True: the management cluster can run this hosted cluster
	ValidReleaseImage                    ConditionType = "ValidReleaseImage"                     // healthy True: the payload can be pulled, fits the architecture and its version may be installed
	ValidReleaseInfo                     ConditionType = "ValidReleaseInfo"                      // healthy True: the payload has every required image
	ValidHostedControlPlaneConfig        ConditionType = "ValidHostedControlPlaneConfiguration"  // healthy True: the configuration suits the management cluster
	PlatformCredentialsFound             ConditionType = "PlatformCredentialsFound"              // healthy True: the identities of the platform are complete, and those that act for the control plane can sign in
	InfrastructureReady                  ConditionType = "InfrastructureReady"                   // healthy True: the published services of the control plane have addresses
	EtcdAvailable                        ConditionType = "EtcdAvailable"                         // healthy True: etcd has its quorum
	UnmanagedEtcdAvailable               ConditionType = "UnmanagedEtcdAvailable"                // healthy True with unmanaged etcd: the Secret with the client certificate is complete
	KubeAPIServerAvailable               ConditionType = "KubeAPIServerAvailable"                // healthy True: the API server has ready pods, and an etcd to answer from
	IgnitionEndpointAvailable            ConditionType = "IgnitionEndpointAvailable"             // healthy True: the ignition server is rolled out
	IgnitionServerValidReleaseInfo       ConditionType = "IgnitionServerValidReleaseInfo"        // of HostedControlPlane with an OpenShift payload, healthy True: the payload has every image that configurations of machines name
	ExternalDNSReachable                 ConditionType = "ExternalDNSReachable"                  // healthy True, or Unknown without an external host name: the API server's name resolves
	IngressDNSReady                      ConditionType = "IngressDNSReady"                       // healthy True, or absent with an ingress operator of the payload: the domain of the applications leads to the default router
	ValidIDPConfiguration                ConditionType = "ValidIDPConfiguration"                 // healthy True: the identity providers can be configured
	ValidProxyConfiguration              ConditionType = "ValidProxyConfiguration"               // healthy True: the proxy's trusted CA bundle can be read
	ClusterVersionSucceeding             ConditionType = "ClusterVersionSucceeding"              // healthy True: the inverse of the ClusterVersion's Failing
	ClusterVersionAvailable              ConditionType = "ClusterVersionAvailable"               // healthy True: copied from the hosted cluster's ClusterVersion
	ClusterVersionProgressing            ConditionType = "ClusterVersionProgressing"             // healthy False: copied from the hosted cluster's ClusterVersion
	ClusterVersionReleaseAccepted        ConditionType = "ClusterVersionReleaseAccepted"         // healthy True: copied from the hosted cluster's ClusterVersion
	ClusterVersionUpgradeable            ConditionType = "ClusterVersionUpgradeable"             // healthy True or absent: False stops an upgrade to another minor version
	ClusterVersionRetrievedUpdates       ConditionType = "ClusterVersionRetrievedUpdates"        // informative: copied from the hosted cluster's ClusterVersion
	ConfigOperatorReconcileSucceeded     ConditionType = "ConfigOperatorReconciliationSucceeded" // healthy True: the last pass inside the hosted cluster had no error
	DataPlaneConnectionAvailable         ConditionType = "DataPlaneConnectionAvailable"          // healthy True, or Unknown without workers: the control plane reaches the workers
	ControlPlaneConnectionAvailable      ConditionType = "ControlPlaneConnectionAvailable"       // healthy True, or Unknown without workers: the workers reach the control plane
	ValidAzureKMSConfig                  ConditionType = "ValidAzureKMSConfig"                   // healthy True, or Unknown without a key vault: the key encrypts and decrypts
	EtcdDataEncryptionUpToDate           ConditionType = "EtcdDataEncryptionUpToDate"            // healthy True: every Secret is encrypted with the active key
	HostedClusterRestoredFromBackup      ConditionType = "HostedClusterRestoredFromBackup"       // informative, only where a backup is given: True once the cluster has begun with it
	EtcdBackupSucceeded                  ConditionType = "EtcdBackupSucceeded"                   // informative, only where backups are asked for: the newest HCPEtcdBackup has its snapshot
	EtcdRestoredInPlace                  ConditionType = "EtcdRestoredInPlace"                   // informative, only where etcd was sent back to a backup: False while that lasts, during which there is no API server
	EtcdRecoveryActive                   ConditionType = "EtcdRecoveryActive"                    // informative, only with three members of etcd: True while one that cannot start is replaced; False with EtcdRecoveryJobFailed: somebody has to look
	ControlPlaneIsolated                 ConditionType = "ControlPlaneIsolated"                  // healthy when absent: False says what of the management cluster the control plane's pods reach and should not
	PublicEndpointExposed                ConditionType = "PublicEndpointExposed"                 // informative: the public endpoint follows the topology
	CloudResourcesDestroyed              ConditionType = "CloudResourcesDestroyed"               // during deletion: what the hosted cluster made in the cloud is gone, where annotation cleanup-cloud-resources asks for that; copied from the HostedControlPlane
	CVOScaledDown                        ConditionType = "CVOScaledDown"                         // during deletion: nothing in the hosted cluster recreates what is removed; copied from the HostedControlPlane
	HostedClusterDestroyed               ConditionType = "HostedClusterDestroyed"                // during deletion: everything is gone, the grace period runs
	HostedControlPlaneAvailable          ConditionType = "Available"                             // of HostedControlPlane, healthy True: API server, etcd and infrastructure are available
	HostedControlPlaneDegraded           ConditionType = "Degraded"                              // of HostedControlPlane, healthy False: a workload lacks replicas
	ControlPlaneComponentAvailable       ConditionType = "Available"                             // of ControlPlaneComponent, healthy True: the component serves
	ControlPlaneComponentRolloutComplete ConditionType = "RolloutComplete"                       // of ControlPlaneComponent, healthy True: the component runs the desired version only
	BackupCompleted                      ConditionType = "BackupCompleted"                       // of HCPEtcdBackup, healthy True: the snapshot lies where status.snapshotURL says
)

// Conditions of NodePool.
const (
	NodePoolAutoscalingEnabled              ConditionType = "AutoscalingEnabled"              // as configured: spec.autoScaling is set, can be followed, and an autoscaler runs
	NodePoolUpdateManagementEnabled         ConditionType = "UpdateManagementEnabled"         // healthy True: spec.management can be followed
	NodePoolValidReleaseImage               ConditionType = "ValidReleaseImage"               // healthy True: the pool's payload can be pulled and its version may be installed
	NodePoolIgnitionEndpointAvailable       ConditionType = "IgnitionEndpointAvailable"       // healthy when absent: False says what new nodes lack to get their configuration
	NodePoolValidArchPlatform               ConditionType = "ValidArchPlatform"               // healthy True: platform and payload support the architecture
	NodePoolReconciliationActive            ConditionType = "ReconciliationActive"            // healthy True: spec.pausedUntil does not stop the controller
	NodePoolSupportedVersionSkew            ConditionType = "SupportedVersionSkew"            // healthy True: the pool's version suits the control plane's
	NodePoolValidMachineConfig              ConditionType = "ValidMachineConfig"              // healthy True: the configuration of spec.config can be read
	NodePoolUpdatingConfig                  ConditionType = "UpdatingConfig"                  // healthy False: nodes are moving to another configuration
	NodePoolUpdatingVersion                 ConditionType = "UpdatingVersion"                 // healthy False: nodes are moving to another version
	NodePoolValidGeneratedPayload           ConditionType = "ValidGeneratedPayload"           // healthy True: the ignition payload was generated
	NodePoolReachedIgnitionEndpoint         ConditionType = "ReachedIgnitionEndpoint"         // healthy True: a machine of the current configuration fetched its ignition payload
	NodePoolAllMachinesReady                ConditionType = "AllMachinesReady"                // healthy True: every Machine has its infrastructure
	NodePoolAllNodesHealthy                 ConditionType = "AllNodesHealthy"                 // healthy True: every Machine has a healthy Node
	NodePoolClusterNetworkCIDRConflict      ConditionType = "ClusterNetworkCIDRConflict"      // healthy when absent: the addresses of machines lie inside the cluster network
	NodePoolOSImageStreamSupported          ConditionType = "OSImageStreamSupported"          // informative, only where an operating system is chosen: False, the choice is not acted on
	NodePoolValidPlatformConfig             ConditionType = "ValidPlatformConfig"             // healthy True: the platform's settings can be used
	NodePoolUpdatingPlatformMachineTemplate ConditionType = "UpdatingPlatformMachineTemplate" // healthy False: machines are moving to another template
	NodePoolAutorepairEnabled               ConditionType = "AutorepairEnabled"               // as configured: unhealthy machines are replaced
	NodePoolReady                           ConditionType = "Ready"                           // healthy True: copied from the MachineDeployment
	NodePoolValidTuningConfig               ConditionType = "ValidTuningConfig"               // healthy True: the configuration of spec.tuningConfig can be read; nothing sets it yet
	NodePoolValidPlatformImage              ConditionType = "ValidPlatformImage"              // absent unless False: no image for the machines can be found
)

// Reasons.
const (
	AsExpectedReason    = "AsExpected"    // the healthy case
	StatusUnknownReason = "StatusUnknown" // nobody reported yet

	// The last pass had no error. The word misses an "i": clients match the published literal.
	ReconciliationSucceededReason = "ReconciliatonSucceeded"
	ReconciliationErrorReason     = "ReconciliationError"     // the last pass failed; the message says where
	ReconciliationPausedReason    = "ReconciliationPaused"    // spec.pausedUntil stops the controllers
	ReconciliationActiveReason    = "ReconciliationActive"    // nothing stops the controller
	InvalidPausedUntilReason      = "InvalidPausedUntilValue" // spec.pausedUntil is neither a time nor a boolean; it is ignored

	ProgressingReason         = "Progressing"         // a version is being rolled out; the message names both versions
	BlockedReason             = "Blocked"             // the upgrade may not begin; the message says why
	UnavailableReplicasReason = "UnavailableReplicas" // the message names the workloads that lack replicas
	WaitingForAvailableReason = "WaitingForAvailable" // not available yet; the message says what is waited for

	InvalidConfigurationReason            = "InvalidConfiguration"            // the message names what contradicts
	InsufficientClusterCapabilitiesReason = "InsufficientClusterCapabilities" // the management cluster lacks an API that the configuration needs
	UnsupportedHostedClusterReason        = "UnsupportedHostedCluster"        // the management cluster cannot run it; the message says why
	InvalidImageReason                    = "InvalidImage"                    // the payload cannot be pulled or used; the message says why
	SecretNotFoundReason                  = "SecretNotFound"                  // the pull secret does not exist
	PayloadArchNotFoundReason             = "PayloadArchNotFound"             // the payload does not tell its architecture
	MissingReleaseImagesReason            = "MissingReleaseImages"            // the message names the images that the payload lacks
	PlatformCredentialsNotFoundReason     = "PlatformCredentialsNotFound"     // the message names the credentials that are missing
	WaitingOnInfrastructureReadyReason    = "WaitingOnInfrastructureReady"    // a service has no address yet; the message names it
	InfraStatusFailureReason              = "InfraStatusFailure"              // the state of the services cannot be read

	IngressRecordFailedReason      = "RecordFailed"           // the record cannot be written; the message says why and what to do
	IngressRecordUnmanagedReason   = "RecordUnmanaged"        // the record is the user's own
	WaitingForIngressAddressReason = "WaitingForLoadBalancer" // the default router has no address yet

	EtcdQuorumAvailableReason      = "QuorumAvailable"                // more than half of the members are ready
	EtcdWaitingForQuorumReason     = "EtcdWaitingForQuorum"           // fewer members are ready than the quorum needs
	EtcdRestoringReason            = "EtcdRestoring"                  // etcd goes back to a backup, and nothing reads or writes it meanwhile
	EtcdStatefulSetNotFoundReason  = "StatefulSetNotFound"            // etcd was not created yet
	EtcdStatusUnknownReason        = "EtcdStatusUnknown"              // the state of etcd cannot be read
	BackupSucceededReason          = "BackupSucceeded"                // the snapshot was checked and lies in the storage
	BackupFailedReason             = "BackupFailed"                   // it was not made, or not kept; another HCPEtcdBackup tries again
	BackupInProgressReason         = "BackupInProgress"               // its Job runs
	BackupRejectedReason           = "BackupRejected"                 // another backup of the same etcd runs
	BackupEtcdUnhealthyReason      = "EtcdUnhealthy"                  // it waits until every member of etcd is ready
	CloudResourcesErrorReason      = "ErrorOccurred"                  // the message has the error
	EtcdRecoveryJobFailedReason    = "EtcdRecoveryJobFailed"          // etcd cannot be repaired without a person
	UnmanagedEtcdAsExpectedReason  = "UnmanagedEtcdAsExpected"        // the Secret has every key
	UnmanagedEtcdMisconfigured     = "UnmanagedEtcdMisconfigured"     // the Secret is missing or lacks a key
	NotFoundReason                 = "NotFound"                       // the object does not exist yet
	FailedToGetReason              = "FailedToGet"                    // the object cannot be read
	KASLoadBalancerNotReachable    = "KASLoadBalancerNotReachable"    // the API server's endpoint does not answer
	ExternalDNSHostNotReachable    = "ExternalDNSHostNotReachable"    // the external host name does not resolve
	FromClusterVersionReason       = "FromClusterVersion"             // the ClusterVersion gave no reason of its own
	ReconcileSucceededReason       = "ReconcileSucceeded"             // the last pass inside the hosted cluster had no error
	ReconcileFailedReason          = "ReconcileFailed"                // the last pass inside the hosted cluster failed
	KonnectivityAgentPodsNotFound  = "KonnectivityAgentPodsNotFound"  // no agent runs on the workers
	NoWorkerNodesAvailableReason   = "NoWorkerNodesAvailable"         // there are no workers to reach
	KASAccessFailedReason          = "KASAccessFailed"                // a worker cannot reach the API server
	ConnectionCheckStaleReason     = "ConnectionCheckStale"           // the workers stopped reporting
	ConfigMapNotFoundReason        = "ConfigMapNotFound"              // the workers have not reported yet
	InvalidAzureCredentialsReason  = "InvalidAzureCredentials"        // the identity gets no token
	ReEncryptionInProgressReason   = "ReEncryptionInProgress"         // a change of the encryption key is under way; the message says how far
	ReEncryptionCompletedReason    = "ReEncryptionCompleted"          // everything is encrypted with the key of the last change
	ReEncryptionFailedReason       = "ReEncryptionFailed"             // something cannot be written again; the message says what and why
	AzureErrorReason               = "AzureError"                     // Azure refuses the operation; the message says why
	ProxyCABundleInvalidReason     = "ProxyCABundleInvalid"           // the proxy's CA bundle is missing or malformed
	WaitingForGracePeriodReason    = "WaitingForGracePeriod"          // everything is gone; the grace period of the annotation runs
	DeletingNodePoolsReason        = "DeletingNodePools"              // the message names the node pools that still exist
	DeletingMachinesReason         = "DeletingMachines"               // the message tells how many Machines still exist
	DeletingControlPlaneReason     = "DeletingControlPlane"           // the HostedControlPlane still exists
	DeletingPodsReason             = "DeletingPods"                   // pods and disks of the control plane still exist
	DeletingNamespaceReason        = "DeletingNamespace"              // the control plane's namespace still exists; the message repeats what holds it
	RemainingCloudResourcesReason  = "RemainingCloudResources"        // the message lists what still exists
	CloudResourcesDeletionTimedOut = "CloudResourcesDeletionTimedOut" // the removal was given up after its time
	CloudResourcesCleanupSkipped   = "CloudResourcesCleanupSkipped"   // the removal was not possible; the message says why
	PodNetworksUnknownReason       = "PodNetworksUnknown"             // nobody tells the pod networks of the management cluster
	TopologyPrivateReason          = "TopologyPrivate"                // the cluster has no public endpoint by its topology

	WaitingForDependenciesReason    = "WaitingForDependencies"    // the message names the components that must be available first
	WaitingForRolloutCompleteReason = "WaitingForRolloutComplete" // pods of the former revision still run
	WaitingForOperandsReason        = "WaitingForOperands"        // the component waits for what it manages

	ValidationFailedReason         = "ValidationFailed"          // the message says what is not valid
	AutoscalerMissingReason        = "ClusterAutoscalerMissing"  // the control plane has no cluster autoscaler; the message says how it gets one
	AutoscalerNotReadyReason       = "ClusterAutoscalerNotReady" // the cluster autoscaler is there and does not run
	CapacityUnknownReason          = "CapacityUnknown"           // what a machine of the size has is not known, and the autoscaler cannot begin with none
	IgnitionEndpointMissingReason  = "IgnitionEndpointMissing"   // the HostedCluster does not report its ignition endpoint yet
	IgnitionCACertMissingReason    = "IgnitionCACertMissing"     // the certificate of the ignition endpoint is missing
	IgnitionNotReachedReason       = "ignitionNotReached"        // no machine of the current configuration fetched its payload yet
	InvalidArchPlatformReason      = "InvalidArchPlatform"       // platform or payload do not support the architecture
	OSImageStreamIgnoredReason     = "OSImageStreamIgnored"      // the nodes run the default operating system of the release image
	UnsupportedSkewReason          = "UnsupportedSkew"           // the pool's version is too far from the control plane's
	InplaceUpgradeFailedReason     = "InplaceUpgradeFailed"      // a node could not be changed where it is
	WaitingForInfrastructureReason = "WaitingForInfrastructure"  // a Machine waits for its virtual machine
	WaitingForNodeRefReason        = "WaitingForNodeRef"         // a virtual machine has not joined yet
	ReasonsTruncatedSuffix         = ",ReasonsTruncated"         // ends a list of reasons that was cut
	InvalidConfigReason            = "InvalidConfig"             // the payload cannot be generated from this configuration
	CloudConfigPendingReason       = "CloudConfigPending"        // the payload waits for the cloud configuration
	TooManyUnhealthyReason         = "TooManyUnhealthy"          // so many nodes are unhealthy that none is replaced
)
