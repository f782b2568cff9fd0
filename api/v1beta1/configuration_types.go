package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ClusterConfiguration passes the Spec of config.openshift.io/v1 types to the hosted cluster. Members this project acts
// on are typed; the others are carried unchanged. The schemas of all are OpenShift's (hack/crdschema).
// +kubebuilder:validation:XValidation:rule="!has(self.oauth) || !has(self.oauth.tokenConfig) || !has(self.oauth.tokenConfig.accessTokenInactivityTimeout) || duration(self.oauth.tokenConfig.accessTokenInactivityTimeout).getSeconds() >= 300",message="spec.configuration.oauth.tokenConfig.accessTokenInactivityTimeout minimum acceptable token timeout value is 300 seconds"
type ClusterConfiguration struct {
	// apiServer is the Spec of config.openshift.io/v1 APIServer.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	APIServer *runtime.RawExtension `json:"apiServer,omitempty"`
	// authentication is the Spec of config.openshift.io/v1 Authentication.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Authentication *runtime.RawExtension `json:"authentication,omitempty"`
	// featureGate is the Spec of config.openshift.io/v1 FeatureGate.
	// +optional
	FeatureGate *FeatureGateSpec `json:"featureGate,omitempty"`
	// image is the Spec of config.openshift.io/v1 Image.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Image *runtime.RawExtension `json:"image,omitempty"`
	// ingress is the Spec of config.openshift.io/v1 Ingress.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Ingress *runtime.RawExtension `json:"ingress,omitempty"`
	// network is the Spec of config.openshift.io/v1 Network.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Network *runtime.RawExtension `json:"network,omitempty"`
	// oauth is the Spec of config.openshift.io/v1 OAuth; setting it removes the kubeadmin password.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	OAuth *runtime.RawExtension `json:"oauth,omitempty"`
	// operatorhub is the Spec of config.openshift.io/v1 OperatorHub.
	// +optional
	OperatorHub *OperatorHubSpec `json:"operatorhub,omitempty"`
	// scheduler is the Spec of config.openshift.io/v1 Scheduler.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Scheduler *runtime.RawExtension `json:"scheduler,omitempty"`
	// proxy is the Spec of config.openshift.io/v1 Proxy.
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
	// clusterNetworkOperator configures the network operator.
	// +optional
	ClusterNetworkOperator *ClusterNetworkOperatorSpec `json:"clusterNetworkOperator,omitempty"`
	// ingressOperator configures the ingress operator.
	// +optional
	IngressOperator *IngressOperatorSpec `json:"ingressOperator,omitempty"`
}

// ClusterNetworkOperatorSpec configures the network operator.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.ovnKubernetesConfig) || has(self.ovnKubernetesConfig)",message="ovnKubernetesConfig cannot be removed once set"
type ClusterNetworkOperatorSpec struct {
	// disableMultiNetwork leaves out Multus.
	// +kubebuilder:default=false
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="disableMultiNetwork is immutable"
	// +optional
	DisableMultiNetwork *bool `json:"disableMultiNetwork,omitempty"`
	// ovnKubernetesConfig configures OVN.
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
	// metricsSet is the set of metrics that is collected from this control plane.
	// +kubebuilder:validation:Enum=Telemetry;SRE;All
	// +optional
	MetricsSet string `json:"metricsSet,omitempty"`
	// metricsForwarding forwards metrics into the hosted cluster.
	// +optional
	MetricsForwarding *MetricsForwarding `json:"metricsForwarding,omitempty"`
}

// MetricsForwarding forwards control-plane metrics into the hosted cluster.
type MetricsForwarding struct {
	// mode switches the forwarding.
	// +kubebuilder:validation:Enum=Forward;None
	// +required
	Mode string `json:"mode"`
	// metricsSet is the set that is forwarded.
	// +kubebuilder:validation:Enum=Telemetry;SRE;All
	// +optional
	MetricsSet string `json:"metricsSet,omitempty"`
}
