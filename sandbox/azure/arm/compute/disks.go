package compute

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const createAttach = "Attach"

// putDisks makes the disks of a machine, attaches those that are there, and lets go of those it does not have any more.
func putDisks(c *provider.Call, r *provider.Resource, old wire.Doc) error {
	storage, before := wire.Sub(wire.Props(r.Body), "storageProfile"), wire.Sub(wire.Props(old), "storageProfile")
	wire.Default(storage, "dataDisks", append([]any{}, wire.List(before, "dataDisks")...)) // who does not mention them changes nothing
	storage["dataDisks"] = staying(wire.Docs(storage, "dataDisks"))
	if err := checkSlots(wire.Docs(storage, "dataDisks")); err != nil {
		return err
	}
	attached := map[string]bool{}
	for _, d := range machineDisks(storage) {
		id, err := putMachineDisk(c, r, d)
		if err != nil {
			return err
		}
		attached[provider.Key(id)] = true
	}
	for _, d := range machineDisks(before) {
		if id := wire.Ref(d, "managedDisk"); !attached[provider.Key(id)] {
			detach(c, id)
		}
	}
	return nil
}

// staying are the data disks without those that the request says are to be detached.
func staying(disks []wire.Doc) []any {
	out := []any{}
	for _, d := range disks {
		if d["toBeDetached"] == true {
			continue
		}
		delete(d, "detachOption")
		d["toBeDetached"] = false
		out = append(out, d)
	}
	return out
}

// machineDisks are the data disks and the OS disk, which is told by having no slot.
func machineDisks(storage wire.Doc) []wire.Doc {
	disks := wire.Docs(storage, "dataDisks")
	if os, ok := storage["osDisk"].(wire.Doc); ok {
		disks = append(disks, os)
	}
	return disks
}

// checkSlots refuses two disks in one slot.
func checkSlots(disks []wire.Doc) error {
	taken := map[int]bool{}
	for _, d := range disks {
		lun := wire.Number(d, "lun")
		switch {
		case d["lun"] == nil:
			return provider.BadRequest("InvalidParameter", "Required parameter 'dataDisk.lun' is missing (null).")
		case lun < 0 || lun > 63:
			return provider.BadRequest("InvalidParameter", "The value '%d' of parameter 'dataDisk.lun' is out of range. The value must be between '0' and '63', inclusive.", lun)
		case taken[lun]:
			return provider.BadRequest("InvalidParameter", "A disk at LUN %d already exists.", lun)
		}
		taken[lun] = true
	}
	return nil
}

func putMachineDisk(c *provider.Call, r *provider.Resource, d wire.Doc) (id string, err error) {
	slot, isData := d["lun"]
	if isData {
		wire.Default(d, "name", fmt.Sprintf("%s_DataDisk_%v", r.Name, slot))
	} else {
		wire.Default(d, "name", r.Name+"_OsDisk_1")
		wire.Default(d, "osType", "Linux")
		wire.Default(d, "diskSizeGB", 30)
	}
	wire.Default(d, "managedDisk", wire.Doc{})
	managed := wire.Sub(d, "managedDisk")
	if wire.Text(managed, "id") == "" {
		managed["id"] = provider.ResourceGroupOf(r.ID) + "/providers/" + TypeDisk + "/" + wire.Text(d, "name")
	}
	disk := c.Edit(wire.Text(managed, "id"))
	switch {
	case disk != nil:
		if by := wire.Text(disk.Body, "managedBy"); by != "" && provider.Key(by) != provider.Key(r.ID) && c.Get(by) != nil {
			return "", provider.Conflict("ConflictingUserInput", "Disk '%s' cannot be attached as the disk is already owned by VM '%s'.", disk.ID, by)
		}
	case strings.EqualFold(wire.Text(d, "createOption"), createAttach):
		return "", provider.Failf(http.StatusNotFound, "NotFound", "Resource %s not found.", managed["id"])
	default:
		disk = newMachineDisk(c, r, d)
	}
	p := wire.EnsureProps(disk.Body)
	disk.Body["managedBy"], p["diskState"] = r.ID, "Attached"
	wire.Default(managed, "storageAccountType", wire.Text(wire.Sub(disk.Body, "sku"), "name"))
	wire.Default(d, "diskSizeGB", p["diskSizeGB"])
	managed["id"], d["name"] = disk.ID, disk.Name
	return disk.ID, nil
}

func newMachineDisk(c *provider.Call, r *provider.Resource, d wire.Doc) *provider.Resource {
	managed := wire.Sub(d, "managedDisk")
	wire.Default(managed, "storageAccountType", "Standard_LRS")
	option := wire.Text(d, "createOption")
	if option == "" {
		option = "FromImage"
	}
	return c.Save(wire.Text(managed, "id"), TypeDisk, wire.Doc{
		"location": r.Body["location"], "zones": r.Body["zones"], "tags": r.Body["tags"], "sku": wire.Doc{"name": managed["storageAccountType"]},
		"properties": wire.Doc{"provisioningState": "Succeeded", "diskSizeGB": d["diskSizeGB"], "osType": d["osType"],
			"creationData": wire.Doc{"createOption": option}, "uniqueId": uuid.NewString(), "timeCreated": time.Now().UTC().Format(time.RFC3339Nano)},
	})
}

// detach frees a disk that its machine has not any more.
func detach(c *provider.Call, id string) *provider.Resource {
	disk := c.Edit(id)
	if disk == nil {
		return nil
	}
	delete(disk.Body, "managedBy")
	wire.EnsureProps(disk.Body)["diskState"] = "Unattached"
	return disk
}

