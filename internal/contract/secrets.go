package contract

// Secrets of a control plane's namespace.
const (
	// PullSecret is a Secret with the registries' credentials, key corev1.DockerConfigJsonKey.
	PullSecret = "pull-secret"
	// SSHKey is a Secret with the public key that machines let in.
	SSHKey = "ssh-key"
	// SigningKey is a Secret with the key pair that signs service account tokens.
	SigningKey        = "sa-signing-key"
	SigningPrivateKey = "service-account.key"
	SigningPublicKey  = "service-account.pub"
	// KMSConfig is a Secret with the configuration of the key vault's provider, key CloudConfigKey.
	KMSConfig = "azure-kms-config"
	// DiskConfig and FileConfig are Secrets with the configurations of the drivers of Azure's disks and files, key CloudConfigKey.
	DiskConfig = "azure-disk-csi-config"
	FileConfig = "azure-file-csi-config"
	// KubeadminPassword is a Secret with the password of the first administrator, key hyperv1.KubeadminPasswordKey; KubeadminHash on it is the
	// hash that the guest has of it.
	KubeadminPassword = "kubeadmin-password"
	KubeadminHash     = "hypershift.openshift.io/kubeadmin-secret-hash"
)

// Secrets with kubeconfigs, key KubeconfigKey.
const (
	// AdminKubeconfig is what the user gets, CustomAdminKubeconfig the same with the name that the user gives the API server.
	AdminKubeconfig       = "admin-kubeconfig"
	CustomAdminKubeconfig = "custom-admin-kubeconfig"
	// AdminClient is the Secret with the certificate of the administrator.
	AdminClient = "system-admin-client"
	// ServiceKubeconfig reaches the hosted API server by its Service, LocalhostKubeconfig from its own pod, as system:admin.
	ServiceKubeconfig   = "service-network-admin-kubeconfig"
	LocalhostKubeconfig = "localhost-kubeconfig"
	// BootstrapKubeconfig is what machines register with.
	BootstrapKubeconfig = "bootstrap-kubeconfig"
	// The other kubeconfigs are of the programs that they are named after.
	ConfigOperatorKubeconfig    = "hcco-kubeconfig"
	ControllerManagerKubeconfig = "kube-controller-manager-kubeconfig"
	SchedulerKubeconfig         = "kube-scheduler-kubeconfig"
	TokenMinterKubeconfig       = "token-minter-kubeconfig"
)

// Secrets with authorities.
const (
	// RootCA signs the serving certificates of a control plane. A ConfigMap of the same name has its certificate, key CAKey.
	RootCA = "root-ca"
	// CSRSigner signs what certificate requests of the guest ask for.
	CSRSigner = "cluster-signer-ca"
	// ControlPlaneSigner signs the certificates of the control plane's programs as clients.
	ControlPlaneSigner = "kube-control-plane-signer"
	// IgnitionCA signs the certificate of the ignition server.
	IgnitionCA = "ignition-server-ca-cert"
	// MetricsProxyCA signs the certificate of the proxy that forwards metrics.
	MetricsProxyCA = "metrics-proxy-ca-cert"
)

// Secrets with certificates, keys corev1.TLSCertKey and corev1.TLSPrivateKeyKey, but those of etcd and the tunnel.
const (
	// EtcdServerCertificate and EtcdPeerCertificate are those of etcd's members, EtcdClientCertificate that of who reads and writes, and
	// EtcdMetricsClientCertificate that of who may ask etcd for its metrics.
	EtcdServerCertificate        = "etcd-server-tls"
	EtcdPeerCertificate          = "etcd-peer-tls"
	EtcdClientCertificate        = "etcd-client-tls"
	EtcdMetricsClientCertificate = "etcd-metrics-client-tls"
	// APIPrivateCertificate is what the API server shows inside the control plane; with APIKubeletCertificate it calls kubelets, with
	// APIAggregatorCertificate aggregated API servers, and AuthenticatorCertificate the server that reviews tokens.
	APIPrivateCertificate    = "kas-server-private-crt"
	APIKubeletCertificate    = "kas-kubelet-client-crt"
	APIAggregatorCertificate = "kas-aggregator-crt"
	AuthenticatorCertificate = "openshift-authenticator-cert"
	// KonnectivityAgent is the certificate of the tunnel's agents; their workload in the guest has the same name. KonnectivityCluster is what
	// the tunnel's server shows them, and KonnectivityClient what the control plane's programs show the server.
	KonnectivityAgent   = "konnectivity-agent"
	KonnectivityCluster = "konnectivity-cluster"
	KonnectivityClient  = "konnectivity-client"
	// MetricsClient is the certificate with which Prometheus asks programs that ask for one. In the guest, which they ask in turn, ClusterRole
	// hypershift-metrics-client lets its user read metrics.
	MetricsClient = "metrics-client"
	// The other certificates are what the programs show that they are named after.
	ControllerManagerCertificate = "kcm-server"
	SchedulerCertificate         = "scheduler-server"
	LoginCertificate             = "oauth-server-crt"
	TuningOperatorCertificate    = "node-tuning-operator-tls"
	VersionOperatorCertificate   = "cvo-server"
)

// IngressCertificate is the Secret, in the namespace RouterNamespace of the guest, with what the default router shows, and the ConfigMap of
// ManagedNamespace with what signs it.
const IngressCertificate = "default-ingress-cert"

// Keys of Secrets and ConfigMaps.
const (
	CAKey         = "ca.crt"
	KubeconfigKey = "kubeconfig"
	// ValueKey is Cluster API's own: the kubeconfig of a Cluster, the user data of a Machine.
	ValueKey = "value"
	// AuditWebhookKey is the key of the user's Secret with the kubeconfig of the audit webhook.
	AuditWebhookKey = "webhook-kubeconfig"
)
