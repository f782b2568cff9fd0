package v1beta1

// Finalizers.
const (
	// Finalizer is the one literal on HostedCluster, NodePool and HostedControlPlane.
	Finalizer = "hypershift.openshift.io/finalizer"
	// ComponentFinalizer holds the Cluster API Deployments back until the machines are gone.
	ComponentFinalizer = "hypershift.openshift.io/component-finalizer"
	// DestroyFinalizer is set by `destroy cluster` so that it can wait for the end of the deletion.
	DestroyFinalizer = "openshift.io/destroy-cluster"
)

// Annotations that a person sets on a HostedCluster; those marked mirrored are copied to the HostedControlPlane.
const (
	CleanupCloudResourcesAnnotation     = "hypershift.openshift.io/cleanup-cloud-resources" // mirrored
	DestroyGracePeriodAnnotation        = "hypershift.openshift.io/destroy-grace-period"
	ForceUpgradeToAnnotation            = "hypershift.openshift.io/force-upgrade-to"
	ControlPlaneOperatorImageAnnotation = "hypershift.openshift.io/control-plane-operator-image"
	ControlPlaneOperatorImageLabels     = "hypershift.openshift.io/control-plane-operator-image-labels"
	ImageOverridesAnnotation            = "hypershift.openshift.io/image-overrides"
	SkipReleaseImageValidation          = "hypershift.openshift.io/skip-release-image-validation"
	DebugDeploymentsAnnotation          = "hypershift.openshift.io/debug-deployments"           // mirrored
	RestartDateAnnotation               = "hypershift.openshift.io/restart-date"                // mirrored
	DisablePKIReconciliationAnnotation  = "hypershift.openshift.io/disable-pki-reconciliation"  // mirrored
	DisableProfilingAnnotation          = "hypershift.openshift.io/disable-profiling"           // mirrored
	DisableMachineManagementAnnotation  = "hypershift.openshift.io/disable-machine-management"  // mirrored
	DisableMonitoringServicesAnnotation = "hypershift.openshift.io/disable-monitoring-services" // mirrored
	DisableIgnitionServerAnnotation     = "hypershift.openshift.io/disable-ignition-server"     // mirrored
	TopologyAnnotation                  = "hypershift.openshift.io/topology"                    // mirrored
	PodSecurityLabelOverrideAnnotation  = "hypershift.openshift.io/pod-security-admission-label-override"
	ControlPlanePriorityClassAnnotation = "hypershift.openshift.io/control-plane-priority-class" // mirrored
	APICriticalPriorityClassAnnotation  = "hypershift.openshift.io/api-critical-priority-class"  // mirrored
	EtcdPriorityClassAnnotation         = "hypershift.openshift.io/etcd-priority-class"          // mirrored
	ResourceRequestOverridePrefix       = "resource-request-override.hypershift.openshift.io"    // mirrored
	IDPOverridePrefix                   = "idpoverrides.hypershift.openshift.io"                 // mirrored
	MachineHealthCheckTimeout           = "hypershift.openshift.io/machine-health-check-timeout"
	MachineHealthCheckNodeStartup       = "hypershift.openshift.io/machine-health-check-node-startup-timeout"
	MachineHealthCheckMaxUnhealthy      = "hypershift.openshift.io/machine-health-check-max-unhealthy"
	CAPIManagerImageAnnotation          = "hypershift.openshift.io/capi-manager-image"
	CAPIProviderAzureImageAnnotation    = "hypershift.openshift.io/capi-provider-azure-image"
	MachineApproverImageAnnotation      = "hypershift.openshift.io/machine-approver-image"
	KonnectivityServerImageAnnotation   = "hypershift.openshift.io/konnectivity-server-image" // mirrored
	KonnectivityAgentImageAnnotation    = "hypershift.openshift.io/konnectivity-agent-image"  // mirrored
	HAProxyImageAnnotation              = "hypershift.openshift.io/haproxy-image"             // on the NodePool
	// AzureImagePlanAnnotation "true", on the NodePool: its marketplace image has a purchase plan. Azure wants the plan named for each
	// machine, and its terms accepted once in the subscription.
	AzureImagePlanAnnotation = "hypershift.openshift.io/azure-image-purchase-plan"
	// AzureTagsAnnotation, NAME=VALUE,NAME=VALUE: tags of what is made in Azure for a HostedCluster (virtual machines, their disks and
	// interfaces, load balancers, public addresses, disks of volumes), or for the machines of a NodePool. A NodePool's win; mirrored.
	AzureTagsAnnotation                = "hypershift.openshift.io/azure-additional-tags"
	SkipDeleteNamespaceAnnotation      = "hypershift.openshift.io/skip-delete-hosted-controlplane-namespace"
	DisableClusterAutoscalerAnnotation = "hypershift.openshift.io/disable-cluster-autoscaler"
	RotateAuthoritiesAnnotation        = "hypershift.openshift.io/rotate-authorities-made-before" // a date; mirrored
	CertificateValidityAnnotation      = "hypershift.openshift.io/certificate-validity"
	CertificateRenewalAnnotation       = "hypershift.openshift.io/certificate-renewal"
	SkipKASConflictSANValidation       = "hypershift.openshift.io/skip-kas-conflict-san-validation"
)

