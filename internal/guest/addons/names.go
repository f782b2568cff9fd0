package addons

import "github.com/hypershift-on-azure/hypershift/internal/contract"

// Workloads of the guest, by name; in kube-system.
const (
	KonnectivityAgentName = contract.KonnectivityAgent
	NodeManagerName       = "azure-cloud-node-manager"
	ProxyName             = "kube-proxy"
	DNSName               = "coredns"
)
