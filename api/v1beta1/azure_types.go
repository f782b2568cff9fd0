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
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9_()\-.]*[a-zA-Z0-9_()\-]$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="ResourceGroupName is immutable"
	// +required
	ResourceGroupName string `json:"resourceGroup"`
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="VnetID is immutable"
	// +required
	VnetID string `json:"vnetID"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=355
	// +kubebuilder:validation:XValidation:rule="self.matches('^/subscriptions/[^/]+/resourceGroups/[^/]*[^/.]/providers/Microsoft.Network/virtualNetworks/[^/]*[^/.-]/subnets/[^/]*[^/.-]$')",message="subnetID must be of the form /subscriptions/S/resourceGroups/G/providers/Microsoft.Network/virtualNetworks/V/subnets/N"
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
	// +required
	Credentials AzureRegistryCredentials `json:"credentials"`
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

// AzureKMSSpec names the key that encrypts Secrets.
// +kubebuilder:validation:XValidation:rule="!has(self.backupKey) || self.backupKey.keyVaultName == self.activeKey.keyVaultName",message="backupKey.keyVaultName must match activeKey.keyVaultName"
// +kubebuilder:validation:XValidation:rule="!(has(self.kms) && has(self.workloadIdentity))",message="kms and workloadIdentity are mutually exclusive"
// +kubebuilder:validation:XValidation:rule="has(self.kms) || has(self.workloadIdentity)",message="one of kms or workloadIdentity must be set"
// +kubebuilder:validation:XValidation:rule="has(self.kms) == has(oldSelf.kms) && has(self.workloadIdentity) == has(oldSelf.workloadIdentity)",message="the authentication mode is immutable"
// +kubebuilder:validation:XValidation:rule="(has(self.keyVaultType) && self.keyVaultType != \"\" ? self.keyVaultType : 'KeyVault') == (has(oldSelf.keyVaultType) && oldSelf.keyVaultType != \"\" ? oldSelf.keyVaultType : 'KeyVault')",message="keyVaultType is immutable"
type AzureKMSSpec struct {
	// +required
	ActiveKey AzureKMSKey `json:"activeKey"`
	// +optional
	BackupKey *AzureKMSKey `json:"backupKey,omitempty"`
	// +optional
	KMS *ManagedIdentity `json:"kms,omitempty"`
	// +optional
	WorkloadIdentity *WorkloadIdentity `json:"workloadIdentity,omitempty"`
	// +kubebuilder:validation:Enum=KeyVault;ManagedHSM
	// +optional
	KeyVaultType string `json:"keyVaultType,omitempty"`
	// +kubebuilder:validation:Enum=Public;Private;""
	// +optional
	KeyVaultAccess string `json:"keyVaultAccess,omitempty"`
}

// AzureKMSKey is one version of a key.
type AzureKMSKey struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +required
	KeyVaultName string `json:"keyVaultName"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +required
	KeyName string `json:"keyName"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +required
	KeyVersion string `json:"keyVersion"`
}

// AzureNodePoolPlatform describes the virtual machines of a pool.
type AzureNodePoolPlatform struct {
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^(Standard_|Basic_)?[A-Z]+[0-9]+(-[0-9]+)?[abdilmptsCNP]*(_[A-Z]*[0-9]+[A-Z]*)?(_v[0-9]+)?$`
	// +required
	VMSize string `json:"vmSize"`
	// +required
	Image AzureVMImage `json:"image"`
	// +required
	OSDisk AzureNodePoolOSDisk `json:"osDisk"`
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self in ['1', '2', '3']"
	// +optional
	AvailabilityZone string `json:"availabilityZone,omitempty"`
	// +kubebuilder:validation:Enum=Enabled;Disabled
	// +kubebuilder:default=Enabled
	// +optional
	EncryptionAtHost string `json:"encryptionAtHost,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=355
	// +kubebuilder:validation:XValidation:rule="self.matches('^/subscriptions/[{]?[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}[}]?/resourceGroups/[^/]*[^/.]/providers/Microsoft.Network/virtualNetworks/[^/]*[^/.-]/subnets/[^/]*[^/.-]$')",message="subnetID must be of the form /subscriptions/S/resourceGroups/G/providers/Microsoft.Network/virtualNetworks/V/subnets/N with a UUID as subscription"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="SubnetID is immutable"
	// +required
	SubnetID string `json:"subnetID"`
	// +optional
	Diagnostics *AzureDiagnostics `json:"diagnostics,omitempty"`
}

// AzureVMImageType says where the image comes from.
// +kubebuilder:validation:Enum=ImageID;AzureMarketplace
type AzureVMImageType string

// Image types.
const (
	AzureImageID          AzureVMImageType = "ImageID"
	AzureMarketplaceImage AzureVMImageType = "AzureMarketplace"
)

// AzureVMImage is a union on its type.
// +kubebuilder:validation:XValidation:rule="(self.type == 'ImageID') == has(self.imageID)",message="imageID is required when type is ImageID, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="self.type == 'AzureMarketplace' || !has(self.azureMarketplace)",message="azureMarketplace is forbidden when type is not AzureMarketplace"
type AzureVMImage struct {
	// +required
	Type AzureVMImageType `json:"type"`
	// +kubebuilder:validation:MaxLength=255
	// +optional
	ImageID *string `json:"imageID,omitempty"`
	// +optional
	AzureMarketplace *AzureMarketplaceSpec `json:"azureMarketplace,omitempty"`
}

// AzureMarketplaceSpec names an image of the marketplace, or only its generation.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="has(self.publisher) == has(self.offer) && has(self.offer) == has(self.sku) && has(self.sku) == has(self.version)",message="publisher, offer, sku and version must either be all set, or all omitted"
type AzureMarketplaceSpec struct {
	// +kubebuilder:validation:Enum=Gen1;Gen2
	// +kubebuilder:default=Gen2
	// +optional
	ImageGeneration string `json:"imageGeneration,omitempty"`
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9-_]+$`
	// +optional
	Publisher string `json:"publisher,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Offer string `json:"offer,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-z0-9-_]+$`
	// +optional
	SKU string `json:"sku,omitempty"`
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+\.[0-9]+\.[0-9]+|latest)$`
	// +optional
	Version string `json:"version,omitempty"`
}

// AzureNodePoolOSDisk describes the disk of each machine.
type AzureNodePoolOSDisk struct {
	// +kubebuilder:validation:Minimum=16
	// +kubebuilder:validation:Maximum=32767
	// +optional
	SizeGiB int32 `json:"sizeGiB,omitempty"`
	// +kubebuilder:validation:Enum=Premium_LRS;PremiumV2_LRS;Standard_LRS;StandardSSD_LRS
	// +optional
	DiskStorageAccountType string `json:"diskStorageAccountType,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=285
	// +kubebuilder:validation:XValidation:rule="self.matches('^/subscriptions/[{]?[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}[}]?/resourceGroups/[^/]*[^/.]/providers/Microsoft.Compute/diskEncryptionSets/[^/]+$')",message="encryptionSetID must be of the form /subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/diskEncryptionSets/N"
	// +optional
	EncryptionSetID string `json:"encryptionSetID,omitempty"`
	// +kubebuilder:validation:Enum=Persistent;Ephemeral
	// +optional
	Persistence string `json:"persistence,omitempty"`
}

// AzureDiagnostics configures boot diagnostics.
// +kubebuilder:validation:XValidation:rule="(has(self.storageAccountType) && self.storageAccountType == 'UserManaged') == has(self.userManaged)",message="userManaged is required when storageAccountType is UserManaged, and forbidden otherwise"
type AzureDiagnostics struct {
	// +kubebuilder:validation:Enum=Managed;UserManaged;Disabled
	// +kubebuilder:default=Disabled
	// +optional
	StorageAccountType string `json:"storageAccountType,omitempty"`
	// +optional
	UserManaged *UserManagedDiagnostics `json:"userManaged,omitempty"`
}

// UserManagedDiagnostics names a storage account.
type UserManagedDiagnostics struct {
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^https://`
	// +required
	StorageAccountURI string `json:"storageAccountURI"`
}
