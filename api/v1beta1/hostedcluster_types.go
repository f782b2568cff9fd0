package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// HostedCluster is what a person writes to get a cluster: its control plane runs in namespace "<namespace>-<name>".
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:metadata:annotations="release.openshift.io/feature-set=Default"
// +kubebuilder:resource:path=hostedclusters,shortName=hc;hcs,scope=Namespaced
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".status.version.history[?(@.state==\"Completed\")].version"
// +kubebuilder:printcolumn:name="CP Version",type="string",JSONPath=".status.controlPlaneVersion.history[?(@.state==\"Completed\")].version"
// +kubebuilder:printcolumn:name="KubeConfig",type="string",JSONPath=".status.kubeconfig.name"
// +kubebuilder:printcolumn:name="Progress",type="string",JSONPath=".status.version.history[?(@.state!=\"\")].state"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type==\"Available\")].status"
// +kubebuilder:printcolumn:name="Progressing",type="string",JSONPath=".status.conditions[?(@.type==\"Progressing\")].status"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Available\")].message"
// +kubebuilder:printcolumn:name="CP Progress",type="string",JSONPath=".status.controlPlaneVersion.history[0].state",priority=1
// +kubebuilder:printcolumn:name="DP Progress",type="string",JSONPath=".status.version.history[0].state",priority=1
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec) || !has(oldSelf.spec.infraID) || (has(self.spec) && has(self.spec.infraID))",message="infraID cannot be removed once set"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec) || !has(oldSelf.spec.clusterID) || (has(self.spec) && has(self.spec.clusterID))",message="clusterID cannot be removed once set"
type HostedCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec HostedClusterSpec `json:"spec,omitempty"`
	// +optional
	Status HostedClusterStatus `json:"status,omitempty"`
}

// HostedClusterList is a list of HostedClusters.
// +kubebuilder:object:root=true
type HostedClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HostedCluster `json:"items"`
}

