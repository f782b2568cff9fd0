package v1beta1

// AzurePlatformSpec describes where on Azure the hosted cluster lives. Groups, network and identities exist beforehand.
// +kubebuilder:validation:XValidation:rule="(has(self.topology) && self.topology in ['Private','PublicAndPrivate']) == has(self.private)",message="private is required when topology is Private or PublicAndPrivate, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.topology) || has(self.topology)",message="topology cannot be removed once set"
// +kubebuilder:validation:XValidation:rule="((has(self.topology) ? self.topology : 'Public') == 'Public') == ((has(oldSelf.topology) ? oldSelf.topology : 'Public') == 'Public')",message="topology cannot be changed between Public and non-Public"
// +kubebuilder:validation:XValidation:rule="has(self.private) == has(oldSelf.private)",message="private cannot be added or removed after creation"
// +kubebuilder:validation:XValidation:rule="!has(self.private) || self.private.type != 'PrivateLink' || !has(self.azureAuthenticationConfig.workloadIdentities) || has(self.azureAuthenticationConfig.workloadIdentities.controlPlaneOperator)",message="controlPlaneOperator is required in workloadIdentities when private type is PrivateLink"
type AzurePlatformSpec struct {
	// +kubebuilder:validation:Enum=AzurePublicCloud;AzureUSGovernmentCloud;AzureChinaCloud;AzureGermanCloud;AzureBleuCloud;AzureStackCloud
	// +kubebuilder:default=AzurePublicCloud
	// +optional
	Cloud string `json:"cloud,omitempty"`
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Location is immutable"
	// +required
	Location string `json:"location"`
	// resourceGroup holds the virtual machines, disks and load balancers of the cluster.
	// +kubebuilder:default=default
	// +kubebuilder:validation:MaxLength=90
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9_()\-.]{1,89}[a-zA-Z0-9_()\-]$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ResourceGroupName is immutable"
	// +required
	ResourceGroupName string `json:"resourceGroup"`
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="VnetID is immutable"
	// +required
	VnetID string `json:"vnetID"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=355
	// +kubebuilder:validation:XValidation:rule="self.matches('^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft[.]Network/virtualNetworks/[^/]+/subnets/[^/]+$')",message="subnetID must be of the form /subscriptions/S/resourceGroups/G/providers/Microsoft.Network/virtualNetworks/V/subnets/N"
	// +kubebuilder:validation:XValidation:rule="self.matches('/resourceGroups/[^/]*[a-zA-Z0-9_().-][^/]*/') && !self.matches('/resourceGroups/[^/]*[.]/')",message="the resource group in subnetID must consist of 1 to 90 alphanumeric characters, '-', '_', '(', ')' and '.', and not end with '.'"
	// +kubebuilder:validation:XValidation:rule="self.matches('/virtualNetworks/[^/]*[a-zA-Z0-9_.-]{2}[^/]*/') && !self.matches('/virtualNetworks/[^/]*[.-]/')",message="the virtual network in subnetID must consist of 2 to 64 alphanumeric characters, '-', '_' and '.', and not end with '.' or '-'"
	// +kubebuilder:validation:XValidation:rule="self.matches('/subnets/[^/]*[a-zA-Z0-9][^/]*$') && !self.matches('[.-]$')",message="the subnet in subnetID must consist of 1 to 80 alphanumeric characters, '-', '_' and '.', start with an alphanumeric character and not end with '.' or '-'"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="SubnetID is immutable"
	// +required
	SubnetID string `json:"subnetID"`
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="SubscriptionID is immutable"
	// +required
	SubscriptionID string `json:"subscriptionID"`
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="SecurityGroupID is immutable"
	// +required
	SecurityGroupID string `json:"securityGroupID"`
	// +kubebuilder:validation:MaxLength=255
	// +required
	TenantID string `json:"tenantID"`
	// +required
	AzureAuthenticationConfig AzureAuthenticationConfiguration `json:"azureAuthenticationConfig"`
	// topology says who reaches the API endpoint; empty is Public.
	// +kubebuilder:validation:Enum=Public;PublicAndPrivate;Private
	// +optional
	Topology AzureTopology `json:"topology,omitempty"`
	// +optional
	Private *AzurePrivateSpec `json:"private,omitempty"`
	// +optional
	ContainerRegistry *AzureContainerRegistry `json:"containerRegistry,omitempty"`
}

// AzureTopology is the visibility of the API endpoint.
type AzureTopology string

// Azure topologies.
const (
	AzureTopologyPublic           AzureTopology = "Public"
	AzureTopologyPublicAndPrivate AzureTopology = "PublicAndPrivate"
	AzureTopologyPrivate          AzureTopology = "Private"
)

// AzurePrivateSpec describes private connectivity.
// +kubebuilder:validation:XValidation:rule="(self.type == 'PrivateLink') == has(self.privateLink)",message="privateLink is required when type is PrivateLink, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="(self.type == 'Swift') == has(self.swift)",message="swift is required when type is Swift, and forbidden otherwise"
type AzurePrivateSpec struct {
	// +kubebuilder:validation:Enum=PrivateLink;Swift
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="type is immutable"
	// +required
	Type string `json:"type"`
	// +optional
	PrivateLink *AzurePrivateLinkSpec `json:"privateLink,omitempty"`
	// +optional
	Swift *AzureSwiftSpec `json:"swift,omitempty"`
}

// AzurePrivateLinkSpec configures the private link service.
// +kubebuilder:validation:MinProperties=1
type AzurePrivateLinkSpec struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=355
	// +kubebuilder:validation:XValidation:rule="self.matches('^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft[.]Network/virtualNetworks/[^/]+/subnets/[^/]+$')",message="natSubnetID must be of the form /subscriptions/S/resourceGroups/G/providers/Microsoft.Network/virtualNetworks/V/subnets/N"
	// +kubebuilder:validation:XValidation:rule="self.matches('/resourceGroups/[^/]*[a-zA-Z0-9_().-][^/]*/') && !self.matches('/resourceGroups/[^/]*[.]/')",message="the resource group in natSubnetID must consist of 1 to 90 alphanumeric characters, '-', '_', '(', ')' and '.', and not end with '.'"
	// +kubebuilder:validation:XValidation:rule="self.matches('/virtualNetworks/[^/]*[a-zA-Z0-9_.-]{2}[^/]*/') && !self.matches('/virtualNetworks/[^/]*[.-]/')",message="the virtual network in natSubnetID must consist of 2 to 64 alphanumeric characters, '-', '_' and '.', and not end with '.' or '-'"
	// +kubebuilder:validation:XValidation:rule="self.matches('/subnets/[^/]*[a-zA-Z0-9][^/]*$') && !self.matches('[.-]$')",message="the subnet in natSubnetID must consist of 1 to 80 alphanumeric characters, '-', '_' and '.', start with an alphanumeric character and not end with '.' or '-'"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="natSubnetID is immutable"
	// +optional
	NATSubnetID string `json:"natSubnetID,omitempty"`
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:Pattern=`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`
	// +optional
	AdditionalAllowedSubscriptions []string `json:"additionalAllowedSubscriptions,omitempty"`
}

// AzureSwiftSpec selects a pod network instance.
type AzureSwiftSpec struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="podNetworkInstance is immutable"
	// +required
	PodNetworkInstance string `json:"podNetworkInstance"`
}

// AzureContainerRegistry configures pulls from Azure container registries.
type AzureContainerRegistry struct {
	// +optional
	Credentials *AzureRegistryCredentials `json:"credentials,omitempty"`
}

// AzureRegistryCredentials is a union on its type.
// +kubebuilder:validation:XValidation:rule="self.type != 'ManagedIdentity' || has(self.managedIdentity)",message="managedIdentity is required when type is ManagedIdentity"
type AzureRegistryCredentials struct {
	// +kubebuilder:validation:Enum=ManagedIdentity
	// +required
	Type string `json:"type"`
	// +optional
	ManagedIdentity *AzureRegistryIdentity `json:"managedIdentity,omitempty"`
}

// AzureRegistryIdentity is the identity attached to every worker.
type AzureRegistryIdentity struct {
	// +kubebuilder:validation:MinLength=131
	// +kubebuilder:validation:MaxLength=345
	// +kubebuilder:validation:Pattern=`^(?i)/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.ManagedIdentity/userAssignedIdentities/[^/]+$`
	// +required
	ResourceID string `json:"resourceID"`
}

// AzureAuthenticationType says which kind of identity components use.
// +kubebuilder:validation:Enum=ManagedIdentities;WorkloadIdentities
type AzureAuthenticationType string

// Azure authentication types.
const (
	AzureManagedIdentities  AzureAuthenticationType = "ManagedIdentities"
	AzureWorkloadIdentities AzureAuthenticationType = "WorkloadIdentities"
)

// AzureAuthenticationConfiguration is a union on its type.
// +kubebuilder:validation:XValidation:rule="(self.azureAuthenticationConfigType == 'ManagedIdentities') == has(self.managedIdentities)",message="managedIdentities is required when azureAuthenticationConfigType is ManagedIdentities, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="(self.azureAuthenticationConfigType == 'WorkloadIdentities') == has(self.workloadIdentities)",message="workloadIdentities is required when azureAuthenticationConfigType is WorkloadIdentities, and forbidden otherwise"
type AzureAuthenticationConfiguration struct {
	// +required
	AzureAuthenticationConfigType AzureAuthenticationType `json:"azureAuthenticationConfigType"`
	// +optional
	ManagedIdentities *AzureResourceManagedIdentities `json:"managedIdentities,omitempty"`
	// +optional
	WorkloadIdentities *AzureWorkloadIdentitySet `json:"workloadIdentities,omitempty"`
}

// AzureClientID is the client id of an identity.
// +kubebuilder:validation:MinLength=36
// +kubebuilder:validation:MaxLength=36
// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`
// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$')",message="the client ID of an identity must be a valid UUID. It should be 5 groups of hyphen separated hexadecimal characters in the form 8-4-4-4-12."
type AzureClientID string