func putDisk(c *provider.Call, r *provider.Resource, old wire.Doc) error {
	p := wire.EnsureProps(r.Body)
	from, to := wire.Number(wire.Props(old), "diskSizeGB"), wire.Number(p, "diskSizeGB")
	if p["diskSizeGB"] == nil && old != nil {
		p["diskSizeGB"], to = wire.Props(old)["diskSizeGB"], from
	}
	if by := old["managedBy"]; by != nil {
		r.Body["managedBy"] = by
	}
	if to < from {
		return provider.Conflict("OperationNotAllowed", "The disk/snapshot resource with id %s cannot be resized down. Reducing disk/snapshot size is not supported in Azure to prevent data loss. If you do need to reduce the size of the disk, please create new snapshot/disks with the appropriate size. More information is available at https://aka.ms/AzureDisksFAQ", r.ID)
	}
	if vm := wire.Text(r.Body, "managedBy"); from > 0 && to > from && wire.Text(p, "osType") != "" && wire.Text(c.Tx.Get(store.Power, provider.Key(vm)), "wanted") == feed.PowerRunning {
		return provider.Conflict("OperationNotAllowed", "Cannot resize disk %s while it is attached to running VM %s. Resizing a disk of an Azure Virtual Machine requires the virtual machine to be deallocated. Please stop your VM and retry the operation.", r.Name, vm)
	}
	if err := checkDisk(c, r, old); err != nil {
		return err
	}
	wire.Default(p, "diskState", "Unattached")
	wire.Default(p, "uniqueId", uuid.NewString())
	wire.Default(p, "timeCreated", time.Now().UTC().Format(time.RFC3339Nano))
	return nil
}

// checkDisk judges a data disk that is made, and takes the size of what it is a copy of.
func checkDisk(c *provider.Call, r *provider.Resource, old wire.Doc) error {
	p := wire.EnsureProps(r.Body)
	if kind := wire.Text(wire.Sub(r.Body, "sku"), "name"); kind != "" {
		if _, known := diskTypes[kind]; !known {
			return invalid("sku.name", "The value '%s' of parameter 'sku.name' is invalid.", kind)
		}
	}
	creation := wire.Sub(p, "creationData")
	if old != nil || len(creation) == 0 {
		return nil
	}
	if wire.Text(creation, "createOption") == "Copy" {
		source, err := copied(c, creation)
		if err != nil {
			return err
		}
		have := wire.Number(wire.Props(source.Body), "diskSizeGB")
		wire.Default(p, "diskSizeGB", have)
		if wire.Number(p, "diskSizeGB") < have {
			return invalid("diskSizeGB", "The specified disk size %d GB is smaller than the size of the source, %d GB. Choose an equal or greater size.", wire.Number(p, "diskSizeGB"), have)
		}
	}
	switch size := wire.Number(p, "diskSizeGB"); {
	case p["diskSizeGB"] == nil && wire.Text(creation, "createOption") == "Empty":
		return missing("diskSizeGB")
	case p["diskSizeGB"] != nil && (size < 1 || size > maxDiskGiB):
		return invalid("diskSizeGB", "The value '%d' of parameter 'diskSizeGB' is out of range. The value must be between '1' and '%d', inclusive.", size, maxDiskGiB)
	}
	return nil
}

// maxDiskGiB is the greatest size of a disk that is no Ultra disk.
const maxDiskGiB = 32767

// copied is the disk or snapshot that something is to be a copy of.
func copied(c *provider.Call, creation wire.Doc) (*provider.Resource, error) {
	id := wire.Text(creation, "sourceResourceId")
	if id == "" {
		return nil, missing("creationData.sourceResourceId")
	}
	source := c.Get(id)
	if source == nil || !strings.EqualFold(source.Type, TypeDisk) && !strings.EqualFold(source.Type, TypeSnapshot) {
		return nil, provider.Failf(http.StatusNotFound, "NotFound", "Resource %s not found.", id)
	}
	creation["sourceResourceId"] = source.ID
	creation["sourceUniqueId"] = wire.Props(source.Body)["uniqueId"]
	return source, nil
}

// putSnapshot makes a copy of a disk, or of another snapshot.
func putSnapshot(c *provider.Call, r *provider.Resource, old wire.Doc) error {
	if old != nil {
		return nil
	}
	p := wire.EnsureProps(r.Body)
	creation := wire.Sub(p, "creationData")
	if wire.Text(creation, "createOption") != "Copy" {
		return provider.Failf(wire.NotServedStatus, wire.NotServedCode, "%s", wire.NotServed("A snapshot with another createOption than Copy"))
	}
	source, err := copied(c, creation)
	if err != nil {
		return err
	}
	p["diskSizeGB"] = wire.Props(source.Body)["diskSizeGB"]
	wire.Default(p, "diskState", "Unattached")
	wire.Default(p, "completionPercent", 100)
	wire.Default(p, "uniqueId", uuid.NewString())
	wire.Default(p, "timeCreated", time.Now().UTC().Format(time.RFC3339Nano))
	return nil
}

func guardDisk(c *provider.Call, r *provider.Resource) error {
	if vm := wire.Text(r.Body, "managedBy"); vm != "" && c.Get(vm) != nil {
		return provider.Conflict("OperationNotAllowed", "Disk %s is attached to VM %s.", r.Name, vm)
	}
	return nil
}
