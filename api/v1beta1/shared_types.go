package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Release names a release payload.
type Release struct {
	// image is the pull reference of the payload.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^(\\\\w+\\\\S+)$')",message="Image must start with a word character (letters, digits, or underscores) and contain no white spaces"
	// +required
	Image string `json:"image"`
}

// PlatformType discriminates platforms. Azure and None are implemented; the other values are part of the wire format.
// +kubebuilder:validation:Enum=AWS;Azure;IBMCloud;KubeVirt;Agent;PowerVS;None
type PlatformType string

// Platforms.
const (
	AzurePlatform    PlatformType = "Azure"
	NonePlatform     PlatformType = "None"
	IBMCloudPlatform PlatformType = "IBMCloud"
	AWSPlatform      PlatformType = "AWS"
)

// AvailabilityPolicy says how many replicas a workload gets.
// +kubebuilder:validation:Enum=HighlyAvailable;SingleReplica
type AvailabilityPolicy string

// Availability policies.
const (
	HighlyAvailable AvailabilityPolicy = "HighlyAvailable"
	SingleReplica   AvailabilityPolicy = "SingleReplica"
)

// OLMCatalogPlacement says where catalogs run.
// +kubebuilder:validation:Enum=management;guest
type OLMCatalogPlacement string

// Catalog placements.
const (
	ManagementOLMCatalogPlacement OLMCatalogPlacement = "management"
	GuestOLMCatalogPlacement      OLMCatalogPlacement = "guest"
)

// DNSSpec says where the records of the cluster live.
type DNSSpec struct {
	// baseDomain of the cluster; apps are published beneath it.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == \"\" || self.matches('^(?:[a-zA-Z0-9-]+\\\\.)+[a-zA-Z]{2,}$') || self.matches('^[a-zA-Z0-9-]+$')",message="baseDomain must be a valid domain name (e.g., example, example.com, sub.example.com)"
	// +kubebuilder:validation:XValidation:rule="oldSelf == \"\" || self == oldSelf",message="baseDomain is immutable"
	// +required
	BaseDomain string `json:"baseDomain"`
	// baseDomainPrefix replaces the cluster name in the domain of the cluster; empty means no prefix.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == \"\" || self.matches('^(?:[a-zA-Z0-9-]+\\\\.)+[a-zA-Z]{2,}$') || self.matches('^[a-zA-Z0-9-]+$')",message="baseDomainPrefix must be a valid domain name (e.g., example, example.com, sub.example.com)"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="baseDomainPrefix is immutable"
	// +optional
	BaseDomainPrefix *string `json:"baseDomainPrefix,omitempty"`
	// publicZoneID is the ARM id of the zone that serves public records.
	// +kubebuilder:validation:MaxLength=258
	// +kubebuilder:validation:XValidation:rule="oldSelf == \"\" || self == oldSelf",message="publicZoneID is immutable"
	// +optional
	PublicZoneID string `json:"publicZoneID,omitempty"`
	// privateZoneID is the ARM id of the zone that is visible inside the VNet only.
	// +kubebuilder:validation:MaxLength=265
	// +kubebuilder:validation:XValidation:rule="oldSelf == \"\" || self == oldSelf",message="privateZoneID is immutable"
	// +optional
	PrivateZoneID string `json:"privateZoneID,omitempty"`
}

// NetworkType names the network plugin of the hosted cluster.
// +kubebuilder:validation:Enum=OpenShiftSDN;Calico;OVNKubernetes;Other
type NetworkType string

// Network types.
const (
	OVNKubernetes NetworkType = "OVNKubernetes"
	OtherNetwork  NetworkType = "Other"
)

// CIDR is an IPv4 or IPv6 range; the schema checks its syntax only.
// +kubebuilder:validation:MaxLength=43
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,3}\\\\.){3}[0-9]{1,3}/[0-9]{1,2}$') || self.matches('^[0-9a-fA-F:]*:[0-9a-fA-F:]*/[0-9]{1,3}$')",message="cidr must be a valid IPv4 or IPv6 CIDR notation (e.g., 192.168.1.0/24 or 2001:db8::/64)"
type CIDR string

