package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// EtcdManagementType says who runs etcd.
// +kubebuilder:validation:Enum=Managed;Unmanaged
type EtcdManagementType string

// Etcd management types.
const (
	Managed   EtcdManagementType = "Managed"
	Unmanaged EtcdManagementType = "Unmanaged"
)

// EtcdSpec describes the storage of the control plane.
// +kubebuilder:validation:XValidation:rule="self.managementType == 'Managed' ? has(self.managed) && !has(self.unmanaged) : true",message="Only managed configuration must be set when managementType is Managed"
// +kubebuilder:validation:XValidation:rule="self.managementType == 'Unmanaged' ? has(self.unmanaged) && !has(self.managed) : true",message="Only unmanaged configuration must be set when managementType is Unmanaged"
type EtcdSpec struct {
	// managementType says who runs etcd.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="managementType is immutable"
	// +required
	ManagementType EtcdManagementType `json:"managementType"`
	// managed is etcd run in the control-plane namespace.
	// +optional
	Managed *ManagedEtcdSpec `json:"managed,omitempty"`
	// unmanaged is etcd that someone else runs.
	// +optional
	Unmanaged *UnmanagedEtcdSpec `json:"unmanaged,omitempty"`
}

// ManagedEtcdSpec is etcd run in the control-plane namespace.
type ManagedEtcdSpec struct {
	// storage of each member.
	// +required
	Storage ManagedEtcdStorageSpec `json:"storage"`
}

// ManagedEtcdStorageSpec is the volume of each etcd member.
// +kubebuilder:validation:XValidation:rule="has(self.restoreSnapshotURL) == has(oldSelf.restoreSnapshotURL)",message="restoreSnapshotURL cannot be added or removed"
type ManagedEtcdStorageSpec struct {
	// type of the volumes.
	// +kubebuilder:validation:Enum=PersistentVolume
	// +required
	Type string `json:"type"`
	// persistentVolume describes the volumes.
	// +optional
	PersistentVolume *PersistentVolumeEtcdStorageSpec `json:"persistentVolume,omitempty"`
	// restoreSnapshotURL names a snapshot that a new cluster begins with.
	// +listType=set
	// +kubebuilder:validation:MaxItems=1
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.all(u, u.startsWith('https://') || u.startsWith('s3://'))",message="restoreSnapshotURL must be an https or s3 URL"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="restoreSnapshotURL is immutable"
	// +optional
	RestoreSnapshotURL []string `json:"restoreSnapshotURL,omitempty"`
}

// PersistentVolumeEtcdStorageSpec sizes the volume.
type PersistentVolumeEtcdStorageSpec struct {
	// storageClassName is the default class when unset.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="storageClassName is immutable"
	// +optional
	StorageClassName *string `json:"storageClassName,omitempty"`
	// size of each volume.
	// +kubebuilder:default="8Gi"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Etcd PV storage size is immutable"
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
}

// UnmanagedEtcdSpec points at an etcd that someone else runs.
type UnmanagedEtcdSpec struct {
	// endpoint of etcd.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^https://`
	// +required
	Endpoint string `json:"endpoint"`
	// tls of the connection.
	// +required
	TLS EtcdTLSConfig `json:"tls"`
}

// EtcdTLSConfig names the client certificate.
type EtcdTLSConfig struct {
	// clientSecret names a Secret with keys etcd-client.crt, etcd-client.key and etcd-client-ca.crt.
	// +required
	ClientSecret corev1.LocalObjectReference `json:"clientSecret"`
}
