package cluster

import (
	"fmt"
	"slices"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/ports"
)

var (
	localPorts = []ports.Port{tcp(Azure, "127.0.0.1:"+names.ProxyPort)}
	edgePorts  = []ports.Port{
		tcp(Azure, names.EdgeIP+":"+names.ProxyPort), tcp(Azure, names.EdgeIP+":443"), tcp(Azure, names.EdgeIP+":53"), udp(Azure, names.EdgeIP+":53"),
	}
	clusterPorts = []ports.Port{
		tcp(Registry, names.RegistryAddr), tcp(OwnRegistry, names.OwnRegistryAddr), tcp(etcd, "127.0.0.1:2379"), tcp(etcd, "127.0.0.1:2380"), tcp(etcd, "127.0.0.1:2381"),
		tcp(controllerManager, "127.0.0.1:10257"), tcp(scheduler, "127.0.0.1:10259"), tcp(cloudController, "127.0.0.1:10258"),
		tcp(Router, names.RouterIP+":443"), tcp(APIServer, names.EdgeIP+":"+names.APIPort), tcp(Kubelet, names.EdgeIP+":10250"),
		tcp(Kubelet, "127.0.0.1:10248"), tcp(kubeProxy, "127.0.0.1:10249"), tcp(kubeProxy, "127.0.0.1:10256"),
	}
)

func tcp(part, address string) ports.Port {
	return ports.Port{Part: part, Network: "tcp", Address: address}
}

func udp(part, address string) ports.Port {
	return ports.Port{Part: part, Network: "udp", Address: address}
}

// BusyPorts returns a finding for each port that somebody else listens on.
// Ports of parts in running, by process number, are their own.
func BusyPorts(azureOnly bool, running map[string]int) []string {
	needed := localPorts
	if !azureOnly {
		needed = slices.Concat(localPorts, edgePorts, clusterPorts)
	}
	var findings []string
	for _, p := range needed {
		if running[p.Part] == 0 && p.Busy() {
			findings = append(findings, fmt.Sprintf("%s (%s), which the part %s needs, is taken by %s: stop that program", p.Address, p.Network, p.Part, p.Holder()))
		}
	}
	return findings
}

// EdgeIsFree tells whether Azure, or the process that is Azure already, can listen on the edge.
func EdgeIsFree(azure int) bool {
	return !slices.ContainsFunc(edgePorts, func(p ports.Port) bool { return p.Busy() && (azure == 0 || p.Holder().PID != azure) })
}
