package contract

// Environment variables of clients of Azure.
const (
	AzureClientIDEnv           = "AZURE_CLIENT_ID"
	AzureTenantIDEnv           = "AZURE_TENANT_ID"
	AzureFederatedTokenFileEnv = "AZURE_FEDERATED_TOKEN_FILE"
	// AzureCredentialFileEnv has the path of the configuration that storage drivers read.
	AzureCredentialFileEnv = "AZURE_CREDENTIAL_FILE"
)

// Environment variables of the command line.
const (
	// AzureCredsEnv has the path of the file with the user's Azure credentials.
	AzureCredsEnv = "AZURE_CREDS"
	// DNSResolverEnv has the DNS server to ask where the system's sees another world, as on a machine with a sandbox.
	DNSResolverEnv = "HYPERSHIFT_DNS_RESOLVER"
)

// Environment variables of hypershift-operator and control-plane-operator.
const (
	// NamespaceEnv has the namespace of the pod it is set in.
	NamespaceEnv = "MY_NAMESPACE"
	// CertificateScaleEnv shortens the lives of certificates for tests: the length of a day, such as "24m".
	CertificateScaleEnv = "CERT_ROTATION_SCALE"
	// CertificateValidityEnv and CertificateRenewalEnv have how long certificates live, and when they are made anew.
	CertificateValidityEnv = "CERTIFICATE_VALIDITY"
	CertificateRenewalEnv  = "CERTIFICATE_RENEWAL"
	// MetricsSetEnv says which series of the control planes' programs are kept, MonitoringDashboardsEnv whether dashboards are made.
	MetricsSetEnv           = "METRICS_SET"
	MonitoringDashboardsEnv = "MONITORING_DASHBOARDS"
	// FeatureSetEnv says which technology previews are installed.
	FeatureSetEnv = "HYPERSHIFT_FEATURESET"
	// BackupMaxCountEnv tells a control-plane-operator how many successful HCPEtcdBackups stay; DefaultBackupMaxCount where it is not set.
	BackupMaxCountEnv     = "ETCD_BACKUP_MAX_COUNT"
	DefaultBackupMaxCount = 5
	// OwnReleaseEnv has the release that control planes run.
	OwnReleaseEnv = "OPERATE_ON_RELEASE_IMAGE"
	// IngressDomainEnv has the domain of applications of the management cluster.
	IngressDomainEnv = "DEFAULT_INGRESS_DOMAIN"
	// SecurityContextUIDEnv has the user that a control plane's pods run as.
	SecurityContextUIDEnv = "DEFAULT_SECURITY_CONTEXT_UID"
	// The other variables have images.
	ControlPlaneOperatorImageEnv = "CONTROL_PLANE_OPERATOR_IMAGE"
	ClusterAPIImageEnv           = "IMAGE_CLUSTER_API"
	AzureProviderImageEnv        = "IMAGE_AZURE_CAPI_PROVIDER"
	KonnectivityImageEnv         = "IMAGE_KONNECTIVITY"
	TokenMinterImageEnv          = "TOKEN_MINTER_IMAGE"
)

// Environment variables that programs of several payload images read.
const (
	HTTPProxyEnv  = "HTTP_PROXY"
	HTTPSProxyEnv = "HTTPS_PROXY"
	NoProxyEnv    = "NO_PROXY"

	PodNameEnv      = "POD_NAME"
	PodNamespaceEnv = "POD_NAMESPACE"
	NodeNameEnv     = "NODE_NAME"

	ReleaseVersionEnv       = "RELEASE_VERSION"
	PayloadVersionEnv       = "PAYLOAD_VERSION"
	OperatorImageVersionEnv = "OPERATOR_IMAGE_VERSION"
	OperatorNameEnv         = "OPERATOR_NAME"
	WatchNamespaceEnv       = "WATCH_NAMESPACE"
	RBACProxyImageEnv       = "KUBE_RBAC_PROXY_IMAGE"
	// AdminKubeconfigEnv has the path of the kubeconfig by which the bootstrap of an API server is the administrator.
	AdminKubeconfigEnv = "KUBECONFIG_ADMIN"
)
