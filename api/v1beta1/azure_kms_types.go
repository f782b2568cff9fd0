package v1beta1

// AzureKMSSpec names the key that encrypts Secrets.
// +kubebuilder:validation:XValidation:rule="!has(self.backupKey) || self.backupKey.keyVaultName == self.activeKey.keyVaultName",message="backupKey.keyVaultName must match activeKey.keyVaultName"
// +kubebuilder:validation:XValidation:rule="!(has(self.kms) && has(self.workloadIdentity))",message="kms and workloadIdentity are mutually exclusive"
// +kubebuilder:validation:XValidation:rule="has(self.kms) || has(self.workloadIdentity)",message="one of kms or workloadIdentity must be set"
// +kubebuilder:validation:XValidation:rule="has(self.kms) == has(oldSelf.kms) && has(self.workloadIdentity) == has(oldSelf.workloadIdentity)",message="the authentication mode is immutable"
// +kubebuilder:validation:XValidation:rule="(has(self.keyVaultType) && self.keyVaultType != \"\" ? self.keyVaultType : 'KeyVault') == (has(oldSelf.keyVaultType) && oldSelf.keyVaultType != \"\" ? oldSelf.keyVaultType : 'KeyVault')",message="keyVaultType is immutable"
type AzureKMSSpec struct {
	// activeKey encrypts what is written.
	// +required
	ActiveKey AzureKMSKey `json:"activeKey"`
	// backupKey decrypts what an earlier key encrypted. Deprecated: the status tracks keys.
	// +optional
	BackupKey *AzureKMSKey `json:"backupKey,omitempty"`
	// kms is the identity of the managed flavour.
	// +optional
	KMS *ManagedIdentity `json:"kms,omitempty"`
	// workloadIdentity is the identity of the self-managed flavour; it needs the role "Key Vault Crypto User" on the vault.
	// +optional
	WorkloadIdentity *WorkloadIdentity `json:"workloadIdentity,omitempty"`
	// keyVaultType is KeyVault when unset.
	// +kubebuilder:validation:Enum=KeyVault;ManagedHSM
	// +optional
	KeyVaultType string `json:"keyVaultType,omitempty"`
	// keyVaultAccess says how the vault is reached; Private goes through the router of the hosted cluster.
	// +kubebuilder:validation:Enum=Public;Private;""
	// +optional
	KeyVaultAccess string `json:"keyVaultAccess,omitempty"`
}

// AzureKMSKey is one version of a key.
type AzureKMSKey struct {
	// keyVaultName names the vault.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +required
	KeyVaultName string `json:"keyVaultName"`
	// keyName names the key in the vault.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +required
	KeyName string `json:"keyName"`
	// keyVersion is the version of the key.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +required
	KeyVersion string `json:"keyVersion"`
}
