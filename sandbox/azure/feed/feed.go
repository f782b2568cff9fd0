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

// How far the guest is with its first boot. A machine is made when that is done, and has failed when it takes too long.
const (
	ProvisioningRunning   = "running"
	ProvisioningSucceeded = "succeeded"
	ProvisioningFailed    = "failed" // the guest itself says so
)

// Snapshot is the desired state at a revision. Revisions grow, also over restarts.
type Snapshot struct {
	Revision      uint64         `json:"revision"`
	Networks      []Network      `json:"networks"`
	Machines      []Machine      `json:"machines"`
	LoadBalancers []LoadBalancer `json:"loadBalancers"`
	Disks         []Disk         `json:"disks,omitempty"`
}

// Disk is a data disk or a snapshot, attached or not, known by an id that no other ever has.
type Disk struct {
	UniqueID string `json:"uniqueId"`
	SizeGiB  int    `json:"sizeGiB"`
	Source   string `json:"source,omitempty"` // unique id of the disk or snapshot that it begins as a copy of
}

// DataDisk is a disk in a slot of a machine.
type DataDisk struct {
	LUN      int    `json:"lun"`
	UniqueID string `json:"uniqueId"`
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
	NATGateway    *NATGateway    `json:"natGateway,omitempty"`
	Routes        []Route        `json:"routes,omitempty"`          // of its route table
	Outbound      bool           `json:"defaultOutbound,omitempty"` // machines that have no other way out have one by an address of Azure's own
}

// NATGateway is the way out of a subnet. One without addresses is none.
type NATGateway struct {
	ID        string   `json:"id"`
	PublicIPs []string `json:"publicIPs"`
}

// Route of a route table. Address is the appliance's of NextHop VirtualAppliance.
type Route struct {
	Prefix  string `json:"prefix"`
	NextHop string `json:"nextHop"` // VirtualAppliance, VnetLocal, Internet, None
	Address string `json:"address,omitempty"`
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
	DataDisks      []DataDisk        `json:"dataDisks,omitempty"`
	CustomData     string            `json:"customData,omitempty"` // base64, as given
	ImageReference string            `json:"imageReference,omitempty"`
	Running        bool              `json:"running"`          // desired
	Host           bool              `json:"host,omitempty"`   // tag sandbox-host: the management node itself, never booted
	Hollow         bool              `json:"hollow,omitempty"` // tag sandbox-hollow: a Node without an operating system below it
	Generation     uint64            `json:"generation"`       // grows by one with each restart asked for
}

// NIC of a machine.
type NIC struct {
	ID        string `json:"id"`
	NetworkID string `json:"networkId"`
	SubnetID  string `json:"subnetId"`
	PrivateIP string `json:"privateIP"`
	Primary   bool   `json:"primary"`
	MAC       string `json:"mac"` // aa:bb:cc:dd:ee:ff

	PublicIP      string         `json:"publicIP,omitempty"` // is the machine's alone, in both directions
	SecurityGroup *SecurityGroup `json:"securityGroup,omitempty"`
	Forwards      bool           `json:"forwards,omitempty"` // takes what is not for its own address
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
	SNAT         bool      `json:"snat,omitempty"` // the backends reach out by the frontend
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
	Protocol  string   `json:"protocol"` // Tcp, Udp, All
	Frontends []string `json:"frontends"`
	Pool      string   `json:"pool"`
}

// Status is the hypervisor's report on one machine.
type Status struct {
	ID           string `json:"id"`
	PowerState   string `json:"powerState"`
	Provisioning string `json:"provisioning,omitempty"` // of the guest since its first boot; "" says nothing
	Message      string `json:"message,omitempty"`
	Console      string `json:"console,omitempty"` // file with what the serial console shows
	// ProvisioningMessage is what the guest says of a provisioning that has failed.
	ProvisioningMessage string `json:"provisioningMessage,omitempty"`
}
