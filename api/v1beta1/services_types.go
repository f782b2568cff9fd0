package v1beta1

// ServiceType is an endpoint of the control plane that nodes or people reach.
// +kubebuilder:validation:Enum=APIServer;OAuthServer;OIDC;Konnectivity;Ignition;OVNSbDb
type ServiceType string

// Published services.
const (
	APIServer    ServiceType = "APIServer"
	OAuthServer  ServiceType = "OAuthServer"
	Konnectivity ServiceType = "Konnectivity"
	Ignition     ServiceType = "Ignition"
)

// PublishingStrategyType says how an endpoint is published.
// +kubebuilder:validation:Enum=LoadBalancer;NodePort;Route;None;S3
type PublishingStrategyType string

// Publishing strategies.
const (
	LoadBalancer PublishingStrategyType = "LoadBalancer"
	NodePort     PublishingStrategyType = "NodePort"
	Route        PublishingStrategyType = "Route"
	NonePublish  PublishingStrategyType = "None"
)

// ServicePublishingStrategyMapping publishes one service.
type ServicePublishingStrategyMapping struct {
	// service is the endpoint; OIDC and OVNSbDb are ignored.
	// +required
	Service ServiceType `json:"service"`
	// servicePublishingStrategy says how it is published.
	// +required
	ServicePublishingStrategy ServicePublishingStrategy `json:"servicePublishingStrategy"`
}

// ServicePublishingStrategy is a union on its type.
// +kubebuilder:validation:XValidation:rule="self.type == 'NodePort' ? has(self.nodePort) : !has(self.nodePort)",message="nodePort is required when type is NodePort, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="self.type == 'Route' ? !has(self.nodePort) && !has(self.loadBalancer) : true",message="only route is allowed when type is Route"
// +kubebuilder:validation:XValidation:rule="self.type == 'LoadBalancer' ? !has(self.nodePort) && !has(self.route) : true",message="only loadBalancer is required when type is LoadBalancer, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="self.type == 'NodePort' ? !has(self.loadBalancer) && !has(self.route) : true",message="only nodePort is allowed when type is NodePort"
// +kubebuilder:validation:XValidation:rule="self.type == 'None' ? !has(self.nodePort) && !has(self.route) && !has(self.loadBalancer) : true",message="None does not allowed any configuration for loadBalancer, nodePort, or route"
// +kubebuilder:validation:XValidation:rule="self.type == 'S3' ? !has(self.nodePort) && !has(self.route) && !has(self.loadBalancer) : true",message="S3 does not allowed any configuration for loadBalancer, nodePort, or route"
type ServicePublishingStrategy struct {
	// type says which member counts.
	// +required
	Type PublishingStrategyType `json:"type"`
	// nodePort publishes on the nodes of the management cluster.
	// +optional
	NodePort *NodePortPublishingStrategy `json:"nodePort,omitempty"`
	// loadBalancer publishes by a load balancer of the management cluster.
	// +optional
	LoadBalancer *LoadBalancerPublishingStrategy `json:"loadBalancer,omitempty"`
	// route publishes by a Route of the management cluster.
	// +optional
	Route *RoutePublishingStrategy `json:"route,omitempty"`
}

// NodePortPublishingStrategy publishes on the nodes of the management cluster.
type NodePortPublishingStrategy struct {
	// address is a host name or address of the nodes.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == 'localhost' || self.matches('^(([a-zA-Z0-9-]+\\\\.)+[a-zA-Z]{2,})$') || self.matches('^([0-9]{1,3}\\\\.){3}[0-9]{1,3}$') || self.matches('^[0-9a-fA-F:]*:[0-9a-fA-F:]+$')",message="address must be a valid hostname, IPv4, or IPv6 address"
	// +required
	Address string `json:"address"`
	// port is chosen by Kubernetes when 0.
	// +optional
	Port int32 `json:"port,omitempty"`
}

// Hostname is a dotted domain name.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="self.matches('^(([a-zA-Z0-9-]+\\\\.)+[a-zA-Z]{2,})$')",message="hostname must be a valid domain name (e.g., example.com)"
type Hostname string

// LoadBalancerPublishingStrategy publishes by a load balancer of the management cluster.
type LoadBalancerPublishingStrategy struct {
	// hostname is a DNS name for the load balancer.
	// +optional
	Hostname Hostname `json:"hostname,omitempty"`
}

// RoutePublishingStrategy publishes by a Route of the management cluster.
type RoutePublishingStrategy struct {
	// hostname is the host of the Route; generated when unset.
	// +optional
	Hostname Hostname `json:"hostname,omitempty"`
}
