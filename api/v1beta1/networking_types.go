package v1beta1

// DNSSpec says where the records of the cluster live.
type DNSSpec struct {
	// baseDomain of the cluster; apps are published beneath it.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == \"\" || self.matches('^(?:[a-zA-Z0-9-]+\\\\.)+[a-zA-Z]{2,}$') || self.matches('^[a-zA-Z0-9-]+$')",message="baseDomain must be a valid domain name (e.g., example, example.com, sub.example.com)"
	// +kubebuilder:validation:XValidation:rule="oldSelf == \"\" || self == oldSelf",message="baseDomain is immutable"
	// +required
	BaseDomain string `json:"baseDomain"`
	// baseDomainPrefix replaces the cluster name in the domain of the cluster; empty means no prefix.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == \"\" || self.matches('^(?:[a-zA-Z0-9-]+\\\\.)+[a-zA-Z]{2,}$') || self.matches('^[a-zA-Z0-9-]+$')",message="baseDomainPrefix must be a valid domain name (e.g., example, example.com, sub.example.com)"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="baseDomainPrefix is immutable"
	// +optional
	BaseDomainPrefix *string `json:"baseDomainPrefix,omitempty"`
	// publicZoneID is the ARM id of the zone that serves public records.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=258
	// +kubebuilder:validation:XValidation:rule="oldSelf == \"\" || self == oldSelf",message="publicZoneID is immutable"
	// +optional
	PublicZoneID string `json:"publicZoneID,omitempty"`
	// privateZoneID is the ARM id of the zone that is visible inside the VNet only.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=265
	// +kubebuilder:validation:XValidation:rule="oldSelf == \"\" || self == oldSelf",message="privateZoneID is immutable"
	// +optional
	PrivateZoneID string `json:"privateZoneID,omitempty"`
}

// NetworkType names the network plugin of the hosted cluster.
// +kubebuilder:validation:Enum=OpenShiftSDN;Calico;OVNKubernetes;Other
type NetworkType string

// Network types.
const (
	OVNKubernetes NetworkType = "OVNKubernetes"
	OtherNetwork  NetworkType = "Other"
	OpenShiftSDN  NetworkType = "OpenShiftSDN"
)

// CIDR is an IPv4 or IPv6 range; the schema checks its syntax only.
// +kubebuilder:validation:MaxLength=43
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,3}\\\\.){3}[0-9]{1,3}/[0-9]{1,2}$') || self.matches('^[0-9a-fA-F:]*:[0-9a-fA-F:]*/[0-9]{1,3}$')",message="cidr must be a valid IPv4 or IPv6 CIDR notation (e.g., 192.168.1.0/24 or 2001:db8::/64)"
type CIDR string

// ClusterNetworking describes the networks of a hosted cluster.
// +kubebuilder:validation:XValidation:rule="(!has(self.machineNetwork) || self.machineNetwork.all(m, self.clusterNetwork.all(c, m.cidr != c.cidr))) && (!has(self.machineNetwork) || self.machineNetwork.all(m, self.serviceNetwork.all(s, m.cidr != s.cidr))) && self.clusterNetwork.all(c, self.serviceNetwork.all(s, c.cidr != s.cidr))",message="CIDR ranges in machineNetwork, clusterNetwork, and serviceNetwork must be unique and non-overlapping"
// +kubebuilder:validation:XValidation:rule="!has(self.allocateNodeCIDRs) || self.allocateNodeCIDRs != 'Enabled' || self.networkType == 'Other'",message="allocateNodeCIDRs can only be set to Enabled when networkType is 'Other'"
type ClusterNetworking struct {
	// networkType names the network plugin.
	// +kubebuilder:default=OVNKubernetes
	// +optional
	NetworkType NetworkType `json:"networkType,omitempty"`
	// clusterNetwork holds the ranges of pods.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterNetwork is immutable and cannot be modified once set."
	// +kubebuilder:default={{cidr: "10.132.0.0/14"}}
	// +optional
	ClusterNetwork []ClusterNetworkEntry `json:"clusterNetwork,omitempty"`
	// serviceNetwork holds the ranges of Services.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serviceNetwork is immutable and cannot be modified once set."
	// +kubebuilder:default={{cidr: "172.31.0.0/16"}}
	// +optional
	ServiceNetwork []NetworkEntry `json:"serviceNetwork,omitempty"`
	// machineNetwork holds the ranges of machines.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="machineNetwork is immutable and cannot be modified once set."
	// +optional
	MachineNetwork []NetworkEntry `json:"machineNetwork,omitempty"`
	// apiServer says how the API server is reached.
	// +optional
	APIServer *APIServerNetworking `json:"apiServer,omitempty"`
	// allocateNodeCIDRs makes the controller manager hand out pod ranges to nodes.
	// +kubebuilder:validation:Enum=Enabled;Disabled
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="allocateNodeCIDRs is immutable"
	// +optional
	AllocateNodeCIDRs *AllocateNodeCIDRsMode `json:"allocateNodeCIDRs,omitempty"`
}

// AllocateNodeCIDRsMode says whether the controller manager hands out pod ranges to nodes.
type AllocateNodeCIDRsMode string

// Modes of AllocateNodeCIDRs.
const (
	AllocateNodeCIDRsEnabled  AllocateNodeCIDRsMode = "Enabled"
	AllocateNodeCIDRsDisabled AllocateNodeCIDRsMode = "Disabled"
)

// ClusterNetworkEntry is one pod range.
type ClusterNetworkEntry struct {
	// cidr is the range.
	// +required
	CIDR CIDR `json:"cidr"`
	// hostPrefix is the size of the part each node gets.
	// +optional
	HostPrefix int32 `json:"hostPrefix,omitempty"`
}

// NetworkEntry is one service or machine range.
type NetworkEntry struct {
	// cidr is the range.
	// +required
	CIDR CIDR `json:"cidr"`
}

// APIServerNetworking describes how the API server is reached.
type APIServerNetworking struct {
	// advertiseAddress is the address, local to each node, at which pods find the API server; 172.20.0.1 when unset.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="advertiseAddress is immutable"
	// +optional
	AdvertiseAddress *string `json:"advertiseAddress,omitempty"`
	// port of the API server; 6443 when unset.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="port is immutable"
	// +optional
	Port *int32 `json:"port,omitempty"`
	// allowedCIDRBlocks may reach the API server; empty admits everybody.
	// +listType=set
	// +kubebuilder:validation:MaxItems=500
	// +optional
	AllowedCIDRBlocks []CIDR `json:"allowedCIDRBlocks,omitempty"`
}