// Annotations of a HostedCluster that tune a single component; all of them are mirrored.
const (
	ClusterScheduledAnnotation             = "hypershift.openshift.io/cluster-scheduled"
	RequestServingNodeSelectorAnnotation   = "hypershift.openshift.io/request-serving-node-additional-selector"
	LoginURLOverrideAnnotation             = "oauth.hypershift.openshift.io/login-url-override"
	KubeAPIServerGOGCAnnotation            = "hypershift.openshift.io/kube-apiserver-gogc"
	KubeAPIServerGOMemLimitAnnotation      = "hypershift.openshift.io/kube-apiserver-gomemlimit"
	KubeAPIServerMaxInFlightAnnotation     = "hypershift.openshift.io/kube-apiserver-max-requests-inflight"
	KubeAPIServerMaxMutatingAnnotation     = "hypershift.openshift.io/kube-apiserver-max-mutating-requests-inflight"
	KubeAPIServerVerbosityAnnotation       = "hypershift.openshift.io/kube-apiserver-verbosity-level"
	KubeAPIServerGoAwayChanceAnnotation    = "hypershift.openshift.io/kube-apiserver-goaway-chance"
	KubeAPIServerTokenExpirationAnnotation = "hypershift.openshift.io/kube-apiserver-service-account-token-max-expiration"
	LoadBalancerProbeModeAnnotation        = "hypershift.openshift.io/azure-load-balancer-health-probe-mode"
	SharedLoadBalancerProbePathAnnotation  = "hypershift.openshift.io/shared-load-balancer-health-probe-path"
	SharedLoadBalancerProbePortAnnotation  = "hypershift.openshift.io/shared-load-balancer-health-probe-port"
	PrivateIngressControllerAnnotation     = "hypershift.openshift.io/private-ingress-controller"
	IngressControllerScopeAnnotation       = "hypershift.openshift.io/ingress-controller-load-balancer-scope"
	ClusterAutoscalerImageAnnotation       = "hypershift.openshift.io/cluster-autoscaler-image"
	CertifiedOperatorsCatalogAnnotation    = "hypershift.openshift.io/certified-operators-catalog-image"
	CommunityOperatorsCatalogAnnotation    = "hypershift.openshift.io/community-operators-catalog-image"
	RedHatOperatorsCatalogAnnotation       = "hypershift.openshift.io/redhat-operators-catalog-image"
	OLMCatalogRegistryOverridesAnnotation  = "hypershift.openshift.io/olm-catalogs-is-registry-overrides"
	EnsureExistsPullSecretAnnotation       = "hypershift.openshift.io/ensureexists-pullsecret-reconcile"
	ManagementPlatformAnnotation           = "hypershift.openshift.io/management-platform"
	SwiftPodNetworkInstanceAnnotation      = "hypershift.openshift.io/swift-pod-network-instance"
	RestoredFromBackupAnnotation           = "hypershift.openshift.io/restored-from-backup"
	EnableMetricsForwardingAnnotation      = "hypershift.openshift.io/enable-metrics-forwarding"
	// EtcdBackupScheduleAnnotation, five fields of cron in UTC, has HCPEtcdBackups made again and again, with the storage of the one before.
	EtcdBackupScheduleAnnotation = "hypershift.openshift.io/etcd-backup-schedule"
)

