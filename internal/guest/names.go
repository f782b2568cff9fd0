package guest

// Workloads of the guest, by name; in kube-system.
const (
	konnectivityAgentName = "konnectivity-agent"
	nodeManagerName       = "azure-cloud-node-manager"
	proxyName             = "kube-proxy"
	dnsName               = "coredns"
)
