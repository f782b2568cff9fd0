package export

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// pools are those that a creation makes: one in each of the zones, or one with the cluster's name. What is written is as the first of them
// is.
func (e *exported) pools(hc *hyperv1.HostedCluster, all []pool) {
	var named *pool
	zoned := map[string]*pool{}
	for i := range all {
		p := &all[i]
		zone, inZone := strings.CutPrefix(p.Name, hc.Name+"-")
		switch azure := p.Spec.Platform.Azure; {
		case p.Name == hc.Name:
			named = p
		case inZone && azure != nil && zone != "" && zone == azure.AvailabilityZone:
			zoned[zone] = p
		}
	}
	zones := slices.Sorted(maps.Keys(zoned))
	switch {
	case len(zones) > 0:
		e.set("availability-zones", zones)
		e.pool(hc, &zoned[zones[0]].NodePool, true)
	case named != nil:
		e.pool(hc, &named.NodePool, false)
	default:
		e.spec["node-pool-replicas"] = -1
	}
}

func (e *exported) pool(hc *hyperv1.HostedCluster, np *hyperv1.NodePool, zoned bool) {
	s, p := np.Spec, np.Spec.Platform.Azure
	switch {
	case s.Replicas != nil:
		e.spec["node-pool-replicas"] = *s.Replicas
	case s.AutoScaling != nil:
		e.spec["node-pool-replicas"] = s.AutoScaling.Min
	}
	e.set("arch", s.Arch)
	e.set("auto-repair", s.Management.AutoRepair)
	e.set("node-upgrade-type", s.Management.UpgradeType)
	e.duration("node-drain-timeout", s.NodeDrainTimeout)
	e.duration("node-volume-detach-timeout", s.NodeVolumeDetachTimeout)
	if p == nil {
		return
	}
	e.set("instance-type", p.VMSize)
	if p.SubnetID != hc.Spec.Platform.Azure.SubnetID {
		e.set("nodepool-subnet-id", p.SubnetID)
	}
	e.set("root-disk-size", p.OSDisk.SizeGiB)
	e.set("disk-storage-account-type", p.OSDisk.DiskStorageAccountType)
	e.set("disk-encryption-set-id", p.OSDisk.EncryptionSetID)
	e.set("enable-ephemeral-disk", p.OSDisk.Persistence == "Ephemeral")
	e.set("encryption-at-host", p.EncryptionAtHost)
	if !zoned {
		e.set("availability-zone", p.AvailabilityZone)
	}
	if d := p.Diagnostics; d != nil {
		e.set("diagnostics-storage-account-type", d.StorageAccountType)
		if d.UserManaged != nil {
			e.set("diagnostics-storage-account-uri", d.UserManaged.StorageAccountURI)
		}
	}
	e.image(np)
}

func (e *exported) image(np *hyperv1.NodePool) {
	if m := np.Spec.Platform.Azure.Image.AzureMarketplace; m != nil {
		e.set("image-generation", m.ImageGeneration)
		e.set("marketplace-publisher", m.Publisher)
		e.set("marketplace-offer", m.Offer)
		e.set("marketplace-sku", m.SKU)
		e.set("marketplace-version", m.Version)
		e.set("marketplace-purchase-plan", np.Annotations[hyperv1.AzureImagePlanAnnotation] == "true")
	}
}

func (e *exported) duration(flag string, d *metav1.Duration) {
	if d != nil {
		e.set(flag, d.Duration.String())
	}
}
