package v1beta1

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
