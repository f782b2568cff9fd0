package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
)

// SecretEncryptionType says how Secrets are encrypted in etcd.
// +kubebuilder:validation:Enum=kms;aescbc
type SecretEncryptionType string

// Secret encryption types.
const (
	KMS    SecretEncryptionType = "kms"
	AESCBC SecretEncryptionType = "aescbc"
)

// SecretEncryptionSpec describes the encryption of Secrets in etcd.
type SecretEncryptionSpec struct {
	// +required
	Type SecretEncryptionType `json:"type"`
	// +optional
	KMS *KMSSpec `json:"kms,omitempty"`
	// +optional
	AESCBC *AESCBCSpec `json:"aescbc,omitempty"`
}

// AESCBCSpec names local keys.
type AESCBCSpec struct {
	// +required
	ActiveKey corev1.LocalObjectReference `json:"activeKey"`
	// +optional
	BackupKey *corev1.LocalObjectReference `json:"backupKey,omitempty"`
}

// KMSSpec names a key service.
type KMSSpec struct {
	// +kubebuilder:validation:Enum=IBMCloud;AWS;Azure
	// +required
	Provider string `json:"provider"`
	// +optional
	Azure *AzureKMSSpec `json:"azure,omitempty"`
}