// Annotations and labels that controllers set.
const (
	// HostedClusterAnnotation, "<namespace>/<name>", is the reference back from every child of a HostedCluster: owner
	// references cannot cross namespaces.
	HostedClusterAnnotation = "hypershift.openshift.io/cluster"
	// HostedClusterUIDAnnotation is on the control plane's namespace: names may lead to the same one, UIDs do not.
	HostedClusterUIDAnnotation     = "hypershift.openshift.io/cluster-uid"
	HasBeenAvailableAnnotation     = "hypershift.openshift.io/HasBeenAvailable"
	ReferencedResourcePrefix       = "referenced-resource.hypershift.openshift.io"
	DefaultSecurityContextUID      = "hypershift.openshift.io/default-security-context-uid"
	HostedControlPlaneLabel        = "hypershift.openshift.io/hosted-control-plane"
	ControlPlaneComponentLabel     = "hypershift.openshift.io/control-plane-component"
	NeedManagementKASAccessLabel   = "hypershift.openshift.io/need-management-kas-access"
	RequestServingComponentLabel   = "hypershift.openshift.io/request-serving-component"
	ManagedByLabel                 = "hypershift.openshift.io/managed-by"
	ReleaseImageAnnotation         = "hypershift.openshift.io/release-image"
	ComponentConfigHashAnnotation  = "component.hypershift.openshift.io/config-hash"
	ControlPlaneNodeLabel          = "hypershift.openshift.io/control-plane"
	ClusterNodeLabel               = "hypershift.openshift.io/cluster"
	InternalRouteLabel             = "hypershift.openshift.io/internal-route"
	RouteVisibilityLabel           = "hypershift.openshift.io/route-visibility"
	KubeconfigScopeLabel           = "hypershift.openshift.io/kubeconfig" // on kubeconfig Secrets of a control plane: external, local or bootstrap
	RouteStatusWriterAnnotation    = "hypershift.openshift.io/route-status-writer"
	AutoInfraLabel                 = "hypershift.openshift.io/auto-created-for-infra"
	DeleteWithClusterLabel         = "hypershift.openshift.io/safe-to-delete-with-cluster"
	SupportedVersionsLabel         = "hypershift.openshift.io/supported-versions"
	ExternalDNSHostnameAnnotation  = "external-dns.alpha.kubernetes.io/hostname"
	AzureMachineIdentityAnnotation = "azure.microsoft.com/hcp-cluster-azure-resource-id"
	// IngressRecordMetadata is in the metadata of a DNS record in Azure: the infrastructure id of the cluster whose applications it leads to.
	IngressRecordMetadata = "hypershift_infra_id"
)

// Annotations and labels of the NodePool controller and of the ignition path.
const (
	NodePoolLabel                                = "hypershift.openshift.io/nodePool"                  // on Nodes: NodePool name
	NodePoolGlobalPullSecretLabel                = "hypershift.openshift.io/nodepool-globalps-enabled" // on Nodes: they follow the pull secret of their guest
	NodePoolAnnotation                           = "hypershift.openshift.io/nodePool"                  // on objects: "<namespace>/<name>"
	NodePoolCurrentConfigAnnotation              = "hypershift.openshift.io/nodePoolCurrentConfig"
	NodePoolCurrentConfigVersionAnnotation       = "hypershift.openshift.io/nodePoolCurrentConfigVersion"
	NodePoolTargetConfigVersionAnnotation        = "hypershift.openshift.io/nodePoolTargetConfigVersion"
	NodePoolPlatformMachineTemplateAnnotation    = "hypershift.openshift.io/nodePoolPlatformMachineTemplate"
	NodePoolUpgradeInProgressTrueAnnotation      = "hypershift.openshift.io/nodePoolUpgradeInProgressTrue"
	NodePoolUpgradeInProgressFalseAnnotation     = "hypershift.openshift.io/nodePoolUpgradeInProgressFalse"
	NodePoolMaxUnavailableAnnotation             = "hypershift.openshift.io/nodePoolMaxUnavailable"
	NodePoolTaintsAnnotation                     = "hypershift.openshift.io/nodePoolTaints"
	NodePoolUpgradeTypeAnnotation                = "hypershift.openshift.io/node-pool-upgrade-type"
	NodePoolReleaseVersionAnnotation             = "hypershift.openshift.io/release-version"
	ManagedNodeLabelPrefix                       = "managed.hypershift.openshift.io"
	CoreIgnitionConfigLabel                      = "hypershift.openshift.io/core-ignition-config"
	IgnitionConfigAnnotation                     = "hypershift.openshift.io/ignition-config"
	IgnitionReachedAnnotation                    = "hypershift.openshift.io/ignition-reached"
	IgnitionTokenExpirationTimestampAnnotation   = "hypershift.openshift.io/ignition-token-expiration-timestamp"
	IgnitionLastTokenGenerationTimeAnnotation    = "hypershift.openshift.io/last-token-generation-time"
	MachineApproverUserDataTemplatingDisabledKey = "disableTemplating"
)

// Well-known Secret and ConfigMap keys.
const (
	PullSecretKey            = ".dockerconfigjson"
	SSHPublicKeyKey          = "id_rsa.pub"
	SSHPrivateKeyKey         = "id_rsa"
	AESCBCKeySecretKey       = "key"
	ServiceAccountSigningKey = "key"
	ServiceAccountOldPubKey  = "old-key.pub"
	TrustBundleKey           = "ca-bundle.crt"
	KubeconfigKey            = "kubeconfig"
	KubeadminPasswordKey     = "password"
	NodePoolConfigKey        = "config"
)
