// Package guest keeps the inside of a hosted cluster: the add-ons of a plain Kubernetes payload, the rights its nodes need, labels
// and taints of nodes, and what the control plane learns from in there.
package guest

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
)

const (
	kubeSystem = "kube-system"
	// FieldManager owns what this operator applies.
	FieldManager = "hosted-cluster-config-operator"
	managedBy    = "hosted-cluster-config-operator"
)

// Facts is what the objects of a guest depend on.
type Facts struct {
	// HCP is the hosted control plane itself, Version that of its release.
	HCP     *hyperv1.HostedControlPlane
	Version string
	// PullSecret is the user's, as nodes have it; Copies are objects that the control plane has and the guest sees.
	PullSecret []byte
	Copies     []client.Object
	// Images maps payload keys to pull specs as nodes see them.
	Images map[string]string
	// PodCIDR and ServiceCIDR are the first networks; DNSAddress is the tenth address of the second.
	PodCIDR, ServiceCIDR, DNSAddress string
	// APIAddress and APIPort are where nodes and pods find the API server: the node-local proxy.
	APIAddress string
	APIPort    int32
	// KonnectivityHost and KonnectivityPort are the published endpoint of the tunnel.
	KonnectivityHost string
	KonnectivityPort int32
	// KonnectivityCA, KonnectivityCert and KonnectivityKey let an agent in, PEM.
	KonnectivityCA, KonnectivityCert, KonnectivityKey string
	// RootCA signs what the control plane serves, PEM.
	RootCA string
	// Ingress is how the default router is published, empty where that is not known; IngressCert and IngressKey are what it shows, PEM.
	Ingress                 component.IngressScope
	IngressCert, IngressKey string
	// OwnNetwork: the user installs the network plugin.
	OwnNetwork bool
	// HighlyAvailable is the infrastructure's policy.
	HighlyAvailable bool
}

// factsOf reads what the hosted control plane itself knows.
func factsOf(hcp *hyperv1.HostedControlPlane) (*Facts, error) {
	networking := hcp.Spec.Networking
	if len(networking.ClusterNetwork) == 0 || len(networking.ServiceNetwork) == 0 {
		return nil, fmt.Errorf("HostedControlPlane %s has no cluster or service network", hcp.Name)
	}
	// With a strategy that the router does not know there is none; condition IngressDNSReady says why.
	ingress, err := component.DefaultIngress(hcp)
	if err != nil {
		ingress.Scope = ""
	}
	facts := &Facts{
		HCP: hcp, Ingress: ingress.Scope,
		PodCIDR:         string(networking.ClusterNetwork[0].CIDR),
		ServiceCIDR:     string(networking.ServiceNetwork[0].CIDR),
		APIAddress:      ignition.DefaultAdvertiseAddress,
		APIPort:         ignition.DefaultAdvertisePort,
		HighlyAvailable: hcp.Spec.InfrastructureAvailabilityPolicy != hyperv1.SingleReplica,
	}
	if server := networking.APIServer; server != nil {
		if server.AdvertiseAddress != nil {
			facts.APIAddress = *server.AdvertiseAddress
		}
		if server.Port != nil {
			facts.APIPort = *server.Port
		}
	}
	facts.DNSAddress, err = ignition.ClusterDNS(facts.ServiceCIDR)
	return facts, err
}
