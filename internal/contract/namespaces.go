package contract

// Namespaces of a guest, and of an OpenShift that is a management cluster. A program whose namespace is called as it is has its name alone.
const (
	AuthenticationNamespace    = "openshift-authentication"
	CloudControllerNamespace   = "openshift-cloud-controller-manager"
	ConfigNamespace            = "openshift-config"
	ManagedNamespace           = "openshift-config-managed"
	ControllerManagerNamespace = "openshift-kube-controller-manager"
	DNSNamespace               = "openshift-dns"
	DNSOperatorNamespace       = "openshift-dns-operator"
	// DriverNamespace has the accounts of storage drivers and their pods on nodes.
	DriverNamespace           = "openshift-cluster-csi-drivers"
	EtcdNamespace             = "openshift-etcd"
	InfraNamespace            = "openshift-infra"
	IngressOperatorNamespace  = "openshift-ingress-operator"
	APIServerNamespace        = "openshift-kube-apiserver"
	APIOperatorNamespace      = "openshift-kube-apiserver-operator"
	LifecycleManagerNamespace = "openshift-operator-lifecycle-manager"
	MachineApproverNamespace  = "openshift-cluster-machine-approver"
	MarketplaceNamespace      = "openshift-marketplace"
	MonitoringNamespace       = "openshift-monitoring"
	UserMonitoringNamespace   = "openshift-user-workload-monitoring"
	NetworkOperatorNamespace  = "openshift-network-operator"
	RegistryNamespace         = "openshift-image-registry"
	RouterNamespace           = "openshift-ingress"
	SchedulerNamespace        = "openshift-kube-scheduler"
	TuningNamespace           = "openshift-cluster-node-tuning-operator"
)

// RouteControllers is the account of RouteManager in its namespace.
const RouteControllers = "openshift-route-controllers"
