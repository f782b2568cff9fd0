// Package manifest turns validated options into the Kubernetes objects that `create cluster` and `create nodepool` apply or
// render. It is pure: no clock, no randomness, no files, no network.
package manifest

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// Cluster is everything that the objects of one hosted cluster are made from.
type Cluster struct {
	Name, Namespace string
	Annotations     map[string]string
	Labels          map[string]string
	PausedUntil     string

	ReleaseImage string
	Infra        Infra
	Identity     Identity
	Secrets      Secrets
	Publishing   Publishing
	Networking   Networking
	KMS          *KMS

	BaseDomainPrefix     *string // nil: the cluster's name; "": none
	KubeAPIServerDNSName string

	ControlPlaneAvailability   hyperv1.AvailabilityPolicy
	InfrastructureAvailability hyperv1.AvailabilityPolicy
	EtcdStorageClass           string
	EtcdStorageSize            resource.Quantity
	RestoreSnapshotURL         string // snapshot that etcd begins with; empty for none
	FIPS                       bool
	FeatureSet                 string
	OLMCatalogPlacement        hyperv1.OLMCatalogPlacement
	OLMDisableDefaultSources   bool
	EnabledCapabilities        []string
	DisabledCapabilities       []string
	NodeSelector               map[string]string
	PodLabels                  map[string]string
	Tolerations                []corev1.Toleration
	ImageContentSources        []hyperv1.ImageContentSource

	// NodePools is the template of the node pools; one for each of Zones, or one without a zone.
	NodePools NodePool
	Zones     []string
}

// Infra is the cloud infrastructure, made by `create infra azure` or brought by the user.
type Infra struct {
	// Cloud is empty for the public one.
	Cloud                             string
	InfraID, Location, ResourceGroup  string
	VNetID, SubnetID, SecurityGroupID string
	BaseDomain                        string
	PublicZoneID, PrivateZoneID       string
	BootImageID                       string
}

// Identity is who the cluster is in Azure.
type Identity struct {
	SubscriptionID, TenantID string
	// WorkloadIdentities, or ManagedIdentities in the managed flavour.
	WorkloadIdentities *hyperv1.AzureWorkloadIdentitySet
	ManagedIdentities  *hyperv1.AzureResourceManagedIdentities
	IssuerURL          string
}

// Secrets are the contents of the Secrets and ConfigMaps beside the HostedCluster; an empty one makes no object.
type Secrets struct {
	PullSecret    []byte
	SSHPublicKey  []byte
	SSHPrivateKey []byte
	SigningKey    []byte
	// EtcdEncryptionKey is 32 bytes; not used with KMS.
	EtcdEncryptionKey []byte
	TrustBundle       []byte
}

// Publishing says how the endpoints are reached.
type Publishing struct {
	ExternalDNSDomain              string
	EndpointAccess                 hyperv1.AzureTopology
	OAuthByLoadBalancer            bool
	NATSubnetID                    string
	AdditionalAllowedSubscriptions []string
}

// Networking are the networks of the hosted cluster.
type Networking struct {
	Type                                     hyperv1.NetworkType
	ClusterCIDRs, ServiceCIDRs, MachineCIDRs []string
	AllocateNodeCIDRs, DisableMultiNetwork   bool
	OVNKubernetesMTU                         int32
}

// KMS names the key that encrypts Secrets in etcd.
type KMS struct {
	VaultName, KeyName, KeyVersion string
	// VaultType is KeyVault or ManagedHSM.
	VaultType string
	// ClientID of the workload identity, or CredentialsSecretName in the key vault in the managed flavour.
	ClientID              string
	CredentialsSecretName string
}

// NodePool is everything that one node pool is made from.
type NodePool struct {
	Name, Namespace, ClusterName string
	Replicas                     int32
	ReleaseImage                 string
	Arch                         string
	AutoRepair                   bool
	UpgradeType                  hyperv1.UpgradeType
	PausedUntil                  string
	// DrainTimeout and VolumeDetachTimeout are left out when nil.
	DrainTimeout, VolumeDetachTimeout *time.Duration

	InstanceType        string
	SubnetID            string
	AvailabilityZone    string
	DiskSizeGiB         int32
	DiskStorageType     string
	DiskEncryptionSetID string
	EphemeralDisk       bool
	EncryptionAtHost    string
	DiagnosticsType     string
	DiagnosticsURI      string
	Image               Image
	Tags                map[string]string // of the machines in Azure, with their disks and interfaces
}

// Image says what the machines boot from: an id, a marketplace image, or (neither) what the release payload names.
type Image struct {
	ID                             string
	Generation                     string
	Publisher, Offer, SKU, Version string
	// Plan: the marketplace image has a purchase plan.
	Plan bool
}