// ClusterNetworking describes the networks of a hosted cluster.
// +kubebuilder:validation:XValidation:rule="(!has(self.machineNetwork) || self.machineNetwork.all(m, self.clusterNetwork.all(c, m.cidr != c.cidr))) && (!has(self.machineNetwork) || self.machineNetwork.all(m, self.serviceNetwork.all(s, m.cidr != s.cidr))) && self.clusterNetwork.all(c, self.serviceNetwork.all(s, c.cidr != s.cidr))",message="CIDR ranges in machineNetwork, clusterNetwork, and serviceNetwork must be unique and non-overlapping"
// +kubebuilder:validation:XValidation:rule="!has(self.allocateNodeCIDRs) || self.allocateNodeCIDRs != 'Enabled' || self.networkType == 'Other'",message="allocateNodeCIDRs can only be set to Enabled when networkType is 'Other'"
type ClusterNetworking struct {
	// +kubebuilder:default=OVNKubernetes
	// +optional
	NetworkType NetworkType `json:"networkType,omitempty"`
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterNetwork is immutable and cannot be modified once set."
	// +kubebuilder:default={{cidr: "10.132.0.0/14"}}
	// +optional
	ClusterNetwork []ClusterNetworkEntry `json:"clusterNetwork,omitempty"`
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serviceNetwork is immutable and cannot be modified once set."
	// +kubebuilder:default={{cidr: "172.31.0.0/16"}}
	// +optional
	ServiceNetwork []NetworkEntry `json:"serviceNetwork,omitempty"`
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="machineNetwork is immutable and cannot be modified once set."
	// +optional
	MachineNetwork []NetworkEntry `json:"machineNetwork,omitempty"`
	// +optional
	APIServer *APIServerNetworking `json:"apiServer,omitempty"`
	// +kubebuilder:validation:Enum=Enabled;Disabled
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="allocateNodeCIDRs is immutable"
	// +optional
	AllocateNodeCIDRs *AllocateNodeCIDRsMode `json:"allocateNodeCIDRs,omitempty"`
}

// AllocateNodeCIDRsMode says whether the controller manager hands out pod ranges to nodes.
type AllocateNodeCIDRsMode string

// Modes of AllocateNodeCIDRs.
const (
	AllocateNodeCIDRsEnabled  AllocateNodeCIDRsMode = "Enabled"
	AllocateNodeCIDRsDisabled AllocateNodeCIDRsMode = "Disabled"
)

// ClusterNetworkEntry is one pod range.
type ClusterNetworkEntry struct {
	// +required
	CIDR CIDR `json:"cidr"`
	// hostPrefix is the size of the part each node gets.
	// +optional
	HostPrefix int32 `json:"hostPrefix,omitempty"`
}

// NetworkEntry is one service or machine range.
type NetworkEntry struct {
	// +required
	CIDR CIDR `json:"cidr"`
}

// APIServerNetworking describes how the API server is reached.
type APIServerNetworking struct {
	// advertiseAddress is the address, local to each node, at which pods find the API server; 172.20.0.1 when unset.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="advertiseAddress is immutable"
	// +optional
	AdvertiseAddress *string `json:"advertiseAddress,omitempty"`
	// port of the API server; 6443 when unset.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="port is immutable"
	// +optional
	Port *int32 `json:"port,omitempty"`
	// +listType=set
	// +kubebuilder:validation:MaxItems=500
	// +optional
	AllowedCIDRBlocks []CIDR `json:"allowedCIDRBlocks,omitempty"`
}

// EtcdManagementType says who runs etcd.
// +kubebuilder:validation:Enum=Managed;Unmanaged
type EtcdManagementType string

// Etcd management types.
const (
	Managed   EtcdManagementType = "Managed"
	Unmanaged EtcdManagementType = "Unmanaged"
)

// EtcdSpec describes the storage of the control plane.
// +kubebuilder:validation:XValidation:rule="self.managementType == 'Managed' ? has(self.managed) && !has(self.unmanaged) : true",message="Only managed configuration must be set when managementType is Managed"
// +kubebuilder:validation:XValidation:rule="self.managementType == 'Unmanaged' ? has(self.unmanaged) && !has(self.managed) : true",message="Only unmanaged configuration must be set when managementType is Unmanaged"
type EtcdSpec struct {
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="managementType is immutable"
	// +required
	ManagementType EtcdManagementType `json:"managementType"`
	// +optional
	Managed *ManagedEtcdSpec `json:"managed,omitempty"`
	// +optional
	Unmanaged *UnmanagedEtcdSpec `json:"unmanaged,omitempty"`
}

// ManagedEtcdSpec is etcd run in the control-plane namespace.
type ManagedEtcdSpec struct {
	// +required
	Storage ManagedEtcdStorageSpec `json:"storage"`
}

