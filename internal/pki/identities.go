package pki

import (
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Identity is a service account of the guest as which a program of the control plane works there, with rights of its own: programs
// that look at what guests write hold no more.
type Identity struct {
	// Kubeconfig is the Secret that the program mounts.
	Kubeconfig string
	// Namespace and Name are the service account's.
	Namespace, Name string

	certificate string
}

// User is how the hosted API server knows it.
func (i Identity) User() string { return "system:serviceaccount:" + i.Namespace + ":" + i.Name }

// Identities of programs of the control plane.
var (
	MachineApprover = Identity{
		Kubeconfig: "machine-approver-service-account-kubeconfig", certificate: "machine-approver-client",
		Namespace: "openshift-cluster-machine-approver", Name: "machine-approver-sa",
	}
	CloudControllerManager = Identity{
		Kubeconfig: "azure-cloud-controller-manager-service-account-kubeconfig", certificate: "azure-cloud-controller-manager-client",
		Namespace: "openshift-cloud-controller-manager", Name: contract.CloudControllerManager,
	}
)

var identities = []Identity{MachineApprover, CloudControllerManager}

func identityLeaves() []Leaf {
	var leaves []Leaf
	for _, i := range identities {
		leaves = append(leaves, Leaf{Secret: i.certificate, Signer: CSRSigner, CN: i.User(), Usages: client,
			Orgs: []string{"system:serviceaccounts:" + i.Namespace, "system:serviceaccounts"}})
	}
	return leaves
}

func identityKubeconfigs(server string) []Kubeconfig {
	var configs []Kubeconfig
	for _, i := range identities {
		configs = append(configs, Kubeconfig{Secret: i.Kubeconfig, Server: server, Client: i.certificate})
	}
	return configs
}
