// Package names has the fixed addresses of the sandbox on its machine and its fixed names in the embedded Azure.
package names

// Addresses of the sandbox; docs/architecture/sandbox.md explains them.
const (
	EdgeBridge = "hsedge"
	EdgeIP     = "198.18.0.1"
	RouterIP   = "198.18.0.2"
	EdgePrefix = "/24"
	// ManagementPrefix is that of the management cluster's network in Azure. It is wide, so that the edge's address is none of the first four,
	// which Azure keeps in every subnet.
	ManagementPrefix = "198.16.0.0/14"
	PublicPrefix     = "198.18.16.0/20"
	AllPrefix        = "198.18.0.0/15" // edge, public addresses, uplinks of networks
	ProxyPort        = "8888"
	ProxyURL         = "http://" + EdgeIP + ":" + ProxyPort
	LocalProxyURL    = "http://127.0.0.1:" + ProxyPort
	APIPort          = "6443"
	APIURL           = "https://" + EdgeIP + ":" + APIPort
	PodCIDR          = "10.200.0.0/16"
	ServiceCIDR      = "10.201.0.0/16"
	APIServiceIP     = "10.201.0.1"
	DNSServiceIP     = "10.201.0.10"
	PodBridge        = "hspods"
	CNINetwork       = "hypershift-sandbox"
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

// NoProxy lists what is reached without the proxy.
const NoProxy = "localhost,127.0.0.1,.svc,.cluster.local," + PodCIDR + "," + ServiceCIDR + "," + EdgeIP + ",169.254.169.254,168.63.129.16"
