package contract

// Workloads of a control plane, and the services, accounts and payload keys that are called as they are.
const (
	Etcd                 = "etcd"
	EtcdClientService    = "etcd-client"
	EtcdDiscoveryService = "etcd-discovery"
	// EtcdDefragmenter is a subcommand of etcd-helper, and the Lease and Role of it.
	EtcdDefragmenter           = "etcd-defrag-controller"
	APIServer                  = "kube-apiserver"
	ControllerManager          = "kube-controller-manager"
	OpenShiftAPIServer         = "openshift-apiserver"
	OpenShiftControllerManager = "openshift-controller-manager"
	RouteManager               = "openshift-route-controller-manager"
	PolicyController           = "cluster-policy-controller"
	OAuthAPIServer             = "openshift-oauth-apiserver"
	OAuthServer                = "oauth-openshift"
	PackageServer              = "packageserver"
	Scheduler                  = "kube-scheduler"
	CloudControllerManager     = "cloud-controller-manager"
	// AzureControllerManager is Azure's CloudControllerManager, AzureNodeManager its part that runs on nodes.
	AzureControllerManager = "azure-cloud-controller-manager"
	AzureNodeManager       = "azure-cloud-node-manager"
	ControlPlaneOperator   = "control-plane-operator"
	ConfigOperator         = "hosted-cluster-config-operator"
	IgnitionServer         = "ignition-server"
	// IgnitionTokens is the Role with the server's rights on tokens of node pools, by their names.
	IgnitionTokens     = "ignition-server-tokens"
	ClusterAPI         = "cluster-api"
	ClusterAPIProvider = "capi-provider"
	MachineApprover    = "machine-approver"
	MetricsProxy       = "metrics-proxy"
	EndpointResolver   = "endpoint-resolver"
	PKIOperator        = "control-plane-pki-operator"
	ClusterAutoscaler  = "cluster-autoscaler"
	// WorkloadIdentityWebhook mutates guest pods that use a workload identity.
	WorkloadIdentityWebhook = "azure-workload-identity-webhook"
	// KonnectivityServer is the Service of the tunnel for the guest's agents, and its certificate; KonnectivityLocal is the one for the control
	// plane.
	KonnectivityServer = "konnectivity-server"
	KonnectivityLocal  = "konnectivity-server-local"
	// PrivateRouter is the Service of the router of a control plane in the virtual network.
	PrivateRouter = "private-router"
)

// Operators of OpenShift that run in a control plane, called as their payload keys are unless images.go has one.
const (
	DNSOperator      = "dns-operator"
	IngressOperator  = "ingress-operator"
	NetworkOperator  = "cluster-network-operator"
	RegistryOperator = "cluster-image-registry-operator"
	SnapshotOperator = "csi-snapshot-controller-operator"
	// StorageOperator brings drivers of its own.
	StorageOperator = "cluster-storage-operator"
	TuningOperator  = "cluster-node-tuning-operator"
	// TuningService is the Service of TuningOperator.
	TuningService   = "node-tuning-operator"
	VersionOperator = "cluster-version-operator"
	VersionMigrator = "kube-storage-version-migrator"
	// NetworkNodeIdentity is the workload of NetworkOperator that approves the certificates of nodes' networks.
	NetworkNodeIdentity = "network-node-identity"
)

// Storage, network and metrics of a guest: keys of payloads that both halves of a program are made of.
const (
	DiskDriver         = "azure-disk-csi-driver"
	FileDriver         = "azure-file-csi-driver"
	SnapshotController = "csi-snapshot-controller"
	CSILivenessProbe   = "csi-livenessprobe"
	KubeProxy          = "kube-proxy"
	// MetricsServer is the Service of the guest's kube-system that tells what pods and nodes use.
	MetricsServer = "metrics-server"
)

// Service account of the guest as which machines register.
const (
	BootstrapNamespace = "openshift-machine-config-operator"
	BootstrapAccount   = "node-bootstrapper"
	// BootstrapUser is how the API server of the guest knows it.
	BootstrapUser = "system:serviceaccount:" + BootstrapNamespace + ":" + BootstrapAccount
)

// Names of the installation in the management cluster.
const (
	// Operator is what runs HostedClusters, OperatorLease the Lease of its leader, OperatorRouter the router of a plain Kubernetes.
	Operator       = "hypershift-operator"
	OperatorLease  = "hypershift-operator-leader-elect"
	OperatorRouter = "hypershift-router"
	// ExternalDNS publishes the names of hosted clusters.
	ExternalDNS = "external-dns"
	// SupportedVersions is the ConfigMap that tells what the operator can run: ServerVersionKey its commit, PayloadKindsKey kinds of payloads.
	SupportedVersions = "supported-versions"
	ServerVersionKey  = "server-version"
	PayloadKindsKey   = "payload-kinds"
	// ReleaseSignatureKeys is the ConfigMap with the keys that sign payloads.
	ReleaseSignatureKeys = "release-signature-keys"
	// ConversionCertificate is the Secret with what the server shows that converts versions of Cluster API's kinds, ConversionCA the one with
	// its authority and, under CABundleKey, every authority that may still have signed a certificate in use.
	ConversionCertificate = "manager-serving-cert"
	ConversionCA          = "webhook-serving-ca"
	// Priority classes of pods of control planes.
	PriorityControlPlane = "hypershift-control-plane"
	PriorityAPICritical  = "hypershift-api-critical"
	PriorityEtcd         = "hypershift-etcd"
)

// Names of Kubernetes and of its monitoring.
const (
	// NodeCritical is the priority class of what a node cannot be without.
	NodeCritical = "system-node-critical"
	// AuthenticationReader is the Role, in kube-system, of API servers that ask who their clients are.
	AuthenticationReader = "extension-apiserver-authentication-reader"
	// ClusterAdmin is the ClusterRole with every right.
	ClusterAdmin = "cluster-admin"
	// PlatformPrometheus and UserPrometheus are the accounts of OpenShift's two Prometheus, in MonitoringNamespace and UserMonitoringNamespace.
	PlatformPrometheus = "prometheus-k8s"
	UserPrometheus     = "prometheus-user-workload"
)
