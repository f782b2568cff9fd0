package v1beta1

// AzurePlatformSpec describes where on Azure the hosted cluster lives. Groups, network and identities exist beforehand.
// +kubebuilder:validation:XValidation:rule="(has(self.topology) && self.topology in ['Private','PublicAndPrivate']) == has(self.private)",message="private is required when topology is Private or PublicAndPrivate, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.topology) || has(self.topology)",message="topology cannot be removed once set"
// +kubebuilder:validation:XValidation:rule="((has(self.topology) ? self.topology : 'Public') == 'Public') == ((has(oldSelf.topology) ? oldSelf.topology : 'Public') == 'Public')",message="topology cannot be changed between Public and non-Public"
// +kubebuilder:validation:XValidation:rule="has(self.private) == has(oldSelf.private)",message="private cannot be added or removed after creation"
// +kubebuilder:validation:XValidation:rule="!has(self.private) || self.private.type != 'PrivateLink' || !has(self.azureAuthenticationConfig.workloadIdentities) || has(self.azureAuthenticationConfig.workloadIdentities.controlPlaneOperator)",message="controlPlaneOperator is required in workloadIdentities when private type is PrivateLink"
type AzurePlatformSpec struct {
	// cloud is the Azure environment.
	// +kubebuilder:validation:Enum=AzurePublicCloud;AzureUSGovernmentCloud;AzureChinaCloud;AzureGermanCloud;AzureBleuCloud;AzureStackCloud
	// +kubebuilder:default=AzurePublicCloud
	// +optional
	Cloud string `json:"cloud,omitempty"`
	// location is the region, such as eastus.
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
	// vnetID is the ARM id of the virtual network.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="VnetID is immutable"
	// +required
	VnetID string `json:"vnetID"`
	// subnetID is the ARM id of the default subnet.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=355
	// +kubebuilder:validation:XValidation:rule="self.matches('^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft[.]Network/virtualNetworks/[^/]+/subnets/[^/]+$')",message="subnetID must be of the form /subscriptions/S/resourceGroups/G/providers/Microsoft.Network/virtualNetworks/V/subnets/N"
	// +kubebuilder:validation:XValidation:rule="self.matches('/resourceGroups/[^/]*[a-zA-Z0-9_().-][^/]*/') && !self.matches('/resourceGroups/[^/]*[.]/')",message="the resource group in subnetID must consist of 1 to 90 alphanumeric characters, '-', '_', '(', ')' and '.', and not end with '.'"
	// +kubebuilder:validation:XValidation:rule="self.matches('/virtualNetworks/[^/]*[a-zA-Z0-9_.-]{2}[^/]*/') && !self.matches('/virtualNetworks/[^/]*[.-]/')",message="the virtual network in subnetID must consist of 2 to 64 alphanumeric characters, '-', '_' and '.', and not end with '.' or '-'"
	// +kubebuilder:validation:XValidation:rule="self.matches('/subnets/[^/]*[a-zA-Z0-9][^/]*$') && !self.matches('[.-]$')",message="the subnet in subnetID must consist of 1 to 80 alphanumeric characters, '-', '_' and '.', start with an alphanumeric character and not end with '.' or '-'"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="SubnetID is immutable"
	// +required
	SubnetID string `json:"subnetID"`
	// subscriptionID holds every resource of the cluster.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="SubscriptionID is immutable"
	// +required
	SubscriptionID string `json:"subscriptionID"`
	// securityGroupID is the ARM id of the network security group.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="SecurityGroupID is immutable"
	// +required
	SecurityGroupID string `json:"securityGroupID"`
	// tenantID is the directory of the identities.
	// +kubebuilder:validation:MaxLength=255
	// +required
	TenantID string `json:"tenantID"`
	// azureAuthenticationConfig says how components authenticate to Azure.
	// +required
	AzureAuthenticationConfig AzureAuthenticationConfiguration `json:"azureAuthenticationConfig"`
	// topology says who reaches the API endpoint; empty is Public.
	// +kubebuilder:validation:Enum=Public;PublicAndPrivate;Private
	// +optional
	Topology AzureTopology `json:"topology,omitempty"`
	// private describes private connectivity.
	// +optional
	Private *AzurePrivateSpec `json:"private,omitempty"`
	// containerRegistry lets nodes pull from Azure container registries.
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
	// type says which member counts.
	// +kubebuilder:validation:Enum=PrivateLink;Swift
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="type is immutable"
	// +required
	Type string `json:"type"`
	// privateLink connects by a private link service.
	// +optional
	PrivateLink *AzurePrivateLinkSpec `json:"privateLink,omitempty"`
	// swift connects by a pod network.
	// +optional
	Swift *AzureSwiftSpec `json:"swift,omitempty"`
}