// ManagedEtcdStorageSpec is the volume of each etcd member.
// +kubebuilder:validation:XValidation:rule="has(self.restoreSnapshotURL) == has(oldSelf.restoreSnapshotURL)",message="restoreSnapshotURL cannot be added or removed"
type ManagedEtcdStorageSpec struct {
	// +kubebuilder:validation:Enum=PersistentVolume
	// +required
	Type string `json:"type"`
	// +optional
	PersistentVolume *PersistentVolumeEtcdStorageSpec `json:"persistentVolume,omitempty"`
	// +listType=set
	// +kubebuilder:validation:MaxItems=1
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.all(u, u.startsWith('https://') || u.startsWith('s3://'))",message="restoreSnapshotURL must be an https or s3 URL"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="restoreSnapshotURL is immutable"
	// +optional
	RestoreSnapshotURL []string `json:"restoreSnapshotURL,omitempty"`
}

// PersistentVolumeEtcdStorageSpec sizes the volume.
type PersistentVolumeEtcdStorageSpec struct {
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="storageClassName is immutable"
	// +optional
	StorageClassName *string `json:"storageClassName,omitempty"`
	// +kubebuilder:default="8Gi"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Etcd PV storage size is immutable"
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
}

// UnmanagedEtcdSpec points at an etcd that someone else runs.
type UnmanagedEtcdSpec struct {
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^https://`
	// +required
	Endpoint string `json:"endpoint"`
	// +required
	TLS EtcdTLSConfig `json:"tls"`
}

// EtcdTLSConfig names the client certificate.
type EtcdTLSConfig struct {
	// +required
	ClientSecret corev1.LocalObjectReference `json:"clientSecret"`
}

// ServiceType is an endpoint of the control plane that nodes or people reach.
// +kubebuilder:validation:Enum=APIServer;OAuthServer;OIDC;Konnectivity;Ignition;OVNSbDb
type ServiceType string

// Published services.
const (
	APIServer    ServiceType = "APIServer"
	OAuthServer  ServiceType = "OAuthServer"
	Konnectivity ServiceType = "Konnectivity"
	Ignition     ServiceType = "Ignition"
)

// PublishingStrategyType says how an endpoint is published.
// +kubebuilder:validation:Enum=LoadBalancer;NodePort;Route;None;S3
type PublishingStrategyType string

// Publishing strategies.
const (
	LoadBalancer PublishingStrategyType = "LoadBalancer"
	NodePort     PublishingStrategyType = "NodePort"
	Route        PublishingStrategyType = "Route"
	NonePublish  PublishingStrategyType = "None"
)

// ServicePublishingStrategyMapping publishes one service.
type ServicePublishingStrategyMapping struct {
	// +required
	Service ServiceType `json:"service"`
	// +required
	ServicePublishingStrategy ServicePublishingStrategy `json:"servicePublishingStrategy"`
}

// ServicePublishingStrategy is a union on its type.
// +kubebuilder:validation:XValidation:rule="self.type == 'NodePort' ? has(self.nodePort) : !has(self.nodePort)",message="nodePort is required when type is NodePort, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="self.type == 'Route' ? !has(self.nodePort) && !has(self.loadBalancer) : true",message="only route is allowed when type is Route"
// +kubebuilder:validation:XValidation:rule="self.type == 'LoadBalancer' ? !has(self.nodePort) && !has(self.route) : true",message="only loadBalancer is required when type is LoadBalancer, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="self.type == 'NodePort' ? !has(self.loadBalancer) && !has(self.route) : true",message="only nodePort is allowed when type is NodePort"
// +kubebuilder:validation:XValidation:rule="self.type == 'None' ? !has(self.nodePort) && !has(self.route) && !has(self.loadBalancer) : true",message="None does not allowed any configuration for loadBalancer, nodePort, or route"
// +kubebuilder:validation:XValidation:rule="self.type == 'S3' ? !has(self.nodePort) && !has(self.route) && !has(self.loadBalancer) : true",message="S3 does not allowed any configuration for loadBalancer, nodePort, or route"
type ServicePublishingStrategy struct {
	// +required
	Type PublishingStrategyType `json:"type"`
	// +optional
	NodePort *NodePortPublishingStrategy `json:"nodePort,omitempty"`
	// +optional
	LoadBalancer *LoadBalancerPublishingStrategy `json:"loadBalancer,omitempty"`
	// +optional
	Route *RoutePublishingStrategy `json:"route,omitempty"`
}

