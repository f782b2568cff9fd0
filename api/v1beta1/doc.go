// Package v1beta1 holds the API of hosted clusters: HostedCluster, NodePool, HostedControlPlane and
// ControlPlaneComponent. The wire format is that of the hypershift.openshift.io group; the package carries data and
// validation markers only, no logic.
//
// +kubebuilder:object:generate=true
// +groupName=hypershift.openshift.io
// +groupGoName=Hypershift
package v1beta1
