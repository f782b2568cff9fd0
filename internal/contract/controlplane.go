package contract

import "strings"

// ControlPlaneNamespace is where the control plane of the HostedCluster with this namespace and name runs.
func ControlPlaneNamespace(namespace, name string) string {
	return namespace + "-" + strings.ReplaceAll(name, ".", "-")
}

// ControlPlaneKinds are the resources of group hypershift.openshift.io that a control plane consists of. HostedClusters and NodePools are
// not among them: who runs in a control plane's namespace must not order another control plane in it.
func ControlPlaneKinds() []string {
	return []string{"hostedcontrolplanes", "controlplanecomponents", "azureprivatelinkservices", "certificatesigningrequestapprovals", "hcpetcdbackups"}
}
