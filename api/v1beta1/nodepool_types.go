package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// NodePool is a set of equal workers of one hosted cluster.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:metadata:annotations="release.openshift.io/feature-set=Default"
// +kubebuilder:resource:path=nodepools,shortName=np;nps,scope=Namespaced
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".spec.clusterName"
// +kubebuilder:printcolumn:name="Desired Nodes",type="integer",JSONPath=".spec.replicas"
// +kubebuilder:printcolumn:name="Current Nodes",type="integer",JSONPath=".status.replicas"
// +kubebuilder:printcolumn:name="Autoscaling",type="string",JSONPath=".status.conditions[?(@.type==\"AutoscalingEnabled\")].status"
// +kubebuilder:printcolumn:name="Autorepair",type="string",JSONPath=".status.conditions[?(@.type==\"AutorepairEnabled\")].status"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".status.version"
// +kubebuilder:printcolumn:name="UpdatingVersion",type="string",JSONPath=".status.conditions[?(@.type==\"UpdatingVersion\")].status"
// +kubebuilder:printcolumn:name="UpdatingConfig",type="string",JSONPath=".status.conditions[?(@.type==\"UpdatingConfig\")].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message"
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec NodePoolSpec `json:"spec,omitempty"`
	// +optional
	Status NodePoolStatus `json:"status,omitempty"`
}

// NodePoolList is a list of NodePools.
// +kubebuilder:object:root=true
type NodePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodePool `json:"items"`
}

// NodePoolSpec is the desired state.
// +kubebuilder:validation:XValidation:rule="!(has(self.replicas) && has(self.autoScaling))",message="Both replicas or autoScaling should not be set"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.arch) || has(self.arch)",message="Arch is required once set"
// +kubebuilder:validation:XValidation:rule="self.arch != 'arm64' || has(self.platform.aws) || has(self.platform.azure) || has(self.platform.agent) || self.platform.type == 'None'",message="Setting Arch to arm64 is only supported for AWS, Azure, Agent and None"
// +kubebuilder:validation:XValidation:rule="self.arch != 's390x' || has(self.platform.kubevirt)",message="s390x is only supported on KubeVirt platform"
// +kubebuilder:validation:XValidation:rule="!has(self.autoScaling) || self.autoScaling.min > 0 || self.platform.type in ['AWS', 'Azure']",message="Scale-from-zero (autoScaling.min=0) is currently only supported for AWS and Azure platforms"
type NodePoolSpec struct {
	// clusterName names a HostedCluster in the same namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="clusterName must consist of lowercase alphanumeric characters or '-', start and end with an alphanumeric character"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ClusterName is immutable"
	// +required
	ClusterName string `json:"clusterName"`
	// release is the payload of the pool.
	// +required
	Release Release `json:"release"`
	// platform describes the machines.
	// +required
	Platform NodePoolPlatform `json:"platform"`
	// replicas and autoScaling exclude each other; neither means 0.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// management describes upgrades and repair.
	// +required
	Management NodePoolManagement `json:"management"`
	// autoScaling bounds the number of nodes.
	// +optional
	AutoScaling *NodePoolAutoScaling `json:"autoScaling,omitempty"`
	// config names ConfigMaps with key "config".
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	Config []corev1.LocalObjectReference `json:"config,omitempty"`
	// tuningConfig names ConfigMaps with key "tuning".
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	TuningConfig []corev1.LocalObjectReference `json:"tuningConfig,omitempty"`
	// nodeLabels are put on Nodes without a rollout.
	// +optional
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
	// taints are put on Nodes without a rollout.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Taints []Taint `json:"taints,omitempty"`
	// nodeDrainTimeout bounds the draining of a node; zero waits for ever.
	// +optional
	NodeDrainTimeout *metav1.Duration `json:"nodeDrainTimeout,omitempty"`
	// nodeVolumeDetachTimeout bounds the detaching of volumes; zero waits for ever.
	// +optional
	NodeVolumeDetachTimeout *metav1.Duration `json:"nodeVolumeDetachTimeout,omitempty"`
	// pausedUntil is a time or a boolean.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=35
	// +kubebuilder:validation:XValidation:rule="self in ['true', 'false', 'True', 'False'] || self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}.*')",message="PausedUntil must be a date in RFC3339 format or 'True', 'true', 'False' or 'false'"
	// +optional
	PausedUntil *string `json:"pausedUntil,omitempty"`
	// arch is the architecture of the machines.
	// +kubebuilder:validation:Enum=arm64;amd64;ppc64le;s390x
	// +kubebuilder:default=amd64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Arch is immutable"
	// +optional
	Arch string `json:"arch,omitempty"`
}

// NodePoolPlatform discriminates the platform; only the Azure member is acted on.
type NodePoolPlatform struct {
	// type must be the hosted cluster's.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Type is immutable"
	// +required
	Type PlatformType `json:"type"`
	// azure describes virtual machines on Azure.
	// +optional
	Azure *AzureNodePoolPlatform `json:"azure,omitempty"`
	// aws is carried unchanged and never acted on.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	AWS *runtime.RawExtension `json:"aws,omitempty"`
	// agent is carried unchanged and never acted on.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Agent *runtime.RawExtension `json:"agent,omitempty"`
	// ibmcloud is carried unchanged and never acted on.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	IBMCloud *runtime.RawExtension `json:"ibmcloud,omitempty"`
	// powervs is carried unchanged and never acted on.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	PowerVS *runtime.RawExtension `json:"powervs,omitempty"`
	// kubevirt is carried unchanged and never acted on.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Kubevirt *runtime.RawExtension `json:"kubevirt,omitempty"`
}

