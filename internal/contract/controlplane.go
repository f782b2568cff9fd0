package contract

import "strings"

// ControlPlaneNamespace is where the control plane of the HostedCluster with this namespace and name runs.
func ControlPlaneNamespace(namespace, name string) string {
	return namespace + "-" + strings.ReplaceAll(name, ".", "-")
}
