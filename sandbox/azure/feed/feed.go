// Package feed is what the embedded Azure tells the hypervisor, and what the hypervisor answers. It is level-based: a snapshot is the whole
// desired state, so either side can be restarted at any time.
package feed

// DNSOptionVNet is the EDNS0 local option by which a VNet's router names its network in a query (the data is the VNet's resource id):
// such a query sees the private zones linked to that network and no others.
const DNSOptionVNet = 65001

// Power states as reported by the hypervisor; they show in the instance view as PowerState/<state>.
const (
	PowerStarting    = "starting"
	PowerRunning     = "running"
	PowerStopped     = "stopped"
	PowerDeallocated = "deallocated"
)

// Snapshot is the desired state at a revision. Revisions grow, also over restarts.
type Snapshot struct {
	Revision      uint64         `json:"revision"`
	Networks      []Network      `json:"networks"`
	Machines      []Machine      `json:"machines"`
	LoadBalancers []LoadBalancer `json:"loadBalancers"`
}

// Network is a virtual network. IDs are resource ids; compare them case-insensitively.
type Network struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Prefixes []string `json:"prefixes"`
	Subnets  []Subnet `json:"subnets"`
}

// Subnet of a network; the first address of Prefix after the network address is its gateway.
type Subnet struct {
	ID            string         `json:"id"`
	Name          string         `json:"name"`
	Prefix        string         `json:"prefix"`
	SecurityGroup *SecurityGroup `json:"securityGroup,omitempty"`
}

// SecurityGroup holds the rules of a network security group by ascending priority, Azure's default rules excluded.
type SecurityGroup struct {
	ID    string         `json:"id"`
	Rules []SecurityRule `json:"rules"`
}

// SecurityRule lists are never empty: "*" stands for any. Prefixes may be service tags such as Internet or VirtualNetwork.
type SecurityRule struct {
	Name                string   `json:"name"`
	Priority            int      `json:"priority"`
	Direction           string   `json:"direction"` // Inbound, Outbound
	Access              string   `json:"access"`    // Allow, Deny
	Protocol            string   `json:"protocol"`  // Tcp, Udp, Icmp, *
	SourcePrefixes      []string `json:"sourcePrefixes"`
	SourcePorts         []string `json:"sourcePorts"`
	DestinationPrefixes []string `json:"destinationPrefixes"`
	DestinationPorts    []string `json:"destinationPorts"`
}

// Machine is a virtual machine.
type Machine struct {
	ID             string            `json:"id"`
	VMID           string            `json:"vmId"`
	Name           string            `json:"name"`
	ComputerName   string            `json:"computerName"`
	ResourceGroup  string            `json:"resourceGroup"`
	SubscriptionID string            `json:"subscriptionId"`
	Location       string            `json:"location"`
	Zone           string            `json:"zone,omitempty"`
	Size           string            `json:"size"`
	VCPUs          int               `json:"vcpus"`
	MemoryMiB      int               `json:"memoryMiB"`
	Tags           map[string]string `json:"tags,omitempty"`
	NICs           []NIC             `json:"nics"`
	CustomData     string            `json:"customData,omitempty"` // base64, as given
	ImageReference string            `json:"imageReference,omitempty"`
	Running        bool              `json:"running"`        // desired
	Host           bool              `json:"host,omitempty"` // tag sandbox-host: the management node itself, never booted
	Generation     uint64            `json:"generation"`     // grows by one with each restart asked for
}

// NIC of a machine.
type NIC struct {
	ID        string `json:"id"`
	NetworkID string `json:"networkId"`
	SubnetID  string `json:"subnetId"`
	PrivateIP string `json:"privateIP"`
	Primary   bool   `json:"primary"`
	MAC       string `json:"mac"` // aa:bb:cc:dd:ee:ff
}

// LoadBalancer with everything resolved.
type LoadBalancer struct {
	ID            string         `json:"id"`
	Name          string         `json:"name"`
	Frontends     []Frontend     `json:"frontends"`
	Rules         []Rule         `json:"rules"`
	Pools         []Pool         `json:"pools"`
	Probes        []Probe        `json:"probes"`
	NATRules      []NATRule      `json:"natRules,omitempty"`
	OutboundRules []OutboundRule `json:"outboundRules,omitempty"`
}

// Frontend is an address of a load balancer: public, or private in SubnetID.
type Frontend struct {
	Name     string `json:"name"`
	IP       string `json:"ip"`
	Public   bool   `json:"public"`
	SubnetID string `json:"subnetId,omitempty"`
}

// Rule balances a frontend port over the backends of its pool.
type Rule struct {
	Name         string    `json:"name"`
	Frontend     string    `json:"frontend"`
	Protocol     string    `json:"protocol"` // Tcp, Udp, All
	FrontendPort int       `json:"frontendPort"`
	BackendPort  int       `json:"backendPort"`
	FloatingIP   bool      `json:"floatingIP"` // the packet keeps the frontend's address
	ProbeName    string    `json:"probeName,omitempty"`
	Pool         string    `json:"pool"`
	Backends     []Backend `json:"backends"`
}

// Pool of backends.
type Pool struct {
	Name     string    `json:"name"`
	Backends []Backend `json:"backends"`
}

// Backend is one NIC address in a pool.
type Backend struct {
	NICID     string `json:"nicId"`
	PrivateIP string `json:"privateIP"`
	NetworkID string `json:"networkId"`
	MachineID string `json:"machineId"`
}

// Probe of backend health.
type Probe struct {
	Name            string `json:"name"`
	Protocol        string `json:"protocol"` // Tcp, Http, Https
	Port            int    `json:"port"`
	Path            string `json:"path,omitempty"`
	IntervalSeconds int    `json:"intervalSeconds"`
	NumberOfProbes  int    `json:"numberOfProbes"`
}

// NATRule forwards one frontend port to one backend.
type NATRule struct {
	Name         string  `json:"name"`
	Frontend     string  `json:"frontend"`
	Protocol     string  `json:"protocol"`
	FrontendPort int     `json:"frontendPort"`
	BackendPort  int     `json:"backendPort"`
	Backend      Backend `json:"backend"`
}

// OutboundRule lets a pool reach out with a frontend's address.
type OutboundRule struct {
	Name      string   `json:"name"`
	Frontends []string `json:"frontends"`
	Pool      string   `json:"pool"`
}

// Status is the hypervisor's report on one machine.
type Status struct {
	ID         string `json:"id"`
	PowerState string `json:"powerState"`
	Message    string `json:"message,omitempty"`
}