// WorkloadIdentity is an identity that a component takes on with a federated token.
type WorkloadIdentity struct {
	// +required
	ClientID AzureClientID `json:"clientID"`
}

// AzureWorkloadIdentitySet maps components to identities. Its JSON is also the file `create iam azure` writes.
type AzureWorkloadIdentitySet struct {
	// +required
	ImageRegistry WorkloadIdentity `json:"imageRegistry"`
	// +required
	Ingress WorkloadIdentity `json:"ingress"`
	// +required
	File WorkloadIdentity `json:"file"`
	// +required
	Disk WorkloadIdentity `json:"disk"`
	// +required
	NodePoolManagement WorkloadIdentity `json:"nodePoolManagement"`
	// +required
	CloudProvider WorkloadIdentity `json:"cloudProvider"`
	// +required
	Network WorkloadIdentity `json:"network"`
	// +optional
	ControlPlaneOperator *WorkloadIdentity `json:"controlPlaneOperator,omitempty"`
}

// ManagedIdentity is an identity whose certificate lies in a key vault.
type ManagedIdentity struct {
	// +optional
	ClientID AzureClientID `json:"clientID,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=127
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9-]+$`
	// +required
	CredentialsSecretName string `json:"credentialsSecretName"`
	// +kubebuilder:validation:Enum=utf-8;hex;base64
	// +required
	ObjectEncoding string `json:"objectEncoding"`
}