// NodePoolAutoScaling bounds the number of nodes.
// +kubebuilder:validation:XValidation:rule="self.max >= self.min",message="max must be equal or greater than min"
type NodePoolAutoScaling struct {
	// min is the least number of nodes.
	// +kubebuilder:validation:Minimum=0
	// +required
	Min int32 `json:"min"`
	// max is the greatest number of nodes.
	// +kubebuilder:validation:Minimum=1
	// +required
	Max int32 `json:"max"`
}

// UpgradeType says how nodes get a new configuration.
// +kubebuilder:validation:Enum=Replace;InPlace
type UpgradeType string

// Upgrade types.
const (
	UpgradeTypeReplace UpgradeType = "Replace"
	UpgradeTypeInPlace UpgradeType = "InPlace"
)

// UpgradeStrategy says how machines are replaced.
// +kubebuilder:validation:Enum=RollingUpdate;OnDelete
type UpgradeStrategy string

// Upgrade strategies.
const (
	UpgradeStrategyRollingUpdate UpgradeStrategy = "RollingUpdate"
	UpgradeStrategyOnDelete      UpgradeStrategy = "OnDelete"
)

// NodePoolManagement describes upgrades and repair.
// +kubebuilder:validation:XValidation:rule="!has(self.inPlace) || self.upgradeType == 'InPlace'",message="The 'inPlace' field can only be set when 'upgradeType' is 'InPlace'"
type NodePoolManagement struct {
	// upgradeType says whether nodes are replaced or changed in place.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="UpgradeType is immutable"
	// +required
	UpgradeType UpgradeType `json:"upgradeType"`
	// replace tunes the replacement.
	// +kubebuilder:default={strategy: "RollingUpdate", rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
	// +optional
	Replace *ReplaceUpgrade `json:"replace,omitempty"`
	// inPlace tunes the change in place.
	// +optional
	InPlace *InPlaceUpgrade `json:"inPlace,omitempty"`
	// autoRepair replaces unhealthy machines.
	// +kubebuilder:default=false
	// +optional
	AutoRepair bool `json:"autoRepair"`
}

// ReplaceUpgrade replaces machines.
// +kubebuilder:validation:XValidation:rule="!has(self.rollingUpdate) || !has(self.strategy) || self.strategy == 'RollingUpdate'",message="The 'rollingUpdate' field can only be set when 'strategy' is 'RollingUpdate'"
type ReplaceUpgrade struct {
	// strategy of the replacement.
	// +optional
	Strategy UpgradeStrategy `json:"strategy,omitempty"`
	// rollingUpdate bounds the rolling update.
	// +optional
	RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"`
}

// RollingUpdate bounds the replacement.
type RollingUpdate struct {
	// maxUnavailable nodes may be missing.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// maxSurge nodes may be there in addition.
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
}

// InPlaceUpgrade changes nodes where they are.
type InPlaceUpgrade struct {
	// maxUnavailable nodes are changed at a time; 1 when unset.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// Taint of every node of a pool.
type Taint struct {
	// key of the taint.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	// +required
	Key string `json:"key"`
	// value of the taint.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Value string `json:"value,omitempty"`
	// effect of the taint.
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	// +required
	Effect corev1.TaintEffect `json:"effect"`
}

// NodePoolStatus is the observed state.
type NodePoolStatus struct {
	// replicas counts available nodes.
	// +optional
	Replicas int32 `json:"replicas"`
	// version is the release version that every node has.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Version string `json:"version,omitempty"`
	// nodesInfo aggregates the nodes.
	// +optional
	NodesInfo *NodesInfo `json:"nodesInfo,omitempty"`
	// platform has content on other platforms only.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Platform *runtime.RawExtension `json:"platform,omitempty"`
	// conditions are listed in conditions.md.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Conditions []NodePoolCondition `json:"conditions,omitempty"`
}

// NodesInfo aggregates the nodes of a pool.
type NodesInfo struct {
	// nodeVersions counts the nodes by version.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +optional
	NodeVersions []NodeVersion `json:"nodeVersions,omitempty"`
}

// NodeVersion counts the nodes of one version.
type NodeVersion struct {
	// ocpVersion is the release version.
	// +optional
	OCPVersion string `json:"ocpVersion,omitempty"`
	// kubeletVersion is the kubelet's version.
	// +optional
	KubeletVersion string `json:"kubeletVersion,omitempty"`
	// readyNodeCount counts ready nodes.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ReadyNodeCount *int32 `json:"readyNodeCount,omitempty"`
	// unreadyNodeCount counts the others.
	// +kubebuilder:validation:Minimum=0
	// +optional
	UnreadyNodeCount *int32 `json:"unreadyNodeCount,omitempty"`
}

// NodePoolCondition differs from metav1.Condition by its severity and its looser rules.
type NodePoolCondition struct {
	// type of the condition.
	// +kubebuilder:validation:MaxLength=316
	// +required
	Type ConditionType `json:"type"`
	// status is True, False or Unknown.
	// +required
	Status corev1.ConditionStatus `json:"status"`
	// severity of a condition that is not True.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Severity string `json:"severity,omitempty"`
	// lastTransitionTime is when status changed last.
	// +required
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
	// reason in one word.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Reason string `json:"reason,omitempty"`
	// message for people.
	// +kubebuilder:validation:MaxLength=32768
	// +optional
	Message string `json:"message,omitempty"`
	// observedGeneration is the generation the condition speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}
