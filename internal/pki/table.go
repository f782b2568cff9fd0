package pki

import (
	"crypto/x509"
	"fmt"
	"net/netip"
	"slices"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Params are the facts the certificates' names depend on. An endpoint that is not known yet is empty: the certificates that
// carry it are then left out, and made as soon as it is known.
type Params struct {
	// Namespace is the control-plane namespace, Name the hosted control plane's.
	Namespace, Name string
	ServiceCIDRs    []string
	// AdvertiseAddress is where the hosted API server is inside the guest.
	AdvertiseAddress string
	// APIHost, KonnectivityHost and IgnitionHost are the published endpoints: host names or addresses.
	APIHost, KonnectivityHost, IgnitionHost string
	// AppsDomain is where the guest's applications are published.
	AppsDomain string
	// OAuthHost is where users log in.
	OAuthHost string
	// Forwarding: the control plane's metrics are forwarded, from MetricsHost.
	Forwarding  bool
	MetricsHost string
	// Payload is the kind of the release's payload.
	Payload release.Kind
	// ExtraAPIHosts are further names of the API server.
	ExtraAPIHosts []string
}

// InternalAPIHost is the API server's name inside private networks.
func (p Params) InternalAPIHost() string { return "api." + p.Name + ".hypershift.local" }

var (
	client = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	server = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	both   = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
)

// Leaves is HyperShift's table of certificates, as far as a component of ours uses it.
func Leaves(p Params) ([]Leaf, error) {
	leaves := slices.Concat(clientLeaves(), identityLeaves(), internalLeaves(p), guestServiceLeaves(p), openShiftLeaves(p))
	hosts, err := apiServerHosts(p)
	if err != nil {
		return nil, err
	}
	leaves = append(leaves, Leaf{Secret: APIServing, Signer: contract.RootCA, CN: "kubernetes", Orgs: []string{"kubernetes"}, Usages: server, Hosts: hosts})
	if p.KonnectivityHost != "" {
		leaves = append(leaves, Leaf{Secret: contract.KonnectivityCluster, Signer: KonnectivitySigner, CN: contract.KonnectivityServer,
			Orgs: []string{"kubernetes"}, Usages: server, Hosts: append(service(p, contract.KonnectivityServer), p.KonnectivityHost)})
	}
	if p.IgnitionHost != "" {
		leaves = append(leaves, Leaf{Secret: contract.IgnitionServer, Signer: contract.IgnitionCA, CN: contract.IgnitionServer,
			Orgs: []string{"openshift"}, Usages: both, Hosts: []string{p.IgnitionHost}})
	}
	return slices.DeleteFunc(leaves, func(l Leaf) bool { return l.Kind != "" && l.Kind != p.Payload || l.Forwarding && !p.Forwarding }), nil
}

func clientLeaves() []Leaf {
	kubernetes := func(secret, signer, cn string) Leaf {
		return Leaf{Secret: secret, Signer: signer, CN: cn, Orgs: []string{"kubernetes"}, Usages: client}
	}
	etcdClient := kubernetes(contract.EtcdClientCertificate, EtcdSigner, contract.EtcdClientService)
	etcdClient.CertKey, etcdClient.KeyKey = "etcd-client.crt", "etcd-client.key"
	etcdMetrics := kubernetes(contract.EtcdMetricsClientCertificate, EtcdMetricsSigner, "etcd-metrics-client")
	metrics := kubernetes(contract.MetricsClient, contract.CSRSigner, "system:serviceaccount:hypershift:prometheus")
	admin := kubernetes(contract.AdminClient, AdminSigner, "system:admin")
	admin.Orgs = []string{"system:masters"}
	hcco := kubernetes("hcco-client", HCCOSigner, "system:hosted-cluster-config")
	hcco.Orgs = []string{"kubernetes", "system:serviceaccounts:openshift"}
	bootstrap := kubernetes("kas-bootstrap-client", contract.CSRSigner, contract.BootstrapUser)
	bootstrap.Orgs = []string{"system:serviceaccounts:openshift-machine-config-operator", "system:serviceaccounts"}
	bootstrap.Brief = true
	return []Leaf{
		etcdClient, etcdMetrics, metrics, admin, hcco, bootstrap,
		kubernetes(contract.APIKubeletCertificate, KubeletClientSigner, "system:kube-apiserver"),
		kubernetes(contract.APIAggregatorCertificate, AggregatorSigner, "system:openshift-aggregator"),
		kubernetes("kube-scheduler-client", contract.ControlPlaneSigner, "system:kube-scheduler"),
		kubernetes(contract.ControllerManager, contract.ControlPlaneSigner, "system:kube-controller-manager"),
		kubernetes(contract.KonnectivityClient, KonnectivitySigner, contract.KonnectivityClient),
		kubernetes(contract.KonnectivityAgent, KonnectivitySigner, contract.KonnectivityAgent),
	}
}

func internalLeaves(p Params) []Leaf {
	discovery := []string{"*.etcd-discovery." + p.Namespace + ".svc", "*.etcd-discovery." + p.Namespace + ".svc.cluster.local"}
	etcdHosts := append(service(p, contract.EtcdClientService), "localhost")
	return []Leaf{
		{Secret: contract.APIPrivateCertificate, Signer: contract.RootCA, CN: "kubernetes-private", Orgs: []string{"kubernetes"}, Usages: server,
			Hosts: service(p, contract.APIServer)},
		{Secret: contract.EtcdServerCertificate, Signer: EtcdSigner, CN: "etcd-server", Orgs: []string{"kubernetes"}, Usages: both,
			Hosts: append(etcdHosts, discovery...), CertKey: "server.crt", KeyKey: "server.key"},
		{Secret: contract.EtcdPeerCertificate, Signer: EtcdSigner, CN: contract.EtcdDiscoveryService, Orgs: []string{"kubernetes"}, Usages: both,
			Hosts: append([]string{"127.0.0.1", "::1"}, discovery...), CertKey: "peer.crt", KeyKey: "peer.key"},
		{Secret: contract.KonnectivityServer, Signer: KonnectivitySigner, CN: contract.KonnectivityLocal, Orgs: []string{"kubernetes"}, Usages: server,
			Hosts: append(service(p, contract.KonnectivityLocal), "localhost", "127.0.0.1")},
		{Secret: contract.ControllerManagerCertificate, Signer: contract.RootCA, CN: contract.ControllerManager, Orgs: []string{"openshift"}, Usages: both,
			Hosts: append(service(p, contract.ControllerManager), "localhost")},
		{Secret: contract.SchedulerCertificate, Signer: contract.RootCA, CN: contract.Scheduler, Orgs: []string{"openshift"}, Usages: both,
			Hosts: append(service(p, contract.Scheduler), "localhost")},
	}
}

// service is the forms under which pods of the namespace, and of others, call a Service.
func service(p Params, name string) []string {
	return []string{name, name + "." + p.Namespace + ".svc", name + "." + p.Namespace + ".svc.cluster.local"}
}

func apiServerHosts(p Params) ([]string, error) {
	hosts := []string{"localhost"}
	for _, name := range []string{"kubernetes", "openshift"} {
		hosts = append(hosts, name, name+".default", name+".default.svc", name+".default.svc.cluster.local")
	}
	if p.APIHost != "" {
		hosts = append(hosts, p.APIHost)
	}
	hosts = append(hosts, p.InternalAPIHost())
	hosts = append(hosts, p.ExtraAPIHosts...)
	hosts = append(hosts, "127.0.0.1", "::1")
	for _, cidr := range p.ServiceCIDRs {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			return nil, fmt.Errorf("service network %q is not a CIDR, for example 172.31.0.0/16: %w", cidr, err)
		}
		hosts = append(hosts, prefix.Masked().Addr().Next().String())
	}
	return append(hosts, p.AdvertiseAddress), nil
}

// ClientUsages are those of a certificate by which a client is known.
func ClientUsages() []x509.ExtKeyUsage { return slices.Clone(client) }
