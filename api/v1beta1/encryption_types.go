package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// type says which member counts.
	// +required
	Type SecretEncryptionType `json:"type"`
	// kms names a key of a key service.
	// +optional
	KMS *KMSSpec `json:"kms,omitempty"`
	// aescbc names a local key.
	// +optional
	AESCBC *AESCBCSpec `json:"aescbc,omitempty"`
}

// AESCBCSpec names local keys.
type AESCBCSpec struct {
	// activeKey names a Secret whose key "key" holds 32 bytes.
	// +required
	ActiveKey corev1.LocalObjectReference `json:"activeKey"`
	// backupKey names an earlier key. Deprecated: the status tracks keys.
	// +optional
	BackupKey *corev1.LocalObjectReference `json:"backupKey,omitempty"`
}

// KMSSpec names a key service.
type KMSSpec struct {
	// provider says whose key service it is.
	// +kubebuilder:validation:Enum=IBMCloud;AWS;Azure
	// +required
	Provider string `json:"provider"`
	// azure names a key of an Azure key vault.
	// +optional
	Azure *AzureKMSSpec `json:"azure,omitempty"`
}

// SecretEncryptionStatus reports which key encrypts Secrets and how changes of it went.
type SecretEncryptionStatus struct {
	// activeKey is the key that encrypts what is written.
	// +optional
	ActiveKey *SecretEncryptionKeyStatus `json:"activeKey,omitempty"`
	// targetKey is the key that a running rotation moves to.
	// +optional
	TargetKey *SecretEncryptionKeyStatus `json:"targetKey,omitempty"`
	// history of rotations, newest first.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5
	// +optional
	History []SecretEncryptionRotation `json:"history,omitempty"`
}

// SecretEncryptionProvider says whose key it is.
// +kubebuilder:validation:Enum=Azure;AWS;IBMCloud;AESCBC
type SecretEncryptionProvider string

// SecretEncryptionKeyStatus identifies a key; a union on its provider.
// +kubebuilder:validation:XValidation:rule="(self.provider == 'Azure') == has(self.azure)",message="azure is required when provider is Azure, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="(self.provider == 'AESCBC') == has(self.aescbc)",message="aescbc is required when provider is AESCBC, and forbidden otherwise"
type SecretEncryptionKeyStatus struct {
	// provider of the key.
	// +required
	Provider SecretEncryptionProvider `json:"provider"`
	// azure names a key of a key vault.
	// +optional
	Azure *AzureKMSKey `json:"azure,omitempty"`
	// aescbc names a local key.
	// +optional
	AESCBC *AESCBCKeyStatus `json:"aescbc,omitempty"`
}

// AESCBCKeyStatus identifies a local key by its Secret and content.
type AESCBCKeyStatus struct {
	// secret holds the key.
	// +required
	Secret corev1.LocalObjectReference `json:"secret"`
	// dataHash tells a changed key of the same name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	DataHash string `json:"dataHash"`
}

// SecretEncryptionRotation is one change of the key.
type SecretEncryptionRotation struct {
	// from is the key before.
	// +required
	From SecretEncryptionFingerprint `json:"from"`
	// to is the key after.
	// +required
	To SecretEncryptionFingerprint `json:"to"`
	// state of the rotation.
	// +kubebuilder:validation:Enum=ReadOnlyDeploy;WritePromote;Migrating;Completed;Interrupted
	// +required
	State string `json:"state"`
	// startedTime is when the rotation began.
	// +required
	StartedTime metav1.Time `json:"startedTime"`
	// completionTime is when it ended; absent while it runs.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// SecretEncryptionFingerprint identifies a key without naming it.
type SecretEncryptionFingerprint struct {
	// provider of the key.
	// +required
	Provider SecretEncryptionProvider `json:"provider"`
	// fingerprint of the key's name and version.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Fingerprint string `json:"fingerprint"`
}