// AzurePrivateLinkSpec configures the private link service.
// +kubebuilder:validation:MinProperties=1
type AzurePrivateLinkSpec struct {
	// natSubnetID is the ARM id of the service's NAT subnet; one is made when unset.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=355
	// +kubebuilder:validation:XValidation:rule="self.matches('^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft[.]Network/virtualNetworks/[^/]+/subnets/[^/]+$')",message="natSubnetID must be of the form /subscriptions/S/resourceGroups/G/providers/Microsoft.Network/virtualNetworks/V/subnets/N"
	// +kubebuilder:validation:XValidation:rule="self.matches('/resourceGroups/[^/]*[a-zA-Z0-9_().-][^/]*/') && !self.matches('/resourceGroups/[^/]*[.]/')",message="the resource group in natSubnetID must consist of 1 to 90 alphanumeric characters, '-', '_', '(', ')' and '.', and not end with '.'"
	// +kubebuilder:validation:XValidation:rule="self.matches('/virtualNetworks/[^/]*[a-zA-Z0-9_.-]{2}[^/]*/') && !self.matches('/virtualNetworks/[^/]*[.-]/')",message="the virtual network in natSubnetID must consist of 2 to 64 alphanumeric characters, '-', '_' and '.', and not end with '.' or '-'"
	// +kubebuilder:validation:XValidation:rule="self.matches('/subnets/[^/]*[a-zA-Z0-9][^/]*$') && !self.matches('[.-]$')",message="the subnet in natSubnetID must consist of 1 to 80 alphanumeric characters, '-', '_' and '.', start with an alphanumeric character and not end with '.' or '-'"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="natSubnetID is immutable"
	// +optional
	NATSubnetID string `json:"natSubnetID,omitempty"`
	// additionalAllowedSubscriptions may connect besides the cluster's own.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:Pattern=`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`
	// +optional
	AdditionalAllowedSubscriptions []string `json:"additionalAllowedSubscriptions,omitempty"`
}

// AzureSwiftSpec selects a pod network instance.
type AzureSwiftSpec struct {
	// podNetworkInstance names the pod network.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="podNetworkInstance is immutable"
	// +required
	PodNetworkInstance string `json:"podNetworkInstance"`
}

// AzureContainerRegistry configures pulls from Azure container registries.
type AzureContainerRegistry struct {
	// credentials of the pulls.
	// +optional
	Credentials *AzureRegistryCredentials `json:"credentials,omitempty"`
}

// AzureRegistryCredentials is a union on its type.
// +kubebuilder:validation:XValidation:rule="self.type != 'ManagedIdentity' || has(self.managedIdentity)",message="managedIdentity is required when type is ManagedIdentity"
type AzureRegistryCredentials struct {
	// type says which member counts.
	// +kubebuilder:validation:Enum=ManagedIdentity
	// +required
	Type string `json:"type"`
	// managedIdentity pulls in the name of a user-assigned identity.
	// +optional
	ManagedIdentity *AzureRegistryIdentity `json:"managedIdentity,omitempty"`
}

// AzureRegistryIdentity is the identity attached to every worker.
type AzureRegistryIdentity struct {
	// resourceID is the ARM id of the identity.
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
	// azureAuthenticationConfigType says which member counts.
	// +required
	AzureAuthenticationConfigType AzureAuthenticationType `json:"azureAuthenticationConfigType"`
	// managedIdentities keep their certificates in a key vault.
	// +optional
	ManagedIdentities *AzureResourceManagedIdentities `json:"managedIdentities,omitempty"`
	// workloadIdentities are taken on with federated tokens.
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
	// clientID of the identity.
	// +required
	ClientID AzureClientID `json:"clientID"`
}

