package export

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// pools are those that a creation makes: one with the cluster's name, or one for each zone.
func (e *exported) pools(hc *hyperv1.HostedCluster, all []hyperv1.NodePool) {
	var ours []hyperv1.NodePool
	var zones []string
	for _, np := range all {
		if np.Spec.ClusterName != hc.Name {
			continue
		}
		zone, inZone := strings.CutPrefix(np.Name, hc.Name+"-")
		inZone = inZone && np.Spec.Platform.Azure != nil && zone == np.Spec.Platform.Azure.AvailabilityZone && zone != ""
		if np.Name != hc.Name && !inZone {
			e.note("node pool %s is made by `hypershift create nodepool azure`", np.Name)
			continue
		}
		ours = append(ours, np)
		if inZone {
			zones = append(zones, zone)
		}
	}
	if len(ours) == 0 {
		e.spec["node-pool-replicas"] = -1
		return
	}
	slices.Sort(zones)
	e.set("availability-zones", zones)
	e.pool(&ours[0], len(zones) > 0)
	for _, other := range ours[1:] {
		if !alike(ours[0].Spec, other.Spec) {
			e.note("node pool %s differs from %s, which is what is written here", other.Name, ours[0].Name)
		}
	}
}

// alike compares pools but for their zones.
func alike(a, b hyperv1.NodePoolSpec) bool {
	if a.Platform.Azure == nil || b.Platform.Azure == nil {
		return reflect.DeepEqual(a, b)
	}
	pa, pb := *a.Platform.Azure, *b.Platform.Azure
	pa.AvailabilityZone, pb.AvailabilityZone = "", ""
	a.Platform.Azure, b.Platform.Azure = &pa, &pb
	return reflect.DeepEqual(a, b)
}

func (e *exported) pool(np *hyperv1.NodePool, zoned bool) {
	s, p := np.Spec, np.Spec.Platform.Azure
	switch {
	case s.Replicas != nil:
		e.spec["node-pool-replicas"] = *s.Replicas
	case s.AutoScaling != nil:
		e.note("node pool %s is scaled by itself: spec.autoScaling has no flag", np.Name)
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
	i := np.Spec.Platform.Azure.Image
	if i.ImageID != nil {
		e.note("the machines of node pool %s boot image %s, which no flag names", np.Name, *i.ImageID)
	}
	if m := i.AzureMarketplace; m != nil {
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
