package compute

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/marketplace"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// machineCheck is one machine that is written, and what it is checked against.
type machineCheck struct {
	*provider.Call
	vm    *provider.Resource
	props wire.Doc
	fresh bool // it is being made
	size  Size
	boots *bootable
}

// bootable is what a machine boots from, nil where nothing is known of it, as of a disk that is attached.
type bootable struct {
	generation   string
	architecture string
	sizeGiB      int    // of its OS disk, 0 when nobody knows
	plan         *image // bought
}

// checkMachine refuses a machine as Azure does. What is fixed at the creation is looked at only then.
func checkMachine(c *provider.Call, vm *provider.Resource, old wire.Doc, size Size) error {
	m := &machineCheck{Call: c, vm: vm, props: wire.Props(vm.Body), fresh: old == nil, size: size}
	checks := []func() error{func() error { return m.stays(old) }, m.image, m.fits, m.disks, m.ephemeral, m.interfaces}
	if m.fresh {
		checks = []func() error{m.image, m.purchase, m.fits, m.profile, m.customData, m.disks, m.ephemeral, m.interfaces}
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func invalid(target, format string, args ...any) *provider.Error {
	e := provider.BadRequest("InvalidParameter", format, args...)
	e.Extra = wire.Doc{"target": target}
	return e
}

func missing(parameter string) *provider.Error {
	return invalid(parameter, "Required parameter '%s' is missing (null).", parameter)
}

// fromImage tells whether the OS disk is made of an image, and not attached.
func (m *machineCheck) fromImage() bool {
	option := wire.Text(wire.Sub(wire.Sub(m.props, "storageProfile"), "osDisk"), "createOption")
	return !strings.EqualFold(option, createAttach)
}

// image finds what the machine boots.
func (m *machineCheck) image() error {
	if !m.fromImage() {
		return nil
	}
	ref := wire.Sub(wire.Sub(m.props, "storageProfile"), "imageReference")
	if id := wire.Text(ref, "id"); id != "" {
		return m.ownImage(id)
	}
	switch {
	case len(ref) == 0 && m.fresh:
		return missing("imageReference")
	case len(ref) == 0:
		return nil
	}
	for _, field := range []string{"publisher", "offer", "sku", "version"} {
		if wire.Text(ref, field) == "" {
			return missing("imageReference." + field)
		}
	}
	e := findImage(wire.Text(ref, "publisher"), wire.Text(ref, "offer"), wire.Text(ref, "sku"))
	if e == nil || e.version(wire.Text(ref, "version")) == "" {
		refusal := provider.Failf(http.StatusNotFound, "PlatformImageNotFound", "The platform image '%s:%s:%s:%s' is not available. Verify that all fields in the storage profile are correct. For more details about storage profile information, please refer to https://aka.ms/storageprofile",
			ref["publisher"], ref["offer"], ref["sku"], ref["version"])
		refusal.Extra = wire.Doc{"target": "imageReference"}
		return refusal
	}
	ref["exactVersion"] = e.version(wire.Text(ref, "version"))
	m.boots = &bootable{generation: e.generation(), architecture: e.architecture(), sizeGiB: e.sizeGiB}
	if e.plan {
		m.boots.plan = e
	}
	return nil
}

// ownImage is one that the user has made: a managed image, or one of a gallery.
func (m *machineCheck) ownImage(id string) error {
	r := m.Get(id)
	if r == nil {
		return provider.Failf(http.StatusNotFound, "NotFound", "The resource '%s' referenced by imageReference of virtual machine '%s' was not found.", id, m.vm.ID)
	}
	definition := r
	if strings.EqualFold(r.Type, typeImageVersion) {
		definition = m.Get(id[:strings.LastIndex(strings.ToLower(id), "/versions/")])
	} else if err := sameRegion(m.vm, r); err != nil {
		return err
	}
	m.boots = &bootable{generation: "V1", architecture: architecture(false)}
	if definition != nil {
		p := wire.Props(definition.Body)
		if g := wire.Text(p, "hyperVGeneration"); g != "" {
			m.boots.generation = g
		}
		m.boots.architecture = architecture(strings.EqualFold(wire.Text(p, "architecture"), architecture(true)))
	}
	return nil
}

// sameRegion wants what a resource refers to in its own region.
func sameRegion(by, r *provider.Resource) error {
	if wire.Text(by.Body, "location") == wire.Text(r.Body, "location") {
		return nil
	}
	return provider.MissingReference(r.ID, by)
}

// sameZone wants the disk of a machine in the machine's zone. One that is kept in all zones is in none.
func sameZone(vm, disk *provider.Resource) error {
	has, wants := wire.Texts(disk.Body, "zones"), wire.Texts(vm.Body, "zones")
	switch redundant := strings.HasSuffix(wire.Text(wire.Sub(disk.Body, "sku"), "name"), "_ZRS"); {
	case redundant, slices.Equal(has, wants):
		return nil
	case len(has) == 0:
		return provider.BadRequest("BadRequest", "Disk %s cannot be attached to the VM because it is not in zone '%s'.", disk.ID, wants[0])
	}
	return provider.BadRequest("BadRequest", "Disk %s cannot be attached to the VM because it is not in the same zone as the VM. VM zone: '%s'. Disk zone: "+
		"'%s'.", disk.ID, strings.Join(wants, ","), has[0])
}

// fixed are the members of a machine that stay as it was made with, by what refusals call them.
var fixed = []struct {
	name    string
	members []string
}{
	{"osProfile.computerName", []string{"osProfile", "computerName"}},
	{"osProfile.adminUsername", []string{"osProfile", "adminUsername"}},
	{"imageReference", []string{"storageProfile", "imageReference", "publisher"}},
	{"imageReference", []string{"storageProfile", "imageReference", "offer"}},
	{"imageReference", []string{"storageProfile", "imageReference", "sku"}},
	{"imageReference", []string{"storageProfile", "imageReference", "version"}},
	{"imageReference", []string{"storageProfile", "imageReference", "id"}},
	{"availabilitySet.id", []string{"availabilitySet", "id"}},
}

// stays refuses other values of what is fixed.
func (m *machineCheck) stays(old wire.Doc) error {
	at := func(d wire.Doc, members []string) string {
		last := len(members) - 1
		for _, member := range members[:last] {
			d = wire.Sub(d, member)
		}
		return wire.Text(d, members[last])
	}
	for _, f := range fixed {
		if !strings.EqualFold(at(wire.Props(old), f.members), at(m.props, f.members)) {
			return unchangeable(f.name)
		}
	}
	if !slices.Equal(wire.Texts(old, "zones"), wire.Texts(m.vm.Body, "zones")) {
		return unchangeable("zones")
	}
	data := wire.Text(wire.Sub(m.props, "osProfile"), "customData")
	if data != "" && data != wire.Text(m.Tx.Get(store.UserData, provider.Key(m.vm.ID)), "customData") {
		return unchangeable("customData")
	}
	return nil
}

func unchangeable(property string) error {
	e := provider.Conflict("PropertyChangeNotAllowed", "Changing property '%s' is not allowed.", property)
	e.Extra = wire.Doc{"target": property}
	return e
}

// purchase compares the plan of the machine with that of its image.
func (m *machineCheck) purchase() error {
	plan := wire.Sub(m.vm.Body, "plan")
	if m.boots == nil {
		return nil
	}
	bought := m.boots.plan
	switch {
	case bought == nil && len(plan) == 0:
		return nil
	case bought != nil && len(plan) == 0:
		return provider.BadRequest("VMMarketplaceInvalidInput", "Creating a virtual machine from Marketplace image or a custom image sourced from a Marketplace image requires Plan information in the request. VM: '%s'.", m.vm.ID)
	case bought == nil || wire.Text(plan, "publisher") != bought.publisher || wire.Text(plan, "product") != bought.offer || wire.Text(plan, "name") != bought.sku:
		return provider.BadRequest("VMMarketplaceInvalidInput", "Unable to deploy from the Marketplace image or a custom image sourced from Marketplace image. The part number in the purchase information for VM '%s' is not as expected. Beware that the Plan object's properties are case-sensitive. Learn more about common virtual machine error codes and their solutions https://aka.ms/azurevirtualmachineerrors", m.vm.ID)
	}
	return marketplace.CheckPlan(m.Call, m.vm)
}

// fits compares the size with what it has to boot.
func (m *machineCheck) fits() error {
	if m.boots == nil {
		return nil
	}
	if own := architecture(m.size.arm64); own != m.boots.architecture {
		return provider.BadRequest("BadRequest", "Cannot create a VM of size '%s' because this VM size only supports a CPU Architecture of '%s', but an image or disk with CPU Architecture '%s' was given. Please check that the CPU Architecture of the image or disk is compatible with that of the VM size.",
			m.size.name, own, m.boots.architecture)
	}
	if !slices.Contains(strings.Split(m.size.generations, ","), m.boots.generation) {
		n := strings.TrimPrefix(m.boots.generation, "V")
		return provider.BadRequest("BadRequest", "The selected VM size '%s' cannot boot Hypervisor Generation '%s'. If this was a Create operation please check that the Hypervisor Generation of the Image matches the Hypervisor Generation of the selected VM Size. If this was an Update operation please select a Hypervisor Generation '%s' VM Size. For more information, see https://aka.ms/azuregen2vm",
			m.size.name, n, n)
	}
	return nil
}

// diskTypes are the kinds of disks; those that are no OS disks are false.
var diskTypes = map[string]bool{"Standard_LRS": true, "StandardSSD_LRS": true, "StandardSSD_ZRS": true, "Premium_LRS": true, "Premium_ZRS": true, "PremiumV2_LRS": false, "UltraSSD_LRS": false}

// disks compares the disks with what the size takes.
func (m *machineCheck) disks() error {
	storage := wire.Sub(m.props, "storageProfile")
	if size := wire.Number(wire.Sub(storage, "osDisk"), "diskSizeGB"); m.boots != nil && size != 0 && size < m.boots.sizeGiB {
		return invalid("osDisk.diskSizeGB", "The specified disk size %d GB is smaller than the size of the corresponding disk in the VM image: %d GB. This is not allowed. Please choose equal or greater size or do not specify an explicit size.", size, m.boots.sizeGiB)
	}
	if n, most := len(wire.Docs(storage, "dataDisks")), m.size.maxDataDisks(); n > most {
		e := provider.Conflict("OperationNotAllowed", "The maximum number of data disks allowed to be attached to a VM of this size is %d.", most)
		e.Extra = wire.Doc{"target": "dataDisks"}
		return e
	}
	for _, d := range machineDisks(storage) {
		if err := m.diskType(d); err != nil {
			return err
		}
	}
	return nil
}

func (m *machineCheck) diskType(d wire.Doc) error {
	managed := wire.Sub(d, "managedDisk")
	typ := wire.Text(managed, "storageAccountType")
	if disk := m.Get(wire.Text(managed, "id")); disk != nil {
		typ = wire.Text(wire.Sub(disk.Body, "sku"), "name")
		if err := sameRegion(m.vm, disk); err != nil {
			return err
		}
		if err := sameZone(m.vm, disk); err != nil {
			return err
		}
	}
	forOS, known := diskTypes[typ]
	_, isData := d["lun"]
	zoned := len(wire.Texts(m.vm.Body, "zones")) > 0
	ultra := wire.Sub(m.props, "additionalCapabilities")["ultraSSDEnabled"] == true
	switch {
	case typ == "":
		return nil
	case !known:
		return invalid("storageAccountType", "The value '%s' of parameter 'storageAccountType' is invalid.", typ)
	case !isData && !forOS:
		return invalid("osDisk.managedDisk.storageAccountType", "Storage account type '%s' is not supported for the OS disk of VM '%s'.", typ, m.vm.Name)
	case m.size.standardDisks && !strings.HasPrefix(typ, "Standard"):
		return invalid("storageAccountType", "Requested operation cannot be performed because the VM size %s does not support the storage account type %s of disk '%s'. Consider updating the VM to a size that supports Premium storage.", m.size.name, typ, wire.Text(d, "name"))
	case !forOS && !zoned:
		return invalid("storageAccountType", "Disks of type '%s' are attached only to VMs in an availability zone; VM '%s' is in none.", typ, m.vm.Name)
	case typ == "UltraSSD_LRS" && !ultra:
		return invalid("managedDisk.storageAccountType", "StorageAccountType 'UltraSSD_LRS' can be used only when additionalCapabilities.ultraSSDEnabled is set.")
	}
	return nil
}

// ephemeral compares an OS disk on the host with the room that the size has there.
func (m *machineCheck) ephemeral() error {
	disk := wire.Sub(wire.Sub(m.props, "storageProfile"), "osDisk")
	if wire.Text(wire.Sub(disk, "diffDiskSettings"), "option") != "Local" {
		return nil
	}
	gib := m.size.VCPUs * m.size.cacheGiBPerVCPU
	switch {
	case gib == 0:
		return provider.BadRequest("NotSupported", "The VM size '%s' does not support ephemeral OS disks.", m.size.name)
	case wire.Text(disk, "caching") != "ReadOnly":
		return invalid("osDisk.caching", "The OS disk of VM '%s' is ephemeral: its 'caching' must be 'ReadOnly'.", m.vm.Name)
	case wire.Number(disk, "diskSizeGB") > gib:
		return provider.BadRequest("NotSupported", "OS disk of Ephemeral VM with size greater than %d GB is not allowed for VM size %s when the DiffDiskPlacement is CacheDisk.", gib, m.size.name)
	}
	return nil
}

// interfaces compares the network interfaces with what the size takes.
func (m *machineCheck) interfaces() error {
	nics := wire.Docs(wire.Sub(m.props, "networkProfile"), "networkInterfaces")
	if len(nics) > m.size.maxNICs() {
		return provider.BadRequest("NetworkInterfaceCountExceeded", "The number of network interfaces for virtual machine %s exceeds the maximum allowed for the virtual machine size %s: %d.", m.vm.ID, m.size.name, m.size.maxNICs())
	}
	for _, n := range nics {
		nic := m.Get(wire.Text(n, "id"))
		if nic == nil {
			continue // attaching it tells so
		}
		if err := sameRegion(m.vm, nic); err != nil {
			return err
		}
		if wire.Props(nic.Body)["enableAcceleratedNetworking"] == true && m.size.plainNetwork {
			return provider.BadRequest("VMSizeIsNotPermittedToEnableAcceleratedNetworking", "VMSize %s is not permitted to enable AcceleratedNetworking for VM %s with network interface %s.", m.size.name, m.vm.ID, nic.ID)
		}
	}
	return nil
}
