package contract

// ConfigMaps of a control plane's namespace.
const (
	// UserCABundle is a ConfigMap with the authorities that the user trusts, key CABundleKey.
	UserCABundle = "user-ca-bundle"
	CABundleKey  = "ca-bundle.crt"
	// TrustedCA is the ConfigMap that the management cluster fills with the authorities that pods trust, key CABundleKey.
	TrustedCA = "trusted-ca"
	// ManagedTrust is the ConfigMap with the authorities that the management cluster trusts, where that is OpenShift.
	ManagedTrust = "openshift-config-managed-trusted-ca-bundle"
	// KubeRootCA and ServiceCA are what Kubernetes and OpenShift put into every namespace; a change of them restarts nothing.
	KubeRootCA = "kube-root-ca.crt"
	ServiceCA  = "openshift-service-ca.crt"
	// CloudConfig is a ConfigMap, in the guest a Secret too, with the configuration of Azure's cloud provider, key CloudConfigKey.
	CloudConfig    = "azure-cloud-config"
	CloudConfigKey = "cloud.conf"
	// KonnectivityCABundle is a ConfigMap with the tunnel's authority, key CAKey.
	KonnectivityCABundle = "konnectivity-ca-bundle"
	// LoginCABundle is a ConfigMap with what signs the OAuth server's certificate, key CAKey.
	LoginCABundle = "oauth-master-ca-bundle"
	// EtcdCA and EtcdMetricsCA are ConfigMaps with what signs the certificates of etcd, and of who asks for its metrics, key CAKey.
	EtcdCA        = "etcd-ca"
	EtcdMetricsCA = "etcd-metrics-ca"
	// KubeletCA and KubeletClientCA are ConfigMaps with the authorities of kubelets' serving and client certificates, key CAKey.
	KubeletCA       = "kubelet-ca"
	KubeletClientCA = "kubelet-client-ca"
	// ClientCA and AggregatorClientCA are ConfigMaps with the authorities of the API server's clients, key CAKey.
	ClientCA           = "client-ca"
	AggregatorClientCA = "aggregator-client-ca"
	// TotalClientCA is the ConfigMap with the authorities of access for emergencies, key ClientCABundleKey, which ClientCA takes in.
	TotalClientCA     = "total-client-ca"
	ClientCABundleKey = "ca-bundle.crt"
	// ServiceAuthority is a ConfigMap with what signs the guest's Services, key ServiceAuthorityKey, once its operator has made it there.
	ServiceAuthority    = "service-serving-ca"
	ServiceAuthorityKey = "service-ca.crt"
	// ObservedIngressAuthority is a ConfigMap with what signs the certificate that the guest's default router shows, key CAKey.
	ObservedIngressAuthority = "observed-default-ingress-cert"
)

// ConfigMaps that configure programs.
const (
	// APIServerConfig, APIServerAudit and APIServerEgress configure the API server; AuthConfig says which tokens of others it takes, and
	// LoginMetadata where its users sign in.
	APIServerConfig = "kas-config"
	APIServerAudit  = "kas-audit-config"
	APIServerEgress = "kas-egress-selector-config"
	AuthConfig      = "auth-config"
	LoginMetadata   = "oauth-metadata"
	// FeatureGate has the gates of the payload, as its own program has rendered them. In the operator's namespace it says whether technology previews are on.
	FeatureGate = "feature-gate"
	// RegistryConfig configures the operator of the guest's registry.
	RegistryConfig = "image-registry-controller-config"
	// MachineConfigServer is a ConfigMap with what the machine-config programs of an OpenShift payload read of the cluster: each key is a file,
	// but ConfigurationHashKey, which has the hash of the HostedCluster's configuration that the others were made with.
	MachineConfigServer  = "machine-config-server"
	ConfigurationHashKey = "configuration-hash"
	// PoolTunedPrefix and PoolConfigPrefix begin the names of ConfigMaps by which OpenShift's node tuning operator learns of node pools.
	PoolTunedPrefix  = "tuned-"
	PoolConfigPrefix = "nodepool-config-"
	// ObservedConfigPrefix begins the names of ConfigMaps with objects of the guest's configuration as the config operator saw them, key config.
	ObservedConfigPrefix = "observed-config-"
	// MetricsProxyConfig says which programs the proxy of metrics forwards to, in key config.yaml, where it is, and whom its clients trust, in
	// CAKey.
	MetricsProxyConfig = "metrics-proxy-config"
	MetricsProxyHost   = "host"
)
