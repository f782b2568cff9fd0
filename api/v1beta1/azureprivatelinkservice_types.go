package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AzurePrivateLinkService is the private way to a control plane on Azure: a private link service before its load balancer, and the
// endpoint and names in the network of the guest. This operator serves public clusters only and acts on none.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:metadata:annotations="release.openshift.io/feature-set=Default"
// +kubebuilder:resource:path=azureprivatelinkservices,shortName=azpls,scope=Namespaced
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="PLS Alias",type="string",JSONPath=".status.privateLinkServiceAlias"
// +kubebuilder:printcolumn:name="Endpoint IP",type="string",JSONPath=".status.privateEndpointIP"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type==\"AzurePrivateLinkServiceAvailable\")].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type AzurePrivateLinkService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec AzurePrivateLinkServiceSpec `json:"spec"`
	// +optional
	Status AzurePrivateLinkServiceStatus `json:"status,omitempty,omitzero"`
}

// AzurePrivateLinkServiceList is a list of AzurePrivateLinkServices.
// +kubebuilder:object:root=true
type AzurePrivateLinkServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AzurePrivateLinkService `json:"items"`
}

// AzurePrivateLinkServiceSpec is the desired state.
type AzurePrivateLinkServiceSpec struct {
	// loadBalancerIP is the address of the internal load balancer, filled in when it is known.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	// +kubebuilder:validation:XValidation:rule="isIP(self)",message="loadBalancerIP must be an IP address"
	// +optional
	LoadBalancerIP string `json:"loadBalancerIP,omitempty"`
	// subscriptionID holds the service.
	// +kubebuilder:validation:MinLength=36
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="subscriptionID is immutable"
	// +required
	SubscriptionID string `json:"subscriptionID"`
	// resourceGroupName holds the service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=90
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9_().-]*[a-zA-Z0-9_()-]$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="resourceGroupName is immutable"
	// +required
	ResourceGroupName string `json:"resourceGroupName"`
	// location is the region, such as eastus.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="location is immutable"
	// +required
	Location string `json:"location"`
	// natSubnetID is the ARM id of the service's NAT subnet.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=355
	// +kubebuilder:validation:Pattern=`^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Network/virtualNetworks/[^/]+/subnets/[^/]+$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="natSubnetID is immutable"
	// +optional
	NATSubnetID string `json:"natSubnetID,omitempty"`
	// additionalAllowedSubscriptions may connect besides the guest's own.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:Pattern=`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`
	// +optional
	AdditionalAllowedSubscriptions []string `json:"additionalAllowedSubscriptions,omitempty"`
	// guestSubnetID is the ARM id of the subnet of the endpoint.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=355
	// +kubebuilder:validation:Pattern=`^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Network/virtualNetworks/[^/]+/subnets/[^/]+$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="guestSubnetID is immutable"
	// +required
	GuestSubnetID string `json:"guestSubnetID"`
	// guestVNetID is the ARM id of the network that resolves the private names.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=355
	// +kubebuilder:validation:Pattern=`^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Network/virtualNetworks/[^/]+$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="guestVNetID is immutable"
	// +required
	GuestVNetID string `json:"guestVNetID"`
	// baseDomain of the hosted cluster; its names resolve privately, too.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?\.)*[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="baseDomain is immutable"
	// +optional
	BaseDomain string `json:"baseDomain,omitempty"`
}

// AzurePrivateLinkServiceStatus is the observed state.
// +kubebuilder:validation:MinProperties=1
type AzurePrivateLinkServiceStatus struct {
	// conditions tell how far the service is.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// internalLoadBalancerID is the ARM id of the load balancer.
	// +optional
	InternalLoadBalancerID string `json:"internalLoadBalancerID,omitempty"`
	// privateLinkServiceID is the ARM id of the service.
	// +optional
	PrivateLinkServiceID string `json:"privateLinkServiceID,omitempty"`
	// privateLinkServiceAlias is the name by which others connect: <name>.<guid>.<region>.azure.privatelinkservice.
	// +optional
	PrivateLinkServiceAlias string `json:"privateLinkServiceAlias,omitempty"`
	// privateEndpointID is the ARM id of the endpoint.
	// +optional
	PrivateEndpointID string `json:"privateEndpointID,omitempty"`
	// privateEndpointIP is the address of the endpoint in the guest's network.
	// +optional
	PrivateEndpointIP string `json:"privateEndpointIP,omitempty"`
	// privateDNSZoneID is the ARM id of the zone of the internal names.
	// +optional
	PrivateDNSZoneID string `json:"privateDNSZoneID,omitempty"`
	// dnsZoneName is the name of that zone.
	// +optional
	DNSZoneName string `json:"dnsZoneName,omitempty"`
	// baseDomainDNSZoneID is the ARM id of the private zone of the base domain.
	// +optional
	BaseDomainDNSZoneID string `json:"baseDomainDNSZoneID,omitempty"`
}
