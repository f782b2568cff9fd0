package pki

import (
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Identity is a service account of the guest as which a program of the control plane works there, with rights of its own: programs
// that look at what guests write hold no more.
type Identity struct {
	// Kubeconfig is the Secret that the program mounts.
	Kubeconfig string
	// Namespace and Name are the service account's.
	Namespace, Name string

	certificate string
	// kind of payload that has the program; empty means every kind.
	kind release.Kind
}

// User is how the hosted API server knows it.
func (i Identity) User() string { return "system:serviceaccount:" + i.Namespace + ":" + i.Name }

// Identities of programs of the control plane.
var (
	MachineApprover = Identity{
		Kubeconfig: "machine-approver-service-account-kubeconfig", certificate: "machine-approver-client",
		Namespace: contract.MachineApproverNamespace, Name: "machine-approver-sa",
	}
	CloudControllerManager = Identity{
		Kubeconfig: "azure-cloud-controller-manager-service-account-kubeconfig", certificate: "azure-cloud-controller-manager-client",
		Namespace: contract.CloudControllerNamespace, Name: contract.CloudControllerManager,
	}
	// DiskDriver is the account that the disk identity is federated with, too.
	DiskDriver = Identity{
		Kubeconfig: "azure-disk-csi-driver-controller-service-account-kubeconfig", certificate: "azure-disk-csi-driver-controller-client",
		Namespace: contract.DriverNamespace, Name: "azure-disk-csi-driver-controller-sa",
	}
	DNSOperator = Identity{
		Kubeconfig: "dns-operator-service-account-kubeconfig", certificate: "dns-operator-client",
		Namespace: contract.DNSOperatorNamespace, Name: contract.DNSOperator, kind: release.KindOpenShift,
	}
	IngressOperator = Identity{
		Kubeconfig: "ingress-operator-service-account-kubeconfig", certificate: "ingress-operator-client",
		Namespace: contract.IngressOperatorNamespace, Name: contract.IngressOperator, kind: release.KindOpenShift,
	}
)

var identities = []Identity{MachineApprover, CloudControllerManager, DiskDriver, DNSOperator, IngressOperator}

func identityLeaves() []Leaf {
	var leaves []Leaf
	for _, i := range identities {
		leaves = append(leaves, Leaf{Secret: i.certificate, Signer: contract.CSRSigner, CN: i.User(), Usages: client,
			Orgs: []string{"system:serviceaccounts:" + i.Namespace, "system:serviceaccounts"}, Kind: i.kind})
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
