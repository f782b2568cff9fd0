package pki

import (
	"net"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// openShiftLeaves are the certificates of programs that only payloads of OpenShift have.
func openShiftLeaves(p Params) []Leaf {
	serving := func(secret, cn string, hosts ...string) Leaf {
		return Leaf{Secret: secret, Signer: contract.RootCA, CN: cn, Orgs: []string{"openshift"}, Usages: both, Hosts: hosts, Kind: release.KindOpenShift}
	}
	served := func(secret, cn string, more ...string) Leaf {
		return serving(secret, cn, append(service(p, cn), more...)...)
	}
	authenticator := serving(contract.AuthenticatorCertificate, "system:serviceaccount:openshift-oauth-apiserver:openshift-authenticator")
	authenticator.Usages = client
	bootstrap := Leaf{Secret: APIBootstrapClient, Signer: BootstrapSigner, CN: "system:kas-bootstrap-container", Orgs: []string{"kubernetes"}, Usages: client, Kind: release.KindOpenShift}
	leaves := []Leaf{
		bootstrap,
		serving("openshift-apiserver-cert", contract.OpenShiftAPIServer, aggregated(p, contract.OpenShiftAPIServer)...),
		serving("openshift-oauth-apiserver-cert", contract.OAuthAPIServer, aggregated(p, contract.OAuthAPIServer)...),
		serving("packageserver-cert", "packageserver", aggregated(p, "packageserver")...),
		authenticator,
		served(contract.VersionOperatorCertificate, contract.VersionOperator, "localhost"),
		served(contract.TuningOperatorCertificate, contract.TuningService),
		served("catalog-operator-serving-cert", "catalog-operator-metrics"),
		served("olm-operator-serving-cert", "olm-operator-metrics"),
		serving("cluster-storage-operator-serving-cert", contract.StorageOperator, contract.StorageOperator, "localhost"),
		serving("csi-snapshot-controller-operator-serving-cert", contract.SnapshotOperator, contract.SnapshotOperator, "localhost"),
		serving(contract.RegistryOperator, contract.RegistryOperator, contract.RegistryOperator, "localhost"),
		served("multus-admission-controller-secret", contract.ImageMultus, "localhost"),
		served("network-node-identity-secret", contract.NetworkNodeIdentity, "localhost"),
		served("ovn-control-plane-metrics-cert", "ovn-kubernetes-control-plane", "localhost"),
	}
	for _, secret := range []string{"openshift-controller-manager-cert", "openshift-route-controller-manager-cert", "cluster-policy-controller-cert"} {
		// One identity serves all three.
		leaves = append(leaves, served(secret, contract.OpenShiftControllerManager))
	}
	for _, kind := range []string{"disk", "file"} {
		driver := "azure-" + kind + "-csi-driver-"
		leaves = append(leaves, served(driver+"operator-serving-cert", driver+"operator", "localhost"),
			served(driver+"controller-metrics-serving-cert", driver+"controller", "localhost"))
	}
	if p.OAuthHost != "" {
		hosts := []string{p.OAuthHost}
		if net.ParseIP(p.OAuthHost) == nil {
			hosts = append(hosts, contract.OAuthServer+"."+p.Namespace+".svc.cluster.local")
		}
		leaves = append(leaves, serving(contract.LoginCertificate, "openshift-oauth", hosts...))
	}
	return append(leaves, forwardingLeaves(p)...)
}

// forwardingLeaves are those of the programs that forward metrics.
func forwardingLeaves(p Params) []Leaf {
	leaf := func(name, signer string, more ...string) Leaf {
		return Leaf{Secret: name + "-serving-cert", Signer: signer, CN: name, Orgs: []string{"openshift"}, Usages: both, Hosts: append(service(p, name), more...),
			Kind: release.KindOpenShift, Forwarding: true}
	}
	leaves := []Leaf{leaf(contract.EndpointResolver, EndpointResolverCA)}
	if p.MetricsHost != "" {
		leaves = append(leaves, leaf(contract.MetricsProxy, contract.MetricsProxyCA, p.MetricsHost))
	}
	return leaves
}

// aggregated is the forms under which pods of the namespace, and the guest's API server, call an aggregated API server.
func aggregated(p Params, name string) []string {
	return append(service(p, name), name+".default.svc", name+".default.svc.cluster.local")
}
