package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// HostedControlPlane is the HostedCluster as the control-plane operator sees it. Only the HostedCluster controller writes
// its spec. It fulfils the control-plane contract of Cluster API.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:metadata:annotations="release.openshift.io/feature-set=Default"
// +kubebuilder:resource:path=hostedcontrolplanes,shortName=hcp;hcps,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta1=v1beta1"
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
type HostedControlPlane struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec HostedControlPlaneSpec `json:"spec,omitempty"`
	// +optional
	Status HostedControlPlaneStatus `json:"status,omitempty"`
}

// HostedControlPlaneList is a list of HostedControlPlanes.
// +kubebuilder:object:root=true
type HostedControlPlaneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HostedControlPlane `json:"items"`
}

// HostedControlPlaneSpec is the desired state, copied from a HostedCluster.
// +kubebuilder:validation:XValidation:rule="self.platform.type == 'IBMCloud' ? size(self.services) >= 3 : size(self.services) >= 4",message="spec.services in body should have at least 4 items or 3 for IBMCloud"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.secretEncryption) || has(self.secretEncryption)",message="secretEncryption cannot be removed once configured"
// +kubebuilder:validation:XValidation:rule="!has(self.operatorConfiguration) || !has(self.operatorConfiguration.clusterNetworkOperator) || !has(self.operatorConfiguration.clusterNetworkOperator.disableMultiNetwork) || !self.operatorConfiguration.clusterNetworkOperator.disableMultiNetwork || (has(self.networking) && self.networking.networkType == 'Other')",message="disableMultiNetwork can only be set to true when networkType is 'Other'"
type HostedControlPlaneSpec struct {
	// releaseImage is the payload of the cluster.
	// +kubebuilder:validation:MaxLength=255
	// +required
	ReleaseImage string `json:"releaseImage"`
	// controlPlaneReleaseImage overrides releaseImage for the management side.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	ControlPlaneReleaseImage *string `json:"controlPlaneReleaseImage,omitempty"`
	// +optional
	UpdateService string `json:"updateService,omitempty"`
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Channel string `json:"channel,omitempty"`
	// +required
	PullSecret corev1.LocalObjectReference `json:"pullSecret"`
	// +kubebuilder:validation:MaxLength=255
	// +required
	IssuerURL string `json:"issuerURL"`
	// +optional
	Networking ClusterNetworking `json:"networking,omitempty"`
	// +required
	SSHKey corev1.LocalObjectReference `json:"sshKey"`
	// +kubebuilder:validation:MaxLength=255
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// +kubebuilder:validation:MaxLength=255
	// +required
	InfraID string `json:"infraID"`
	// +required
	Platform PlatformSpec `json:"platform"`
	// +required
	DNS DNSSpec `json:"dns"`
	// +optional
	ServiceAccountSigningKey *corev1.LocalObjectReference `json:"serviceAccountSigningKey,omitempty"`
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == \"\" || self.matches('^(?:[a-zA-Z0-9-]+\\\\.)+[a-zA-Z]{2,}$') || self.matches('^[a-zA-Z0-9-]+$')",message="kubeAPIServerDNSName must be a valid domain name"
	// +optional
	KubeAPIServerDNSName string `json:"kubeAPIServerDNSName,omitempty"`
	// +kubebuilder:default=HighlyAvailable
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ControllerAvailabilityPolicy is immutable"
	// +optional
	ControllerAvailabilityPolicy AvailabilityPolicy `json:"controllerAvailabilityPolicy,omitempty"`
	// +kubebuilder:default=SingleReplica
	// +optional
	InfrastructureAvailabilityPolicy AvailabilityPolicy `json:"infrastructureAvailabilityPolicy,omitempty"`
	// +optional
	FIPS bool `json:"fips"`
	// kubeconfig overrides the name and key of the administrator's kubeconfig Secret.
	// +optional
	KubeConfig *KubeconfigSecretRef `json:"kubeconfig,omitempty"`
	// +kubebuilder:validation:MaxItems=6
	// +listType=atomic
	// +required
	Services []ServicePublishingStrategyMapping `json:"services"`
	// +optional
	AuditWebhook *corev1.LocalObjectReference `json:"auditWebhook,omitempty"`
	// +required
	Etcd EtcdSpec `json:"etcd"`
	// +optional
	Configuration *ClusterConfiguration `json:"configuration,omitempty"`
	// +optional
	OperatorConfiguration *OperatorConfiguration `json:"operatorConfiguration,omitempty"`
	// +kubebuilder:validation:MaxItems=255
	// +listType=atomic
	// +optional
	ImageContentSources []ImageContentSource `json:"imageContentSources,omitempty"`
	// +optional
	AdditionalTrustBundle *corev1.LocalObjectReference `json:"additionalTrustBundle,omitempty"`
	// +optional
	SecretEncryption *SecretEncryptionSpec `json:"secretEncryption,omitempty"`
	// +kubebuilder:validation:MaxLength=255
	// +optional
	PausedUntil *string `json:"pausedUntil,omitempty"`
	// +kubebuilder:default=management
	// +optional
	OLMCatalogPlacement OLMCatalogPlacement `json:"olmCatalogPlacement,omitempty"`
	// +optional
	Autoscaling ClusterAutoscaling `json:"autoscaling,omitempty"`
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// +kubebuilder:validation:MaxItems=25
	// +listType=atomic
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// +kubebuilder:validation:XValidation:rule="size(self) <= 20",message="labels map can have at most 20 entries"
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// +kubebuilder:default={}
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Capabilities is immutable. Changes might result in unpredictable and disruptive behavior."
	// +optional
	Capabilities *Capabilities `json:"capabilities,omitempty"`
	// +optional
	Monitoring *Monitoring `json:"monitoring,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	AutoNode *runtime.RawExtension `json:"autoNode,omitempty"`
}

// HostedControlPlaneStatus is the observed state.
type HostedControlPlaneStatus struct {
	// ready is the Cluster API contract: the API server is usable.
	// +kubebuilder:default=false
	// +required
	Ready bool `json:"ready"`
	// initialized becomes true after the first full reconcile and never false again.
	// +kubebuilder:default=false
	// +required
	Initialized bool `json:"initialized"`
	// externalManagedControlPlane tells Cluster API that there are no control-plane machines.
	// +kubebuilder:default=true
	// +optional
	ExternalManagedControlPlane *bool `json:"externalManagedControlPlane,omitempty"`
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty"`
	// +optional
	OAuthCallbackURLTemplate string `json:"oauthCallbackURLTemplate,omitempty"`
	// versionStatus is the state of the data plane's version.
	// +optional
	VersionStatus *ClusterVersionStatus `json:"versionStatus,omitempty"`
	// +optional
	ControlPlaneVersion *ControlPlaneVersionStatus `json:"controlPlaneVersion,omitempty"`
	// version is deprecated: use versionStatus. Cluster API reads it.
	// +optional
	Version string `json:"version,omitempty"`
	// releaseImage is deprecated: use versionStatus.
	// +optional
	ReleaseImage string `json:"releaseImage,omitempty"`
	// lastReleaseImageTransitionTime is when releaseImage changed last.
	// +optional
	LastReleaseImageTransitionTime *metav1.Time `json:"lastReleaseImageTransitionTime,omitempty"`
	// kubeConfig names the Secret with the administrator's kubeconfig.
	// +optional
	KubeConfig *KubeconfigSecretRef `json:"kubeConfig,omitempty"`
	// customKubeconfig names the Secret with the kubeconfig for spec.kubeAPIServerDNSName.
	// +optional
	CustomKubeconfig *KubeconfigSecretRef `json:"customKubeconfig,omitempty"`
	// +optional
	KubeadminPassword *corev1.LocalObjectReference `json:"kubeadminPassword,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Platform *runtime.RawExtension `json:"platform,omitempty"`
	// nodeCount counts the nodes of the hosted cluster.
	// +optional
	NodeCount *int `json:"nodeCount,omitempty"`
	// +optional
	SecretEncryption *SecretEncryptionStatus `json:"secretEncryption,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Configuration *runtime.RawExtension `json:"configuration,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
