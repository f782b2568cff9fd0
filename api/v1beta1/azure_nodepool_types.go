package v1beta1

// AzureNodePoolPlatform describes the virtual machines of a pool.
type AzureNodePoolPlatform struct {
	// vmSize is a size of virtual machines, such as Standard_D4s_v5.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^(Standard_|Basic_)?[A-Z]+[0-9]+(-[0-9]+)?[abdilmptsCNP]*(_[A-Z]*[0-9]+[A-Z]*)?(_v[0-9]+)?$`
	// +required
	VMSize string `json:"vmSize"`
	// image is what machines boot from.
	// +required
	Image AzureVMImage `json:"image"`
	// osDisk is the disk of each machine.
	// +required
	OSDisk AzureNodePoolOSDisk `json:"osDisk"`
	// availabilityZone places the machines; unset leaves it to Azure.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self in ['1', '2', '3']"
	// +optional
	AvailabilityZone string `json:"availabilityZone,omitempty"`
	// encryptionAtHost encrypts disks and caches on the host.
	// +kubebuilder:validation:Enum=Enabled;Disabled
	// +kubebuilder:default=Enabled
	// +optional
	EncryptionAtHost string `json:"encryptionAtHost,omitempty"`
	// subnetID is the ARM id of the machines' subnet, in the network of the hosted cluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=355
	// +kubebuilder:validation:XValidation:rule="self.matches('^/subscriptions/[{]?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}[}]?/resourceGroups/[^/]+/providers/Microsoft[.]Network/virtualNetworks/[^/]+/subnets/[^/]+$')",message="subnetID must be of the form /subscriptions/S/resourceGroups/G/providers/Microsoft.Network/virtualNetworks/V/subnets/N with a UUID as subscription"
	// +kubebuilder:validation:XValidation:rule="self.matches('/resourceGroups/[^/]*[a-zA-Z0-9_().-][^/]*/') && !self.matches('/resourceGroups/[^/]*[.]/')",message="the resource group in subnetID must consist of 1 to 90 alphanumeric characters, '-', '_', '(', ')' and '.', and not end with '.'"
	// +kubebuilder:validation:XValidation:rule="self.matches('/virtualNetworks/[^/]*[a-zA-Z0-9_.-]{2}[^/]*/') && !self.matches('/virtualNetworks/[^/]*[.-]/')",message="the virtual network in subnetID must consist of 2 to 64 alphanumeric characters, '-', '_' and '.', and not end with '.' or '-'"
	// +kubebuilder:validation:XValidation:rule="self.matches('/subnets/[^/]*[a-zA-Z0-9][^/]*$') && !self.matches('[.-]$')",message="the subnet in subnetID must consist of 1 to 80 alphanumeric characters, '-', '_' and '.', start with an alphanumeric character and not end with '.' or '-'"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="SubnetID is immutable"
	// +required
	SubnetID string `json:"subnetID"`
	// diagnostics collects the boot log of machines.
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
	// type says which member counts.
	// +required
	Type AzureVMImageType `json:"type"`
	// imageID is the ARM id of an image.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	ImageID *string `json:"imageID,omitempty"`
	// azureMarketplace names an image of the marketplace; what is left out follows the release.
	// +optional
	AzureMarketplace *AzureMarketplaceSpec `json:"azureMarketplace,omitempty"`
}

// AzureMarketplaceSpec names an image of the marketplace, or only its generation.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="has(self.publisher) == has(self.offer) && has(self.offer) == has(self.sku) && has(self.sku) == has(self.version)",message="publisher, offer, sku and version must either be all set, or all omitted"
type AzureMarketplaceSpec struct {
	// imageGeneration is the generation of virtual machines the image is for.
	// +kubebuilder:validation:Enum=Gen1;Gen2
	// +kubebuilder:default=Gen2
	// +optional
	ImageGeneration string `json:"imageGeneration,omitempty"`
	// publisher of the image.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9-_]+$`
	// +optional
	Publisher string `json:"publisher,omitempty"`
	// offer of the publisher.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Offer string `json:"offer,omitempty"`
	// sku of the offer.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-z0-9-_]+$`
	// +optional
	SKU string `json:"sku,omitempty"`
	// version of the image, N.N.N or latest.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+\.[0-9]+\.[0-9]+|latest)$`
	// +optional
	Version string `json:"version,omitempty"`
}

// AzureNodePoolOSDisk describes the disk of each machine.
type AzureNodePoolOSDisk struct {
	// sizeGiB is the size in GiB.
	// +kubebuilder:validation:Minimum=16
	// +kubebuilder:validation:Maximum=32767
	// +optional
	SizeGiB int32 `json:"sizeGiB,omitempty"`
	// diskStorageAccountType is the kind of storage.
	// +kubebuilder:validation:Enum=Premium_LRS;PremiumV2_LRS;Standard_LRS;StandardSSD_LRS
	// +optional
	DiskStorageAccountType string `json:"diskStorageAccountType,omitempty"`
	// encryptionSetID is the ARM id of a disk encryption set.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=285
	// +kubebuilder:validation:XValidation:rule="self.matches('^/subscriptions/[{]?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}[}]?/resourceGroups/[^/]+/providers/Microsoft[.]Compute/diskEncryptionSets/[^/]+$')",message="encryptionSetID must be of the form /subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/diskEncryptionSets/N with a UUID as subscription"
	// +kubebuilder:validation:XValidation:rule="self.matches('/resourceGroups/[^/]*[a-zA-Z0-9_().-][^/]*/') && !self.matches('/resourceGroups/[^/]*[.]/')",message="the resource group in encryptionSetID must consist of 1 to 90 alphanumeric characters, '-', '_', '(', ')' and '.', and not end with '.'"
	// +kubebuilder:validation:XValidation:rule="self.matches('/diskEncryptionSets/[^/]*[a-zA-Z0-9_-][^/]*$')",message="the set in encryptionSetID must consist of 1 to 80 alphanumeric characters, '-' and '_'"
	// +optional
	EncryptionSetID string `json:"encryptionSetID,omitempty"`
	// persistence is Persistent when unset; Ephemeral disks live on the host.
	// +kubebuilder:validation:Enum=Persistent;Ephemeral
	// +optional
	Persistence string `json:"persistence,omitempty"`
}

// AzureDiagnostics configures boot diagnostics.
// +kubebuilder:validation:XValidation:rule="(has(self.storageAccountType) && self.storageAccountType == 'UserManaged') == has(self.userManaged)",message="userManaged is required when storageAccountType is UserManaged, and forbidden otherwise"
type AzureDiagnostics struct {
	// storageAccountType says whose storage account is used.
	// +kubebuilder:validation:Enum=Managed;UserManaged;Disabled
	// +kubebuilder:default=Disabled
	// +optional
	StorageAccountType string `json:"storageAccountType,omitempty"`
	// userManaged names the user's own account.
	// +optional
	UserManaged *UserManagedDiagnostics `json:"userManaged,omitempty"`
}

// UserManagedDiagnostics names a storage account.
type UserManagedDiagnostics struct {
	// storageAccountURI is the blob endpoint of the account.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('https://') && isURL(self)",message="storageAccountURI must be a valid https URL"
	// +required
	StorageAccountURI string `json:"storageAccountURI"`
}