// AzureWorkloadIdentitySet maps components to identities. Its JSON is also the file `create iam azure` writes.
type AzureWorkloadIdentitySet struct {
	// imageRegistry is for the image registry and its operator.
	// +required
	ImageRegistry WorkloadIdentity `json:"imageRegistry"`
	// ingress is for the ingress operator.
	// +required
	Ingress WorkloadIdentity `json:"ingress"`
	// file is for the CSI driver of Azure Files.
	// +required
	File WorkloadIdentity `json:"file"`
	// disk is for the CSI driver of Azure Disks.
	// +required
	Disk WorkloadIdentity `json:"disk"`
	// nodePoolManagement is for Cluster API's Azure provider.
	// +required
	NodePoolManagement WorkloadIdentity `json:"nodePoolManagement"`
	// cloudProvider is for the cloud controller manager.
	// +required
	CloudProvider WorkloadIdentity `json:"cloudProvider"`
	// network is for the cloud network configuration controller.
	// +required
	Network WorkloadIdentity `json:"network"`
	// controlPlaneOperator is for private link operations of the control-plane operator.
	// +optional
	ControlPlaneOperator *WorkloadIdentity `json:"controlPlaneOperator,omitempty"`
}

// ManagedIdentity is an identity whose certificate lies in a key vault.
type ManagedIdentity struct {
	// clientID of the identity.
	// +optional
	ClientID AzureClientID `json:"clientID,omitempty"`
	// credentialsSecretName names the secret in the key vault.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=127
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9-]+$`
	// +required
	CredentialsSecretName string `json:"credentialsSecretName"`
	// objectEncoding is the encoding of that secret.
	// +kubebuilder:validation:Enum=utf-8;hex;base64
	// +required
	ObjectEncoding string `json:"objectEncoding"`
}

// AzureResourceManagedIdentities is the managed flavour of authentication.
type AzureResourceManagedIdentities struct {
	// controlPlane holds the identities of the management side.
	// +required
	ControlPlane ControlPlaneManagedIdentities `json:"controlPlane"`
	// dataPlane holds the identities of the hosted cluster's side.
	// +required
	DataPlane DataPlaneManagedIdentities `json:"dataPlane"`
}

// ManagedAzureKeyVault names the vault of the certificates.
type ManagedAzureKeyVault struct {
	// name of the vault.
	// +kubebuilder:validation:MaxLength=255
	// +required
	Name string `json:"name"`
	// tenantID of the vault.
	// +kubebuilder:validation:MaxLength=255
	// +required
	TenantID string `json:"tenantID"`
}

// ControlPlaneManagedIdentities are the identities of the management side.
type ControlPlaneManagedIdentities struct {
	// managedIdentitiesKeyVault holds the certificates.
	// +required
	ManagedIdentitiesKeyVault ManagedAzureKeyVault `json:"managedIdentitiesKeyVault"`
	// cloudProvider is for the cloud controller manager.
	// +required
	CloudProvider ManagedIdentity `json:"cloudProvider"`
	// nodePoolManagement is for Cluster API's Azure provider.
	// +required
	NodePoolManagement ManagedIdentity `json:"nodePoolManagement"`
	// controlPlaneOperator is for the control-plane operator.
	// +required
	ControlPlaneOperator ManagedIdentity `json:"controlPlaneOperator"`
	// imageRegistry is for the image registry operator.
	// +optional
	ImageRegistry *ManagedIdentity `json:"imageRegistry,omitempty"`
	// ingress is for the ingress operator.
	// +required
	Ingress ManagedIdentity `json:"ingress"`
	// network is for the cloud network configuration controller.
	// +required
	Network ManagedIdentity `json:"network"`
	// disk is for the CSI driver of Azure Disks.
	// +required
	Disk ManagedIdentity `json:"disk"`
	// file is for the CSI driver of Azure Files.
	// +required
	File ManagedIdentity `json:"file"`
}

// DataPlaneManagedIdentities are the identities of the hosted cluster's side.
type DataPlaneManagedIdentities struct {
	// imageRegistryMSIClientID is for the image registry.
	// +kubebuilder:validation:MaxLength=255
	// +required
	ImageRegistryMSIClientID string `json:"imageRegistryMSIClientID"`
	// diskMSIClientID is for the CSI driver of Azure Disks.
	// +kubebuilder:validation:MaxLength=255
	// +required
	DiskMSIClientID string `json:"diskMSIClientID"`
	// fileMSIClientID is for the CSI driver of Azure Files.
	// +kubebuilder:validation:MaxLength=255
	// +required
	FileMSIClientID string `json:"fileMSIClientID"`
}
