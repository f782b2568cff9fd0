package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// HCPEtcdBackup asks for one backup of a control plane's etcd. It is a technology preview. It lies in the namespace of the control plane, and is what happens once: another backup is another object.
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:metadata:annotations="release.openshift.io/feature-set=TechPreviewNoUpgrade"
// +kubebuilder:resource:path=hcpetcdbackups,shortName=hcpetcdbk,scope=Namespaced
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Completed",type="string",JSONPath=".status.conditions[?(@.type==\"BackupCompleted\")].status"
// +kubebuilder:printcolumn:name="URL",type="string",JSONPath=".status.snapshotURL"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type HCPEtcdBackup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec HCPEtcdBackupSpec `json:"spec"`
	// +optional
	Status HCPEtcdBackupStatus `json:"status,omitempty,omitzero"`
}

// HCPEtcdBackupList is a list of HCPEtcdBackups.
// +kubebuilder:object:root=true
type HCPEtcdBackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HCPEtcdBackup `json:"items"`
}

// HCPEtcdBackupSpec is the desired state.
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec is immutable"
type HCPEtcdBackupSpec struct {
	// storage is where the backup goes.
	// +required
	Storage HCPEtcdBackupStorage `json:"storage"`
}

// HCPEtcdBackupStorage is a union on its type.
// +kubebuilder:validation:XValidation:rule="(self.storageType == 'AzureBlob') == has(self.azureBlob)",message="azureBlob is required when storageType is AzureBlob, and forbidden otherwise"
// +kubebuilder:validation:XValidation:rule="(self.storageType == 'S3') == has(self.s3)",message="s3 is required when storageType is S3, and forbidden otherwise"
type HCPEtcdBackupStorage struct {
	// storageType says which member counts.
	// +kubebuilder:validation:Enum=S3;AzureBlob
	// +required
	StorageType string `json:"storageType"`
	// azureBlob is a container of a storage account.
	// +optional
	AzureBlob *HCPEtcdBackupAzureBlob `json:"azureBlob,omitempty"`
	// s3 is refused: a backup there fails.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	S3 *runtime.RawExtension `json:"s3,omitempty"`
}

// HCPEtcdBackupAzureBlob is a place in a storage account.
type HCPEtcdBackupAzureBlob struct {
	// container of the account.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+(-[a-z0-9]+)*$`
	// +required
	Container string `json:"container"`
	// storageAccount is the account's name.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+$`
	// +required
	StorageAccount string `json:"storageAccount"`
	// keyPrefix begins the blob's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	KeyPrefix string `json:"keyPrefix"`
	// credentials names a Secret of the same namespace. Its key cloud has the lines AZURE_CLIENT_ID=... and, where it is not the hosted cluster's, AZURE_TENANT_ID=...: an identity with role Storage Blob Data Contributor, and with a federated credential for the hosted cluster's issuer and subject system:serviceaccount:kube-system:etcd-backup. Client secrets are refused.
	// +required
	Credentials HCPEtcdBackupCredentials `json:"credentials"`
	// encryptionKeyURL is a key of a key vault or managed HSM that encrypts the backup. A storage account takes no key with a blob: a backup that has one fails; give the key to the account.
	// +kubebuilder:validation:MaxLength=210
	// +kubebuilder:validation:Pattern=`^https://[a-zA-Z0-9-]+\.(vault|managedhsm)\.(azure\.net|usgovcloudapi\.net|azure\.cn|microsoftazure\.de|sovcloud-api\.fr)/keys/[a-zA-Z0-9-]+(/[a-zA-Z0-9]+)?$`
	// +optional
	EncryptionKeyURL string `json:"encryptionKeyURL,omitempty"`
}

// HCPEtcdBackupCredentials names a Secret.
type HCPEtcdBackupCredentials struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`
}

// HCPEtcdBackupStatus is the observed state.
type HCPEtcdBackupStatus struct {
	// conditions hold BackupCompleted.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=10
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// snapshotURL is where the backup lies.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^(https|s3)://`
	// +optional
	SnapshotURL string `json:"snapshotURL,omitempty"`
	// encryptionMetadata tells how the backup is encrypted.
	// +optional
	EncryptionMetadata *HCPEtcdBackupEncryption `json:"encryptionMetadata,omitempty"`
}

// HCPEtcdBackupEncryption has exactly one member.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type HCPEtcdBackupEncryption struct {
	// azure is carried unchanged.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Azure *runtime.RawExtension `json:"azure,omitempty"`
	// aws is carried unchanged.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	AWS *runtime.RawExtension `json:"aws,omitempty"`
}
