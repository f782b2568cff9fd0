package v1beta1

// OVNKubernetesConfig configures OVN.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.mtu) || has(self.mtu)",message="mtu cannot be removed once set"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.ipv6) || has(self.ipv6)",message="ipv6 cannot be removed once set"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.v4InternalSubnet) || has(self.v4InternalSubnet)",message="v4InternalSubnet cannot be removed once set"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.v6InternalSubnet) || has(self.v6InternalSubnet)",message="v6InternalSubnet cannot be removed once set"
type OVNKubernetesConfig struct {
	// mtu of the tunnels, in bytes.
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=9216
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="mtu is immutable"
	// +optional
	MTU int32 `json:"mtu,omitempty"`
	// ipv4 holds the internal IPv4 subnets.
	// +optional
	IPv4 *OVNIPv4Config `json:"ipv4,omitempty"`
	// ipv6 holds the internal IPv6 subnets.
	// +optional
	IPv6 *OVNIPv6Config `json:"ipv6,omitempty"`
	// v4InternalSubnet is the older name of an internal IPv4 subnet.
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4",message="v4InternalSubnet must be a valid IPv4 CIDR"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).prefixLength() <= 30",message="v4InternalSubnet must have a prefix length of at most 30"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || !self.startsWith('0.')",message="the first octet of v4InternalSubnet must be above 0"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="v4InternalSubnet is immutable"
	// +optional
	V4InternalSubnet string `json:"v4InternalSubnet,omitempty"`
	// v6InternalSubnet is the older name of an internal IPv6 subnet.
	// +kubebuilder:validation:MinLength=4
	// +kubebuilder:validation:MaxLength=48
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 6",message="v6InternalSubnet must be a valid IPv6 CIDR"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).prefixLength() <= 125",message="v6InternalSubnet must have a prefix length of at most 125"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="v6InternalSubnet is immutable"
	// +optional
	V6InternalSubnet string `json:"v6InternalSubnet,omitempty"`
}

// OVNIPv4Config names the IPv4 subnets that OVN uses inside the hosted cluster.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.internalJoinSubnet) || !has(self.internalTransitSwitchSubnet) || self.internalJoinSubnet != self.internalTransitSwitchSubnet",message="internalJoinSubnet and internalTransitSwitchSubnet must not be the same"
type OVNIPv4Config struct {
	// internalJoinSubnet joins the routers of the nodes.
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4",message="internalJoinSubnet must be a valid IPv4 CIDR"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).prefixLength() <= 30",message="internalJoinSubnet must have a prefix length of at most 30"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || !self.startsWith('0.')",message="the first octet of internalJoinSubnet must be above 0"
	// +optional
	InternalJoinSubnet string `json:"internalJoinSubnet,omitempty"`
	// internalTransitSwitchSubnet connects the nodes.
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=18
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 4",message="internalTransitSwitchSubnet must be a valid IPv4 CIDR"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).prefixLength() <= 30",message="internalTransitSwitchSubnet must have a prefix length of at most 30"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || !self.startsWith('0.')",message="the first octet of internalTransitSwitchSubnet must be above 0"
	// +optional
	InternalTransitSwitchSubnet string `json:"internalTransitSwitchSubnet,omitempty"`
}

// OVNIPv6Config names the IPv6 subnets that OVN uses inside the hosted cluster.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.internalJoinSubnet) || !has(self.internalTransitSwitchSubnet) || self.internalJoinSubnet != self.internalTransitSwitchSubnet",message="internalJoinSubnet and internalTransitSwitchSubnet must not be the same"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.internalJoinSubnet) || has(self.internalJoinSubnet)",message="internalJoinSubnet cannot be removed once set"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.internalTransitSwitchSubnet) || has(self.internalTransitSwitchSubnet)",message="internalTransitSwitchSubnet cannot be removed once set"
type OVNIPv6Config struct {
	// internalJoinSubnet joins the routers of the nodes.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=48
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 6",message="internalJoinSubnet must be a valid IPv6 CIDR"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).prefixLength() <= 125",message="internalJoinSubnet must have a prefix length of at most 125"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="internalJoinSubnet is immutable"
	// +optional
	InternalJoinSubnet string `json:"internalJoinSubnet,omitempty"`
	// internalTransitSwitchSubnet connects the nodes.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=48
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self).ip().family() == 6",message="internalTransitSwitchSubnet must be a valid IPv6 CIDR"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self).prefixLength() <= 125",message="internalTransitSwitchSubnet must have a prefix length of at most 125"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="internalTransitSwitchSubnet is immutable"
	// +optional
	InternalTransitSwitchSubnet string `json:"internalTransitSwitchSubnet,omitempty"`
}
