// Package contract has the names that packages of this project agree on: objects, their keys, labels, environment variables and
// addresses. The names that users set (annotations, labels of the API) are in api/v1beta1; a name that one package alone uses stays in it.
package contract

// Secrets and ConfigMaps of a control plane's namespace.
const (
	// PullSecret is a Secret with the registries' credentials, key corev1.DockerConfigJsonKey.
	PullSecret = "pull-secret"
	// SSHKey is a Secret with the public key that machines let in.
	SSHKey = "ssh-key"
	// SigningKey is a Secret with the key pair that signs service account tokens.
	SigningKey        = "sa-signing-key"
	SigningPrivateKey = "service-account.key"
	SigningPublicKey  = "service-account.pub"
	// UserCABundle is a ConfigMap with the authorities that the user trusts, key CABundleKey.
	UserCABundle = "user-ca-bundle"
	CABundleKey  = "ca-bundle.crt"
	// CloudConfig is a ConfigMap, in the guest a Secret too, with the configuration of Azure's cloud provider, key CloudConfigKey.
	CloudConfig    = "azure-cloud-config"
	CloudConfigKey = "cloud.conf"
	// KMSConfig is a Secret with the configuration of the key vault's provider, key CloudConfigKey.
	KMSConfig = "azure-kms-config"
	// KonnectivityCABundle is a ConfigMap with the tunnel's authority, key CAKey.
	KonnectivityCABundle = "konnectivity-ca-bundle"
	// LoginCABundle is a ConfigMap with what signs the OAuth server's certificate, key CAKey.
	LoginCABundle = "oauth-master-ca-bundle"
	// KubeadminPassword is a Secret with the password of the first administrator, key hyperv1.KubeadminPasswordKey; KubeadminHash on it is the
	// hash that the guest has of it.
	KubeadminPassword = "kubeadmin-password"
	KubeadminHash     = "hypershift.openshift.io/kubeadmin-secret-hash"
	// MachineConfigServer is a ConfigMap with what the machine-config programs of an OpenShift payload read of the cluster: each key is a file,
	// but ConfigurationHashKey, which has the hash of the HostedCluster's configuration that the others were made with.
	MachineConfigServer  = "machine-config-server"
	ConfigurationHashKey = "configuration-hash"
	// PoolTunedPrefix and PoolConfigPrefix begin the names of ConfigMaps by which OpenShift's node tuning operator learns of node pools.
	PoolTunedPrefix  = "tuned-"
	PoolConfigPrefix = "nodepool-config-"
	// KubeletCA and KubeletClientCA are ConfigMaps with the authorities of kubelets' serving and client certificates, key CAKey.
	KubeletCA       = "kubelet-ca"
	KubeletClientCA = "kubelet-client-ca"
	// ClientCA and AggregatorClientCA are ConfigMaps with the authorities of the API server's clients, key CAKey.
	ClientCA           = "client-ca"
	AggregatorClientCA = "aggregator-client-ca"
	// TotalClientCA is the ConfigMap with the authorities of access for emergencies, key ClientCABundleKey, which ClientCA takes in.
	TotalClientCA     = "total-client-ca"
	ClientCABundleKey = "ca-bundle.crt"
	// KonnectivityAgent is a Secret with the certificate of the tunnel's agents; their workload in the guest has the same name.
	KonnectivityAgent = "konnectivity-agent"
	// AdminKubeconfig is a Secret with the kubeconfig that the user gets, key KubeconfigKey, AdminClient one with its certificate.
	AdminKubeconfig = "admin-kubeconfig"
	AdminClient     = "system-admin-client"
	// BootstrapKubeconfig is a Secret with the kubeconfig that machines register with, key KubeconfigKey.
	BootstrapKubeconfig = "bootstrap-kubeconfig"
	// ConfigOperatorKubeconfig is a Secret with the kubeconfig of ConfigOperator, key KubeconfigKey.
	ConfigOperatorKubeconfig = "hcco-kubeconfig"
	// ObservedConfigPrefix begins the names of ConfigMaps with objects of the guest's configuration as the config operator saw them, key config.
	ObservedConfigPrefix = "observed-config-"
	// ServiceAuthority is a ConfigMap with what signs the guest's Services, key ServiceAuthorityKey, once its operator has made it there.
	ServiceAuthority    = "service-serving-ca"
	ServiceAuthorityKey = "service-ca.crt"
	// ObservedIngressAuthority is a ConfigMap with what signs the certificate that the guest's default router shows, key CAKey.
	ObservedIngressAuthority = "observed-default-ingress-cert"
	// TokenMinterKubeconfig is a Secret with the kubeconfig of the token minter, key KubeconfigKey.
	TokenMinterKubeconfig = "token-minter-kubeconfig"
)

// Keys of Secrets and ConfigMaps.
const (
	CAKey         = "ca.crt"
	KubeconfigKey = "kubeconfig"
	// ValueKey is Cluster API's own: the kubeconfig of a Cluster, the user data of a Machine.
	ValueKey = "value"
)