// NodePortPublishingStrategy publishes on the nodes of the management cluster.
type NodePortPublishingStrategy struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == 'localhost' || self.matches('^(([a-zA-Z0-9-]+\\\\.)+[a-zA-Z]{2,})$') || self.matches('^([0-9]{1,3}\\\\.){3}[0-9]{1,3}$') || self.matches('^[0-9a-fA-F:]*:[0-9a-fA-F:]+$')",message="address must be a valid hostname, IPv4, or IPv6 address"
	// +required
	Address string `json:"address"`
	// port is chosen by Kubernetes when 0.
	// +optional
	Port int32 `json:"port,omitempty"`
}

// Hostname is a dotted domain name.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="self.matches('^(([a-zA-Z0-9-]+\\\\.)+[a-zA-Z]{2,})$')",message="hostname must be a valid domain name (e.g., example.com)"
type Hostname string

// LoadBalancerPublishingStrategy publishes by a load balancer of the management cluster.
type LoadBalancerPublishingStrategy struct {
	// +optional
	Hostname Hostname `json:"hostname,omitempty"`
}

// RoutePublishingStrategy publishes by a Route of the management cluster.
type RoutePublishingStrategy struct {
	// +optional
	Hostname Hostname `json:"hostname,omitempty"`
}

// ImageContentSource lists the mirrors of one repository.
type ImageContentSource struct {
	// +kubebuilder:validation:MaxLength=255
	// +required
	Source string `json:"source"`
	// +listType=set
	// +kubebuilder:validation:MaxItems=255
	// +kubebuilder:validation:items:MaxLength=255
	// +optional
	Mirrors []string `json:"mirrors,omitempty"`
}

// Capabilities switches optional parts of the hosted cluster on and off.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !has(self.disabled) || self.enabled.all(e, !(e in self.disabled))",message="Capabilities can not be both enabled and disabled at once."
// +kubebuilder:validation:XValidation:rule="!has(self.disabled) || !('Ingress' in self.disabled) || ('Console' in self.disabled)",message="Ingress capability can only be disabled if Console capability is also disabled"
type Capabilities struct {
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=25
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Enabled is immutable. Changes might result in unpredictable and disruptive behavior."
	// +optional
	Enabled []OptionalCapability `json:"enabled,omitempty"`
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=25
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Disabled is immutable. Changes might result in unpredictable and disruptive behavior."
	// +optional
	Disabled []OptionalCapability `json:"disabled,omitempty"`
}

// OptionalCapability names an optional part.
// +kubebuilder:validation:Enum=ImageRegistry;openshift-samples;Insights;baremetal;Console;NodeTuning;Ingress
type OptionalCapability string

// ClusterAutoscaling tunes the cluster autoscaler.
// +kubebuilder:validation:XValidation:rule="!has(self.scaling) || self.scaling != 'ScaleUpOnly' || !has(self.scaleDown)",message="scaleDown can only be set when scaling is ScaleUpAndScaleDown"
type ClusterAutoscaling struct {
	// +kubebuilder:validation:Enum=ScaleUpOnly;ScaleUpAndScaleDown
	// +kubebuilder:default=ScaleUpAndScaleDown
	// +optional
	Scaling string `json:"scaling,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxNodesTotal *int32 `json:"maxNodesTotal,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxPodGracePeriod *int32 `json:"maxPodGracePeriod,omitempty"`
	// +optional
	PodPriorityThreshold *int32 `json:"podPriorityThreshold,omitempty"`
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`
	// +optional
	MaxNodeProvisionTime string `json:"maxNodeProvisionTime,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxFreeDifferenceRatioPercent *int32 `json:"maxFreeDifferenceRatioPercent,omitempty"`
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:Enum=LeastWaste;Priority;Random
	// +optional
	Expanders []string `json:"expanders,omitempty"`
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=317
	// +optional
	BalancingIgnoredLabels []string `json:"balancingIgnoredLabels,omitempty"`
	// +optional
	ScaleDown *ScaleDownConfig `json:"scaleDown,omitempty"`
}