// HostedClusterSpec is the desired state.
// +kubebuilder:validation:XValidation:rule="self.platform.type == 'IBMCloud' ? size(self.services) >= 3 : size(self.services) >= 4",message="spec.services in body should have at least 4 items or 3 for IBMCloud"
// +kubebuilder:validation:XValidation:rule="self.platform.type != 'IBMCloud' ? self.services == oldSelf.services : true",message="Services is immutable. Changes might result in unpredictable and disruptive behavior."
// +kubebuilder:validation:XValidation:rule="self.platform.type != 'Azure' || !has(self.platform.azure) || self.platform.azure.azureAuthenticationConfig.azureAuthenticationConfigType != 'ManagedIdentities' || self.services.all(s, s.service != 'OAuthServer' || s.servicePublishingStrategy.type == 'Route')",message="Azure platform with ManagedIdentities requires OAuthServer to use Route publishing strategy"
// +kubebuilder:validation:XValidation:rule="self.platform.type != 'Azure' || !has(self.platform.azure) || self.platform.azure.azureAuthenticationConfig.azureAuthenticationConfigType != 'WorkloadIdentities' || self.services.all(s, s.service != 'OAuthServer' || s.servicePublishingStrategy.type in ['Route', 'LoadBalancer'])",message="Azure platform with WorkloadIdentities requires OAuthServer to use Route or LoadBalancer publishing strategy"
// +kubebuilder:validation:XValidation:rule="self.platform.type != 'Azure' || self.services.all(s, s.service != 'Konnectivity' || s.servicePublishingStrategy.type == 'Route')",message="Azure platform requires Konnectivity to use Route publishing strategy"
// +kubebuilder:validation:XValidation:rule="self.platform.type != 'Azure' || self.services.all(s, s.service != 'Ignition' || s.servicePublishingStrategy.type == 'Route')",message="Azure platform requires Ignition to use Route publishing strategy"
// +kubebuilder:validation:XValidation:rule="!has(self.serviceAccountSigningKey) || (has(self.issuerURL) && self.issuerURL != \"\")",message="If serviceAccountSigningKey is set, issuerURL must be set"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.secretEncryption) || has(self.secretEncryption)",message="secretEncryption cannot be removed once configured"
// +kubebuilder:validation:XValidation:rule="!has(self.operatorConfiguration) || !has(self.operatorConfiguration.clusterNetworkOperator) || !has(self.operatorConfiguration.clusterNetworkOperator.disableMultiNetwork) || !self.operatorConfiguration.clusterNetworkOperator.disableMultiNetwork || self.networking.networkType == 'Other'",message="disableMultiNetwork can only be set to true when networkType is 'Other'"
// +kubebuilder:validation:XValidation:rule="!has(self.operatorConfiguration) || !has(self.operatorConfiguration.clusterNetworkOperator) || !has(self.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig) || self.networking.networkType == 'OVNKubernetes'",message="ovnKubernetesConfig is forbidden when networkType is not OVNKubernetes"
// +kubebuilder:validation:XValidation:rule="!has(self.configuration) || !has(self.configuration.apiServer) || !has(self.configuration.apiServer.servingCerts) || !has(self.configuration.apiServer.servingCerts.namedCertificates) || self.configuration.apiServer.servingCerts.namedCertificates.all(c, !has(c.names) || self.services.all(s, s.service != 'APIServer' || !has(s.servicePublishingStrategy.loadBalancer) || !has(s.servicePublishingStrategy.loadBalancer.hostname) || !(s.servicePublishingStrategy.loadBalancer.hostname in c.names)))",message="APIServer loadBalancer hostname cannot be in ClusterConfiguration.apiserver.servingCerts.namedCertificates"
type HostedClusterSpec struct {
	// release is the payload of everything, and of the data plane's version.
	// +required
	Release Release `json:"release"`
	// controlPlaneRelease overrides release for components on the management side.
	// +optional
	ControlPlaneRelease *Release `json:"controlPlaneRelease,omitempty"`
	// clusterID is generated when unset.
	// +kubebuilder:validation:MinLength=36
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$')",message="clusterID must be an RFC4122 UUID value (xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx in hexadecimal values)"
	// +kubebuilder:validation:XValidation:rule="oldSelf == \"\" || self == oldSelf",message="clusterID is immutable"
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// infraID is part of the names of cloud resources; generated when unset.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="infraID must consist of lowercase alphanumeric characters or '-', start and end with an alphanumeric character"
	// +kubebuilder:validation:XValidation:rule="oldSelf == \"\" || self == oldSelf",message="infraID is immutable"
	// +optional
	InfraID string `json:"infraID,omitempty"`
	// updateService is the preferred update service.
	// +kubebuilder:validation:XValidation:rule="isURL(self)",message="updateService must be a valid absolute URL"
	// +optional
	UpdateService string `json:"updateService,omitempty"`
	// channel is the update channel.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +optional
	Channel string `json:"channel,omitempty"`
	// platform is where the workers run.
	// +required
	Platform PlatformSpec `json:"platform"`
	// kubeAPIServerDNSName is a further name of the API server; it makes a Secret <name>-custom-admin-kubeconfig.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == \"\" || self.matches('^(?:[a-zA-Z0-9-]+\\\\.)+[a-zA-Z]{2,}$') || self.matches('^[a-zA-Z0-9-]+$')",message="kubeAPIServerDNSName must be a valid domain name"
	// +optional
	KubeAPIServerDNSName string `json:"kubeAPIServerDNSName,omitempty"`
	// controllerAvailabilityPolicy says how many replicas the control plane has.
	// +kubebuilder:default=HighlyAvailable
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ControllerAvailabilityPolicy is immutable"
	// +optional
	ControllerAvailabilityPolicy AvailabilityPolicy `json:"controllerAvailabilityPolicy,omitempty"`
	// infrastructureAvailabilityPolicy says how many replicas infrastructure on the workers has.
	// +kubebuilder:default=SingleReplica
	// +optional
	InfrastructureAvailabilityPolicy AvailabilityPolicy `json:"infrastructureAvailabilityPolicy,omitempty"`
	// dns says where the records of the cluster live.
	// +optional
	DNS DNSSpec `json:"dns,omitempty,omitzero"`
	// networking describes the networks.
	// +kubebuilder:default={networkType: "OVNKubernetes", clusterNetwork: {{cidr: "10.132.0.0/14"}}, serviceNetwork: {{cidr: "172.31.0.0/16"}}}
	// +required
	Networking ClusterNetworking `json:"networking"`
	// autoscaling tunes the cluster autoscaler.
	// +optional
	Autoscaling ClusterAutoscaling `json:"autoscaling,omitempty"`
	// etcd describes the storage of the control plane.
	// +kubebuilder:default={managementType: "Managed", managed: {storage: {type: "PersistentVolume", persistentVolume: {size: "8Gi"}}}}
	// +required
	Etcd EtcdSpec `json:"etcd,omitempty,omitzero"`
	// services says how the endpoints of the control plane are published.
	// +kubebuilder:validation:MaxItems=6
	// +listType=atomic
	// +required
	Services []ServicePublishingStrategyMapping `json:"services"`
	// pullSecret names a Secret with key .dockerconfigjson.
	// +required
	PullSecret corev1.LocalObjectReference `json:"pullSecret"`
	// sshKey names a Secret with key id_rsa.pub.
	// +optional
	SSHKey corev1.LocalObjectReference `json:"sshKey,omitempty"`
	// issuerURL is the issuer of service account tokens.
	// +kubebuilder:default="https://kubernetes.default.svc"
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="isURL(self)",message="issuerURL must be a valid absolute URL"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="issuerURL is immutable"
	// +optional
	IssuerURL string `json:"issuerURL,omitempty"`
	// serviceAccountSigningKey names a Secret with key "key", an RSA private key in PEM.
	// +optional
	ServiceAccountSigningKey *corev1.LocalObjectReference `json:"serviceAccountSigningKey,omitempty"`
	// configuration passes OpenShift's configuration to the hosted cluster.
	// +optional
	Configuration *ClusterConfiguration `json:"configuration,omitempty"`
	// operatorConfiguration configures operators inside the hosted cluster.
	// +optional
	OperatorConfiguration *OperatorConfiguration `json:"operatorConfiguration,omitempty"`
	// auditWebhook names a Secret with key webhook-kubeconfig.
	// +optional
	AuditWebhook *corev1.LocalObjectReference `json:"auditWebhook,omitempty"`
	// imageContentSources lists mirrors of image repositories.
	// +kubebuilder:validation:MaxItems=255
	// +listType=atomic
	// +optional
	ImageContentSources []ImageContentSource `json:"imageContentSources,omitempty"`
	// additionalTrustBundle names a ConfigMap with key ca-bundle.crt.
	// +optional
	AdditionalTrustBundle *corev1.LocalObjectReference `json:"additionalTrustBundle,omitempty"`
	// secretEncryption describes the encryption of Secrets in etcd.
	// +optional
	SecretEncryption *SecretEncryptionSpec `json:"secretEncryption,omitempty"`
	// fips asks for validated cryptography.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="fips is immutable"
	// +optional
	FIPS bool `json:"fips"`
	// pausedUntil is a time or a boolean.
	// +kubebuilder:validation:MinLength=4
	// +kubebuilder:validation:MaxLength=35
	// +kubebuilder:validation:XValidation:rule="self in ['true', 'false', 'True', 'False'] || self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}.*')",message="PausedUntil must be a date in RFC3339 format or 'True', 'true', 'False' or 'false'"
	// +optional
	PausedUntil *string `json:"pausedUntil,omitempty"`
	// olmCatalogPlacement says where catalogs run.
	// +kubebuilder:default=management
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="OLMCatalogPlacement is immutable"
	// +optional
	OLMCatalogPlacement OLMCatalogPlacement `json:"olmCatalogPlacement,omitempty"`
	// nodeSelector of control-plane pods.
	// +kubebuilder:validation:XValidation:rule="size(self) <= 20",message="nodeSelector map can have at most 20 entries"
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// tolerations of control-plane pods.
	// +kubebuilder:validation:MaxItems=25
	// +listType=atomic
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// labels of control-plane pods.
	// +kubebuilder:validation:XValidation:rule="size(self) <= 20",message="labels map can have at most 20 entries"
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// capabilities switches optional parts on and off.
	// +kubebuilder:default={}
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Capabilities is immutable. Changes might result in unpredictable and disruptive behavior."
	// +optional
	Capabilities *Capabilities `json:"capabilities,omitempty"`
	// monitoring selects metric sets.
	// +optional
	Monitoring *Monitoring `json:"monitoring,omitempty"`
	// autoNode is carried unchanged: no platform of this project provisions nodes by itself.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	AutoNode *runtime.RawExtension `json:"autoNode,omitempty"`
}