// Workloads of a control plane, and the services and accounts that are called as they are.
const (
	Etcd                   = "etcd"
	EtcdClientService      = "etcd-client"
	EtcdDiscoveryService   = "etcd-discovery"
	APIServer              = "kube-apiserver"
	ControllerManager      = "kube-controller-manager"
	OpenShiftAPIServer     = "openshift-apiserver"
	OAuthAPIServer         = "openshift-oauth-apiserver"
	OAuthServer            = "oauth-openshift"
	PackageServer          = "packageserver"
	Scheduler              = "kube-scheduler"
	CloudControllerManager = "cloud-controller-manager"
	ControlPlaneOperator   = "control-plane-operator"
	ConfigOperator         = "hosted-cluster-config-operator"
	IgnitionServer         = "ignition-server"
	// IgnitionTokens is the Role with the server's rights on tokens of node pools, by their names.
	IgnitionTokens     = "ignition-server-tokens"
	ClusterAPI         = "cluster-api"
	ClusterAPIProvider = "capi-provider"
	MachineApprover    = "machine-approver"
	MetricsProxy       = "metrics-proxy"
	PKIOperator        = "control-plane-pki-operator"
	ClusterAutoscaler  = "cluster-autoscaler"
	// WorkloadIdentityWebhook mutates guest pods that use a workload identity.
	WorkloadIdentityWebhook = "azure-workload-identity-webhook"
)

// Storage and metrics of a guest: keys of payloads that both halves of a driver are made of, and where it lives in the guest.
const (
	DiskDriver         = "azure-disk-csi-driver"
	SnapshotController = "csi-snapshot-controller"
	CSILivenessProbe   = "csi-livenessprobe"
	// StorageOperator is OpenShift's, which brings drivers of its own.
	StorageOperator = "cluster-storage-operator"
	// MetricsServer is the Service of the guest's kube-system that tells what pods and nodes use.
	MetricsServer = "metrics-server"
	// DriverNamespace of the guest has the accounts of drivers and their pods on nodes.
	DriverNamespace = "openshift-cluster-csi-drivers"
)

// Service account of the guest as which machines register.
const (
	BootstrapNamespace = "openshift-machine-config-operator"
	BootstrapAccount   = "node-bootstrapper"
	// BootstrapUser is how the API server of the guest knows it.
	BootstrapUser = "system:serviceaccount:" + BootstrapNamespace + ":" + BootstrapAccount
)

// Labels and annotations of others' contracts.
const (
	// ClusterNameLabel marks the objects of Cluster API that belong to a Cluster.
	ClusterNameLabel = "cluster.x-k8s.io/cluster-name"
	// PausedAnnotation keeps Cluster API's controllers from an object.
	PausedAnnotation = "cluster.x-k8s.io/paused"
	// PolicyGroupLabel marks the namespaces of routers, which network policies let in: PolicyGroupIngress.
	PolicyGroupLabel   = "network.openshift.io/policy-group"
	PolicyGroupIngress = "ingress"
	// InjectTrustLabel asks OpenShift to fill a ConfigMap with the authorities that the management cluster trusts.
	InjectTrustLabel = "config.openshift.io/inject-trusted-cabundle"
)

// OpenToControlPlanesLabel with value "true" opens a namespace of the management cluster to the pods of control planes but API servers
// and routers. Their programs reach a registry that runs there, which network policies close to them otherwise.
const OpenToControlPlanesLabel = "hypershift.openshift.io/open-to-control-planes"

// Environment variables.
const (
	AzureClientID           = "AZURE_CLIENT_ID"
	AzureTenantID           = "AZURE_TENANT_ID"
	AzureFederatedTokenFile = "AZURE_FEDERATED_TOKEN_FILE"
	// PodNamespace has the namespace of the pod it is set in.
	PodNamespace = "MY_NAMESPACE"
	// CertificateScale shortens the lives of certificates for tests: the length of a day, such as "24m".
	CertificateScale = "CERT_ROTATION_SCALE"
)

// OAuthCallback is the path, below that of the OAuth server, to which identity providers send users back.
const OAuthCallback = "/oauth2callback/[identity-provider-name]"

// DefaultAdvertiseAddress is where a guest's nodes reach their API server when the HostedCluster names no address, IPv4.
const DefaultAdvertiseAddress = "172.20.0.1"

// CloudTokenAudience is the audience of tokens that Entra exchanges.
const CloudTokenAudience = "api://AzureADTokenExchange"

// InPlaceUpdates is the Secret of a control-plane namespace in which each node pool whose machines are changed in place says where they find
// what they are to be, under InPlaceUpdateKey.
const InPlaceUpdates = "in-place-updates"

// StartedWithLabel of a Node whose pool is updated in place is the hash of the configuration that its machine started with. The Machine does
// not tell: Cluster API gives all Machines of a set the name of the user data that new ones get.
const StartedWithLabel = "hypershift.openshift.io/started-with-config"

// InPlaceUpdateKey is the key of a node pool and the hash of its target configuration. The name of such a pool has no dot.
func InPlaceUpdateKey(pool, target string) string { return pool + "." + target }

// PoolToken is the Secret of a control-plane namespace with a node pool's token for a configuration; of a pool that the payload's own daemon
// changes in place it has that configuration, too.
func PoolToken(pool, target string) string { return "token-" + pool + "-" + target }

// InPlaceTokens is the Role by which ConfigOperator reads those Secrets that have a configuration, by their names.
const InPlaceTokens = ConfigOperator + "-tokens"

// What forwards metrics: the Secret with the authority of the proxy's certificate, and the ConfigMap that says which programs there are, in key
// config.yaml, where the proxy is, and whom its clients trust, in CAKey.
const (
	MetricsProxyCA     = "metrics-proxy-ca-cert"
	MetricsProxyConfig = "metrics-proxy-config"
	MetricsProxyHost   = "host"
)
