package manifest

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure/tags"
)

// Pools returns the NodePools.
func (c *Cluster) Pools() []*hyperv1.NodePool {
	var out []*hyperv1.NodePool
	for _, np := range c.nodePools() {
		out = append(out, np.Object())
	}
	return out
}

// nodePools fills the template in: one pool named as the cluster, or one per zone with the full number of replicas each.
// A negative number of replicas makes none.
func (c *Cluster) nodePools() []NodePool {
	if c.NodePools.Replicas < 0 {
		return nil
	}
	base := c.NodePools
	base.Name, base.Namespace, base.ClusterName = c.Name, c.Namespace, c.Name
	base.ReleaseImage = c.ReleaseImage
	base.SubnetID = cmp.Or(base.SubnetID, c.Infra.SubnetID)
	base.PausedUntil = c.PausedUntil
	if c.Infra.BootImageID != "" && base.Image.Publisher == "" {
		base.Image = Image{ID: c.Infra.BootImageID}
	}
	if len(c.Zones) == 0 {
		return []NodePool{base}
	}
	var pools []NodePool
	for _, zone := range c.Zones {
		pool := base
		pool.Name, pool.AvailabilityZone = c.Name+"-"+zone, zone
		pools = append(pools, pool)
	}
	return pools
}

// Object returns the NodePool.
func (n NodePool) Object() *hyperv1.NodePool {
	np := &hyperv1.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: hyperv1.GroupVersion.String(), Kind: "NodePool"},
		ObjectMeta: metav1.ObjectMeta{Namespace: n.Namespace, Name: n.Name},
		Spec: hyperv1.NodePoolSpec{
			ClusterName:             n.ClusterName,
			Release:                 hyperv1.Release{Image: n.ReleaseImage},
			Replicas:                &n.Replicas,
			Arch:                    n.Arch,
			Management:              hyperv1.NodePoolManagement{UpgradeType: n.UpgradeType, AutoRepair: n.AutoRepair},
			NodeDrainTimeout:        duration(n.DrainTimeout),
			NodeVolumeDetachTimeout: duration(n.VolumeDetachTimeout),
			Platform:                hyperv1.NodePoolPlatform{Type: hyperv1.AzurePlatform, Azure: n.platform()},
		},
	}
	if np.Spec.Management.UpgradeType == "" {
		np.Spec.Management.UpgradeType = hyperv1.UpgradeTypeReplace
	}
	if n.Image.Plan {
		np.Annotations = map[string]string{hyperv1.AzureImagePlanAnnotation: "true"}
	}
	if len(n.Tags) > 0 {
		if np.Annotations == nil {
			np.Annotations = map[string]string{}
		}
		np.Annotations[hyperv1.AzureTagsAnnotation] = tags.Format(n.Tags)
	}
	if n.PausedUntil != "" {
		np.Spec.PausedUntil = &n.PausedUntil
	}
	return np
}

func duration(d *time.Duration) *metav1.Duration {
	if d == nil {
		return nil
	}
	return &metav1.Duration{Duration: *d}
}

func (n NodePool) platform() *hyperv1.AzureNodePoolPlatform {
	p := &hyperv1.AzureNodePoolPlatform{
		VMSize: n.InstanceType,
		Image:  n.image(),
		OSDisk: hyperv1.AzureNodePoolOSDisk{
			SizeGiB: n.DiskSizeGiB, DiskStorageAccountType: n.DiskStorageType, EncryptionSetID: n.DiskEncryptionSetID,
		},
		AvailabilityZone: n.AvailabilityZone,
		EncryptionAtHost: n.EncryptionAtHost,
		SubnetID:         n.SubnetID,
	}
	if p.VMSize == "" {
		p.VMSize = DefaultInstanceType(n.Arch)
	}
	if n.EphemeralDisk {
		p.OSDisk.Persistence = "Ephemeral"
	}
	if n.DiagnosticsType != "" {
		p.Diagnostics = &hyperv1.AzureDiagnostics{StorageAccountType: n.DiagnosticsType}
		if n.DiagnosticsURI != "" {
			p.Diagnostics.UserManaged = &hyperv1.UserManagedDiagnostics{StorageAccountURI: n.DiagnosticsURI}
		}
	}
	return p
}

// DefaultInstanceType is the size of a machine when none is asked for; empty for an architecture without one.
func DefaultInstanceType(arch string) string {
	return map[string]string{"amd64": "Standard_D4s_v5", "arm64": "Standard_D4ps_v5"}[arch]
}

func (n NodePool) image() hyperv1.AzureVMImage {
	if n.Image.ID != "" {
		return hyperv1.AzureVMImage{Type: hyperv1.AzureImageID, ImageID: &n.Image.ID}
	}
	return hyperv1.AzureVMImage{Type: hyperv1.AzureMarketplaceImage, AzureMarketplace: &hyperv1.AzureMarketplaceSpec{
		ImageGeneration: n.Image.Generation,
		Publisher:       n.Image.Publisher, Offer: n.Image.Offer, SKU: n.Image.SKU, Version: n.Image.Version,
	}}
}