// AzureResourceManagedIdentities is the managed flavour of authentication.
type AzureResourceManagedIdentities struct {
	// +required
	ControlPlane ControlPlaneManagedIdentities `json:"controlPlane"`
	// +required
	DataPlane DataPlaneManagedIdentities `json:"dataPlane"`
}

// ManagedAzureKeyVault names the vault of the certificates.
type ManagedAzureKeyVault struct {
	// +kubebuilder:validation:MaxLength=255
	// +required
	Name string `json:"name"`
	// +kubebuilder:validation:MaxLength=255
	// +required
	TenantID string `json:"tenantID"`
}

// ControlPlaneManagedIdentities are the identities of the management side.
type ControlPlaneManagedIdentities struct {
	// +required
	ManagedIdentitiesKeyVault ManagedAzureKeyVault `json:"managedIdentitiesKeyVault"`
	// +required
	CloudProvider ManagedIdentity `json:"cloudProvider"`
	// +required
	NodePoolManagement ManagedIdentity `json:"nodePoolManagement"`
	// +required
	ControlPlaneOperator ManagedIdentity `json:"controlPlaneOperator"`
	// +optional
	ImageRegistry *ManagedIdentity `json:"imageRegistry,omitempty"`
	// +required
	Ingress ManagedIdentity `json:"ingress"`
	// +required
	Network ManagedIdentity `json:"network"`
	// +required
	Disk ManagedIdentity `json:"disk"`
	// +required
	File ManagedIdentity `json:"file"`
}

// DataPlaneManagedIdentities are the identities of the hosted cluster's side.
type DataPlaneManagedIdentities struct {
	// +kubebuilder:validation:MaxLength=255
	// +required
	ImageRegistryMSIClientID string `json:"imageRegistryMSIClientID"`
	// +kubebuilder:validation:MaxLength=255
	// +required
	DiskMSIClientID string `json:"diskMSIClientID"`
	// +kubebuilder:validation:MaxLength=255
	// +required
	FileMSIClientID string `json:"fileMSIClientID"`
}
