package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ClusterConfiguration passes the Spec of config.openshift.io/v1 types to the hosted cluster. Members this project acts
// on are typed; the others are carried unchanged. The schemas of all are OpenShift's (hack/crdschema).
// +kubebuilder:validation:XValidation:rule="!has(self.oauth) || !has(self.oauth.tokenConfig) || !has(self.oauth.tokenConfig.accessTokenInactivityTimeout) || duration(self.oauth.tokenConfig.accessTokenInactivityTimeout).getSeconds() >= 300",message="spec.configuration.oauth.tokenConfig.accessTokenInactivityTimeout minimum acceptable token timeout value is 300 seconds"
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

// IngressOperatorSpec configures the default ingress controller.
type IngressOperatorSpec struct {
	// endpointPublishingStrategy is that of operator.openshift.io/v1, carried unchanged.
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