// ScaleDownConfig tunes how nodes are removed.
type ScaleDownConfig struct {
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	DelayAfterAddSeconds *int32 `json:"delayAfterAddSeconds,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	DelayAfterDeleteSeconds *int32 `json:"delayAfterDeleteSeconds,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	DelayAfterFailureSeconds *int32 `json:"delayAfterFailureSeconds,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	UnneededDurationSeconds *int32 `json:"unneededDurationSeconds,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	UtilizationThresholdPercent *int32 `json:"utilizationThresholdPercent,omitempty"`
}

// ClusterConfiguration passes the Spec of config.openshift.io/v1 types to the hosted cluster. Members this project acts
// on are typed; the others are carried unchanged.
type ClusterConfiguration struct {
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	APIServer *runtime.RawExtension `json:"apiServer,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Authentication *runtime.RawExtension `json:"authentication,omitempty"`
	// +optional
	FeatureGate *FeatureGateSpec `json:"featureGate,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Image *runtime.RawExtension `json:"image,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Ingress *runtime.RawExtension `json:"ingress,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Network *runtime.RawExtension `json:"network,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	OAuth *runtime.RawExtension `json:"oauth,omitempty"`
	// +optional
	OperatorHub *OperatorHubSpec `json:"operatorhub,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Scheduler *runtime.RawExtension `json:"scheduler,omitempty"`
	// +optional
	Proxy *ProxySpec `json:"proxy,omitempty"`
}

// FeatureGateSpec selects a feature set.
type FeatureGateSpec struct {
	// +optional
	FeatureSet string `json:"featureSet,omitempty"`
	// +optional
	CustomNoUpgrade *CustomFeatureGates `json:"customNoUpgrade,omitempty"`
}

// CustomFeatureGates lists single gates.
type CustomFeatureGates struct {
	// +optional
	Enabled []string `json:"enabled,omitempty"`
	// +optional
	Disabled []string `json:"disabled,omitempty"`
}

// OperatorHubSpec configures the default catalogs.
type OperatorHubSpec struct {
	// +optional
	DisableAllDefaultSources bool `json:"disableAllDefaultSources,omitempty"`
	// +optional
	Sources []HubSource `json:"sources,omitempty"`
}

// HubSource switches one default catalog.
type HubSource struct {
	Name     string `json:"name"`
	Disabled bool   `json:"disabled"`
}

// ProxySpec is the cluster-wide HTTP proxy.
type ProxySpec struct {
	// +optional
	HTTPProxy string `json:"httpProxy,omitempty"`
	// +optional
	HTTPSProxy string `json:"httpsProxy,omitempty"`
	// noProxy is a comma-separated list.
	// +optional
	NoProxy string `json:"noProxy,omitempty"`
	// +optional
	ReadinessEndpoints []string `json:"readinessEndpoints,omitempty"`
	// +optional
	TrustedCA *corev1.LocalObjectReference `json:"trustedCA,omitempty"`
}

// OperatorConfiguration configures operators inside the hosted cluster.
type OperatorConfiguration struct {
	// +optional
	ClusterNetworkOperator *ClusterNetworkOperatorSpec `json:"clusterNetworkOperator,omitempty"`
	// +optional
	IngressOperator *IngressOperatorSpec `json:"ingressOperator,omitempty"`
}

// ClusterNetworkOperatorSpec configures the network operator.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.ovnKubernetesConfig) || has(self.ovnKubernetesConfig)",message="ovnKubernetesConfig cannot be removed once set"
type ClusterNetworkOperatorSpec struct {
	// +kubebuilder:default=false
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="disableMultiNetwork is immutable"
	// +optional
	DisableMultiNetwork *bool `json:"disableMultiNetwork,omitempty"`
	// +optional
	OVNKubernetesConfig *OVNKubernetesConfig `json:"ovnKubernetesConfig,omitempty"`
}

// OVNKubernetesConfig configures OVN.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.mtu) || has(self.mtu)",message="mtu cannot be removed once set"
// +kubebuilder:pruning:PreserveUnknownFields
type OVNKubernetesConfig struct {
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=9216
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="mtu is immutable"
	// +optional
	MTU int32 `json:"mtu,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	IPv4 *runtime.RawExtension `json:"ipv4,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	IPv6 *runtime.RawExtension `json:"ipv6,omitempty"`
}

// IngressOperatorSpec configures the default ingress controller.
type IngressOperatorSpec struct {
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	EndpointPublishingStrategy *runtime.RawExtension `json:"endpointPublishingStrategy,omitempty"`
}

// Monitoring selects metric sets and their forwarding.
// +kubebuilder:validation:MinProperties=1
type Monitoring struct {
	// +kubebuilder:validation:Enum=Telemetry;SRE;All
	// +optional
	MetricsSet string `json:"metricsSet,omitempty"`
	// +optional
	MetricsForwarding *MetricsForwarding `json:"metricsForwarding,omitempty"`
}

