package addons

// Workloads of the guest, by name; in kube-system.
const (
	KonnectivityAgentName = "konnectivity-agent"
	NodeManagerName       = "azure-cloud-node-manager"
	ProxyName             = "kube-proxy"
	DNSName               = "coredns"
)
