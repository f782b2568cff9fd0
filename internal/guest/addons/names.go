package addons

import (
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// Workloads of the guest, by name; in kube-system.
const (
	KonnectivityAgentName = contract.KonnectivityAgent
	NodeManagerName       = inside.NodeManagerName
	ProxyName             = contract.KubeProxy
	DNSName               = "coredns"
)