// MetricsForwarding forwards control-plane metrics into the hosted cluster.
type MetricsForwarding struct {
	// +kubebuilder:validation:Enum=Forward;None
	// +required
	Mode string `json:"mode"`
	// +kubebuilder:validation:Enum=Telemetry;SRE;All
	// +optional
	MetricsSet string `json:"metricsSet,omitempty"`
}

// SecretEncryptionType says how Secrets are encrypted in etcd.
// +kubebuilder:validation:Enum=kms;aescbc
type SecretEncryptionType string

// Secret encryption types.
const (
	KMS    SecretEncryptionType = "kms"
	AESCBC SecretEncryptionType = "aescbc"
)

// SecretEncryptionSpec describes the encryption of Secrets in etcd.
type SecretEncryptionSpec struct {
	// +required
	Type SecretEncryptionType `json:"type"`
	// +optional
	KMS *KMSSpec `json:"kms,omitempty"`
	// +optional
	AESCBC *AESCBCSpec `json:"aescbc,omitempty"`
}

// AESCBCSpec names local keys.
type AESCBCSpec struct {
	// +required
	ActiveKey corev1.LocalObjectReference `json:"activeKey"`
	// +optional
	BackupKey *corev1.LocalObjectReference `json:"backupKey,omitempty"`
}

// KMSSpec names a key service.
type KMSSpec struct {
	// +kubebuilder:validation:Enum=IBMCloud;AWS;Azure
	// +required
	Provider string `json:"provider"`
	// +optional
	Azure *AzureKMSSpec `json:"azure,omitempty"`
}

// APIEndpoint is a host and port.
type APIEndpoint struct {
	// +kubebuilder:validation:MaxLength=255
	// +required
	Host string `json:"host"`
	// +required
	Port int32 `json:"port"`
}

// KubeconfigSecretRef names the key of a Secret that holds a kubeconfig.
type KubeconfigSecretRef struct {
	// +required
	Name string `json:"name"`
	// +required
	Key string `json:"key"`
}

// ClusterVersionStatus is the state of the data plane's version.
type ClusterVersionStatus struct {
	// +required
	Desired VersionRelease `json:"desired"`
	// history is ordered by time, newest first.
	// +listType=atomic
	// +optional
	History []UpdateHistory `json:"history,omitempty"`
	// +required
	ObservedGeneration int64 `json:"observedGeneration"`
	// +nullable
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +required
	AvailableUpdates []VersionRelease `json:"availableUpdates"`
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +optional
	ConditionalUpdates []ConditionalUpdate `json:"conditionalUpdates,omitempty"`
}

// VersionRelease is a version with its payload.
type VersionRelease struct {
	// +optional
	Version string `json:"version"`
	// +optional
	Image string `json:"image"`
	// +optional
	URL string `json:"url,omitempty"`
	// +listType=set
	// +optional
	Channels []string `json:"channels,omitempty"`
}

// ConditionalUpdate is an update with known risks; the risks are carried unchanged.
// +kubebuilder:pruning:PreserveUnknownFields
type ConditionalUpdate struct {
	// +required
	Release VersionRelease `json:"release"`
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// UpdateState says whether an update was applied.
type UpdateState string

// Update states.
const (
	CompletedUpdate UpdateState = "Completed"
	PartialUpdate   UpdateState = "Partial"
)

// UpdateHistory is one entry of a version's history.
type UpdateHistory struct {
	// +required
	State UpdateState `json:"state"`
	// +required
	StartedTime metav1.Time `json:"startedTime"`
	// +nullable
	// +required
	CompletionTime *metav1.Time `json:"completionTime"`
	// +optional
	Version string `json:"version"`
	// +required
	Image string `json:"image"`
	// +required
	Verified bool `json:"verified"`
	// +optional
	AcceptedRisks string `json:"acceptedRisks,omitempty"`
}

// ControlPlaneVersionStatus is the state of the management side's version.
type ControlPlaneVersionStatus struct {
	// +required
	Desired VersionRelease `json:"desired"`
	// history is ordered by time, newest first.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +optional
	History []ControlPlaneUpdateHistory `json:"history,omitempty"`
	// +kubebuilder:validation:Minimum=1
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// ControlPlaneUpdateHistory is one entry of the management side's history.
type ControlPlaneUpdateHistory struct {
	// +kubebuilder:validation:Enum=Completed;Partial
	// +required
	State UpdateState `json:"state"`
	// +required
	StartedTime metav1.Time `json:"startedTime"`
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Version string `json:"version,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=447
	// +required
	Image string `json:"image"`
}
