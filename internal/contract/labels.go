package contract

// Labels and annotations of others' contracts.
const (
	// AppLabel names the program of a pod of Kubernetes' own.
	AppLabel = "k8s-app"
	// ClusterNameLabel marks the objects of Cluster API that belong to a Cluster.
	ClusterNameLabel = "cluster.x-k8s.io/cluster-name"
	// PausedAnnotation keeps Cluster API's controllers from an object.
	PausedAnnotation = "cluster.x-k8s.io/paused"
	// PolicyGroupLabel marks the namespaces of routers, which network policies let in: PolicyGroupIngress.
	PolicyGroupLabel   = "network.openshift.io/policy-group"
	PolicyGroupIngress = "ingress"
	// InjectTrustLabel asks OpenShift to fill a ConfigMap with the authorities that the management cluster trusts.
	InjectTrustLabel = "config.openshift.io/inject-trusted-cabundle"
	// ClusterMonitoringLabel has OpenShift's monitoring look at a namespace.
	ClusterMonitoringLabel = "openshift.io/cluster-monitoring"
	// PodSecuritySyncLabel says whether OpenShift derives a namespace's level of pod security from its accounts.
	PodSecuritySyncLabel = "security.openshift.io/scc.podSecurityLabelSync"
	// ManagementWorkload, an annotation of pods, tells OpenShift which CPUs they prefer.
	ManagementWorkload = "target.workload.openshift.io/management"
)

// Labels and annotations of this project that no user sets.
const (
	// OpenToControlPlanesLabel with value "true" opens a namespace of the management cluster to the pods of control planes but API servers
	// and routers. Their programs reach a registry that runs there, which network policies close to them otherwise.
	OpenToControlPlanesLabel = "hypershift.openshift.io/open-to-control-planes"
	// StartedWithLabel of a Node whose pool is updated in place is the hash of the configuration that its machine started with. The Machine does
	// not tell: Cluster API gives all Machines of a set the name of the user data that new ones get.
	StartedWithLabel = "hypershift.openshift.io/started-with-config"
	// KubeletConfigLabel marks the configurations of kubelets that node pools have from their users, MirroredLabel what follows the control
	// plane in the guest.
	KubeletConfigLabel = "hypershift.openshift.io/kubeletconfig-config"
	MirroredLabel      = "hypershift.openshift.io/mirrored-config"
	// SignerPrefix begins the names of signers of certificates for emergencies.
	SignerPrefix = "hypershift.openshift.io/"
)
