// Package cluster is the management cluster of the sandbox: the processes of a
// Kubernetes of one or several nodes, its network, what is applied to it, and the OpenShift
// APIs it shows.
package cluster

import (
	"path/filepath"
)

// Addresses of the sandbox; docs/architecture/sandbox.md explains them.
const (
	EdgeBridge = "hsedge"
	EdgeIP     = "198.18.0.1"
	RouterIP   = "198.18.0.2"
	EdgePrefix = "/24"
	// managementPrefix is that of the management cluster's network in Azure. It is wide, so that the edge's address is none of the first four,
	// which Azure keeps in every subnet.
	managementPrefix = "198.16.0.0/14"
	publicPrefix     = "198.18.16.0/20"
	allPrefix        = "198.18.0.0/15" // edge, public addresses, uplinks of networks
	ProxyPort        = "8888"
	ProxyURL         = "http://" + EdgeIP + ":" + ProxyPort
	LocalProxyURL    = "http://127.0.0.1:" + ProxyPort
	apiPort          = "6443"
	APIURL           = "https://" + EdgeIP + ":" + apiPort
	podCIDR          = "10.200.0.0/16"
	serviceCIDR      = "10.201.0.0/16"
	apiServiceIP     = "10.201.0.1"
	dnsServiceIP     = "10.201.0.10"
	podBridge        = "hspods"
	cniNetwork       = "hypershift-sandbox"
	RegistryAddr     = "127.0.0.1:5000"

	// OwnRegistryAddr is where the registry that is the user's own listens, OwnRegistryHost the name that clients ask for.
	OwnRegistryAddr = "127.0.0.1:5001"
	OwnRegistryHost = "sandbox.azurecr.io"
)

// Names in the embedded Azure.
const (
	SubscriptionID   = "5a2d0b0e-0000-4000-8000-000000000001"
	TenantID         = "7e0a1d00-0000-4000-8000-000000000001"
	ClientID         = "5e41ce00-0000-4000-8000-000000000001"
	Location         = "eastus"
	BaseDomain       = "hypershift.test"
	ManagementDomain = "mgmt." + BaseDomain
	AppsDomain       = "apps." + ManagementDomain
	BaseDomainGroup  = "os4-common"
	ManagementGroup  = "mgmt"
	NodeName         = "management-0"
)

// The node advertises this size whatever the machine has: the requests of a
// hosted cluster are those of production and must be schedulable.
const (
	NodeCPUs     = 64
	NodeMemoryKB = 256 << 20
)

// noProxy lists what is reached without the proxy.
const noProxy = "localhost,127.0.0.1,.svc,.cluster.local," + podCIDR + "," + serviceCIDR + "," + EdgeIP + ",169.254.169.254,168.63.129.16"

// Config says where things are.
type Config struct {
	Dir    string // the sandbox's directory, absolute
	Bin    string // built parts
	Debian string // containerd and runc, unpacked from Debian's packages
	System string // packages of the virtual machines' operating systems, unpacked
	Self   string // this program
	// Nodes is how many nodes the management cluster has; 0 is 1.
	Nodes int
	// Plain leaves out what only OpenShift has: its APIs, the router of Routes, the injected trust bundle.
	Plain bool
	// AzureProfile is how long what Azure has accepted takes to show, "" for the default of the embedded Azure.
	AzureProfile string
}

func (c Config) path(elements ...string) string {
	return filepath.Join(append([]string{c.Dir}, elements...)...)
}

func (c Config) cluster(elements ...string) string {
	return c.path(append([]string{"cluster"}, elements...)...)
}

func (c Config) pki(name string) string { return c.cluster("pki", name) }

// Kubeconfig is the administrator's.
func (c Config) Kubeconfig() string { return c.cluster("kubeconfig") }

// CA is the certificate that everything in the sandbox trusts.
func (c Config) CA() string { return c.path("pki", "ca.crt") }

// Bundle is the system's roots and the sandbox's CA.
func (c Config) Bundle() string { return c.path("pki", "bundle.pem") }

// CredentialsFile is the service principal's, in the form the product reads.
func (c Config) CredentialsFile() string { return c.path("files", "azure-credentials.json") }

// PullSecretFile is what the user passes to the product.
func (c Config) PullSecretFile() string { return c.path("files", "pull-secret.json") }

// runDir holds sockets, whose paths must be short, and nothing that must
// outlive a boot.
func (c Config) runDir() string { return "/run/hypershift-sandbox" }

func (c Config) containerdSocket() string { return c.runDir() + "/containerd.sock" }

func (c Config) bin(name string) string { return filepath.Join(c.Bin, name) }

func (c Config) debian(name string) string { return filepath.Join(c.Debian, "bin", name) }

// proxyEnv makes a process reach Azure and quay.io in the sandbox.
func (c Config) proxyEnv() []string {
	return []string{"HTTPS_PROXY=" + ProxyURL, "NO_PROXY=" + noProxy, "SSL_CERT_FILE=" + c.Bundle()}
}
