package pki

import (
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Names of what Azure's webhook for pods runs with; see the component kube-apiserver.
const (
	APIServing        = "kas-server-crt"
	WebhookServing    = "azure-workload-identity-webhook-serving-cert"
	WebhookClient     = "azure-workload-identity-webhook-client"
	WebhookKubeconfig = "azure-workload-identity-webhook-kubeconfig"
)

// MetricsServing is the certificate of the guest's server of resource metrics.
const MetricsServing = "metrics-server-serving-cert"

// IngressServing is the default certificate of the guest's ingress.
const IngressServing = "ingress-crt"

// guestServiceLeaves are certificates of what serves the guest itself.
func guestServiceLeaves(p Params) []Leaf {
	leaves := []Leaf{
		{Secret: WebhookServing, Signer: contract.RootCA, CN: "127.0.0.1", Usages: both, Hosts: []string{"127.0.0.1"}},
		{Secret: MetricsServing, Signer: contract.RootCA, CN: contract.MetricsServer, Orgs: []string{"openshift"}, Usages: both,
			Hosts: []string{contract.MetricsServer + ".kube-system.svc", contract.MetricsServer + ".kube-system.svc.cluster.local"}},
		serviceAccountClient(WebhookClient, contract.AuthenticationNamespace, contract.WorkloadIdentityWebhook),
	}
	if p.AppsDomain != "" {
		leaves = append(leaves, Leaf{Secret: IngressServing, Signer: contract.RootCA, CN: contract.RouterNamespace, Orgs: []string{"openshift"}, Usages: both,
			Hosts: []string{"*." + p.AppsDomain}})
	}
	return leaves
}

// serviceAccountClient lets a program of the control plane act as a service account of the guest.
func serviceAccountClient(secret, namespace, name string) Leaf {
	return Leaf{Secret: secret, Signer: contract.CSRSigner, CN: "system:serviceaccount:" + namespace + ":" + name, Usages: client,
		Orgs: []string{"system:serviceaccounts:" + namespace, "system:serviceaccounts"}}
}
