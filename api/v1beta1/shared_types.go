package v1beta1

// Release names a release payload.
type Release struct {
	// image is the pull reference of the payload.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^\\\\w\\\\S*$')",message="Image must start with a word character (letters, digits, or underscores) and contain no white spaces"
	// +required
	Image string `json:"image"`
}

// PlatformType discriminates platforms. Azure and None are implemented; the other values are part of the wire format.
// +kubebuilder:validation:MaxLength=100
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

// ImageContentSource lists the mirrors of one repository.
type ImageContentSource struct {
	// source is the repository that images name.
	// +kubebuilder:validation:MaxLength=255
	// +required
	Source string `json:"source"`
	// mirrors are tried before it, in order.
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
	// enabled lists parts that are on.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=25
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Enabled is immutable. Changes might result in unpredictable and disruptive behavior."
	// +optional
	Enabled []OptionalCapability `json:"enabled,omitempty"`
	// disabled lists parts that are off.
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
	// scaling says whether nodes are removed too.
	// +kubebuilder:validation:Enum=ScaleUpOnly;ScaleUpAndScaleDown
	// +kubebuilder:default=ScaleUpAndScaleDown
	// +optional
	Scaling string `json:"scaling,omitempty"`
	// maxNodesTotal bounds the nodes of all pools.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxNodesTotal *int32 `json:"maxNodesTotal,omitempty"`
	// maxPodGracePeriod is how many seconds pods get to end before their node is removed.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxPodGracePeriod *int32 `json:"maxPodGracePeriod,omitempty"`
	// podPriorityThreshold is the least priority that counts.
	// +optional
	PodPriorityThreshold *int32 `json:"podPriorityThreshold,omitempty"`
	// maxNodeProvisionTime is how long a machine may take to join, as a Go duration.
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`
	// +optional
	MaxNodeProvisionTime string `json:"maxNodeProvisionTime,omitempty"`
	// maxFreeDifferenceRatioPercent is how much similar pools may differ in free resources.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxFreeDifferenceRatioPercent *int32 `json:"maxFreeDifferenceRatioPercent,omitempty"`
	// expanders choose the pool that grows, in order; Priority, LeastWaste when unset.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:Enum=LeastWaste;Priority;Random
	// +optional
	Expanders []string `json:"expanders,omitempty"`
	// balancingIgnoredLabels do not make pools different.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=317
	// +kubebuilder:validation:items:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	// +optional
	BalancingIgnoredLabels []string `json:"balancingIgnoredLabels,omitempty"`
	// scaleDown tunes how nodes are removed.
	// +optional
	ScaleDown *ScaleDownConfig `json:"scaleDown,omitempty"`
}

// ScaleDownConfig tunes how nodes are removed.
type ScaleDownConfig struct {
	// delayAfterAddSeconds passes after a node was added.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	DelayAfterAddSeconds *int32 `json:"delayAfterAddSeconds,omitempty"`
	// delayAfterDeleteSeconds passes after a node was removed.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	DelayAfterDeleteSeconds *int32 `json:"delayAfterDeleteSeconds,omitempty"`
	// delayAfterFailureSeconds passes after a removal failed.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	DelayAfterFailureSeconds *int32 `json:"delayAfterFailureSeconds,omitempty"`
	// unneededDurationSeconds is how long a node must be unneeded.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	UnneededDurationSeconds *int32 `json:"unneededDurationSeconds,omitempty"`
	// utilizationThresholdPercent is below which a node counts as unneeded.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	UtilizationThresholdPercent *int32 `json:"utilizationThresholdPercent,omitempty"`
}

// APIEndpoint is a host and port.
type APIEndpoint struct {
	// host is a name or address.
	// +kubebuilder:validation:MaxLength=255
	// +required
	Host string `json:"host"`
	// port of the endpoint.
	// +required
	Port int32 `json:"port"`
}

// KubeconfigSecretRef names the key of a Secret that holds a kubeconfig.
type KubeconfigSecretRef struct {
	// name of the Secret.
	// +required
	Name string `json:"name"`
	// key in the Secret.
	// +required
	Key string `json:"key"`
}