// PlatformSpec discriminates the platform; only the Azure member is acted on.
type PlatformSpec struct {
	// type says which platform it is.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Type is immutable"
	// +required
	Type PlatformType `json:"type"`
	// azure describes the platform Azure.
	// +optional
	Azure *AzurePlatformSpec `json:"azure,omitempty"`
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

// HostedClusterStatus is the observed state.
type HostedClusterStatus struct {
	// version is the state of the data plane's version.
	// +optional
	Version *ClusterVersionStatus `json:"version,omitempty"`
	// controlPlaneVersion is the state of the management side's version.
	// +optional
	ControlPlaneVersion *ControlPlaneVersionStatus `json:"controlPlaneVersion,omitempty"`
	// lastSuccessfulEtcdBackupURL is where the newest backup of etcd lies.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^(https|s3)://`
	// +optional
	LastSuccessfulEtcdBackupURL string `json:"lastSuccessfulEtcdBackupURL,omitempty"`
	// kubeconfig names the Secret with the administrator's kubeconfig, in this namespace.
	// +optional
	KubeConfig *corev1.LocalObjectReference `json:"kubeconfig,omitempty"`
	// customKubeconfig names the Secret with the kubeconfig for spec.kubeAPIServerDNSName.
	// +optional
	CustomKubeconfig *corev1.LocalObjectReference `json:"customKubeconfig,omitempty"`
	// kubeadminPassword names the Secret with the password; absent when OAuth is configured.
	// +optional
	KubeadminPassword *corev1.LocalObjectReference `json:"kubeadminPassword,omitempty"`
	// ignitionEndpoint is host[:port].
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	IgnitionEndpoint string `json:"ignitionEndpoint,omitempty"`
	// controlPlaneEndpoint is where the API server is reached.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty"`
	// oauthCallbackURLTemplate is what identity providers redirect to.
	// +optional
	OAuthCallbackURLTemplate string `json:"oauthCallbackURLTemplate,omitempty"`
	// payloadArch is the architecture of the payload.
	// +kubebuilder:validation:Enum=Multi;ARM64;AMD64;PPC64LE;S390X
	// +optional
	PayloadArch string `json:"payloadArch,omitempty"`
	// platform has content on other platforms only.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Platform *runtime.RawExtension `json:"platform,omitempty"`
	// configuration reports on the configuration.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Configuration *runtime.RawExtension `json:"configuration,omitempty"`
	// secretEncryption reports which key encrypts Secrets in etcd.
	// +optional
	SecretEncryption *SecretEncryptionStatus `json:"secretEncryption,omitempty"`
	// autoNode has content on other platforms only.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	AutoNode *runtime.RawExtension `json:"autoNode,omitempty"`
	// conditions are listed in conditions.md.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
