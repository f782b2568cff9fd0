// Package compute is Microsoft.Compute of the embedded Azure: machines, their disks and power, sizes, quotas and images.
package compute

import (
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Resource types of compute.
const (
	TypeVM   = "Microsoft.Compute/virtualMachines"
	TypeDisk = "Microsoft.Compute/disks"

	TypeSnapshot = "Microsoft.Compute/snapshots"

	typeImageVersion = "Microsoft.Compute/galleries/images/versions"
)

var (
	vmName   = &provider.NameRule{Pattern: provider.Pattern(`^\w([\w.-]{0,62}\w)?$`), Code: "InvalidParameter", Demand: "The name has up to 64 letters, digits, periods, underscores and hyphens, and does not end with a period or a hyphen."}
	diskName = &provider.NameRule{Pattern: provider.Pattern(`^[\w.-]{1,80}$`), Code: "InvalidParameter", Demand: "The name has up to 80 letters, digits, underscores, periods and hyphens."}
)

var kinds = []*provider.Kind{
	{Type: TypeVM, Async: true, Patched: http.StatusOK, Started: "Creating", Name: vmName, Put: putVM, Cleanup: cleanupVM, Expand: expand, View: viewVM, Outcome: provisioning, Keep: []string{"vmId", "timeCreated"}, Links: machineLinks},
	{Type: TypeVM + "/extensions", Async: true},
	{Type: TypeDisk, Async: true, Patched: http.StatusAccepted, CreateOK: true, Name: diskName, Put: putDisk, Guard: guardDisk, Keep: []string{"uniqueId", "timeCreated", "diskState"}, Links: []provider.Link{
		{Field: "properties.encryption.diskEncryptionSetId", Action: readEncryptionSet}, {Field: "properties.creationData.sourceResourceId", Action: provider.ReadIt}}},
	{Type: TypeSnapshot, Async: true, Patched: http.StatusAccepted, CreateOK: true, Name: diskName, Put: putSnapshot, Keep: []string{"uniqueId", "timeCreated", "diskSizeGB"}, Links: []provider.Link{
		{Field: "properties.creationData.sourceResourceId", Action: TypeDisk + "/beginGetAccess/action"}}},
	{Type: "Microsoft.Compute/images", Async: true},
	{Type: "Microsoft.Compute/galleries", Async: true},
	{Type: "Microsoft.Compute/galleries/images", Async: true},
	{Type: typeImageVersion, Async: true},
	{Type: "Microsoft.Compute/diskEncryptionSets", Async: true, CreateOK: true},
	{Type: "Microsoft.Compute/availabilitySets", CreateOK: true, NoState: true},
}

const readEncryptionSet = "Microsoft.Compute/diskEncryptionSets/read"

var machineLinks = []provider.Link{
	{Field: "properties.networkProfile.networkInterfaces.*.id", Action: "Microsoft.Network/networkInterfaces/join/action"},
	{Field: "properties.storageProfile.imageReference.id", Action: provider.ReadIt},
	{Field: "properties.storageProfile.osDisk.managedDisk.id", Action: TypeDisk + "/write"},
	{Field: "properties.storageProfile.osDisk.managedDisk.diskEncryptionSet.id", Action: readEncryptionSet},
	{Field: "properties.storageProfile.dataDisks.*.managedDisk.id", Action: TypeDisk + "/write"},
	{Field: "properties.storageProfile.dataDisks.*.managedDisk.diskEncryptionSet.id", Action: readEncryptionSet},
	{Field: "identity.userAssignedIdentities.*", Action: entra.IdentityType + "/assign/action"},
}

const (
	locationPath  = "subscriptions/*/providers/microsoft.compute/locations/*"
	publisherPath = locationPath + "/publishers"
	imagePath     = publisherPath + "/*/artifacttypes/vmimage/offers"
)

// Spec is what the gateway serves of compute.
var Spec = provider.Spec{Namespace: "Microsoft.Compute", Kinds: kinds,
	Routes: []provider.Route{
		{Method: "GET", Pattern: "subscriptions/*/providers/microsoft.compute/skus", Handle: skus},
		{Method: "GET", Pattern: locationPath + "/vmsizes", Handle: vmSizes},
		{Method: "GET", Pattern: locationPath + "/usages", Handle: usages},
		{Method: "GET", Pattern: publisherPath, Handle: imageList},
		{Method: "GET", Pattern: imagePath, Handle: imageList},
		{Method: "GET", Pattern: imagePath + "/*/skus", Handle: imageList},
		{Method: "GET", Pattern: imagePath + "/*/skus/*/versions", Handle: imageList},
		{Method: "GET", Pattern: imagePath + "/*/skus/*/versions/*", Handle: showImage},
		{Method: "GET", Pattern: "subscriptions/*/resourcegroups/*/providers/microsoft.compute/virtualmachines/*/instanceview", Handle: instanceViewOf},
	},
	Actions: map[string]provider.Action{
		"microsoft.compute/virtualmachines/start":                       powerAction(wantRunning),
		"microsoft.compute/virtualmachines/poweroff":                    powerAction(wantStopped),
		"microsoft.compute/virtualmachines/deallocate":                  powerAction(wantDeallocated),
		"microsoft.compute/virtualmachines/restart":                     powerAction(wantRestart),
		"microsoft.compute/virtualmachines/redeploy":                    powerAction(wantRestart),
		"microsoft.compute/virtualmachines/retrievebootdiagnosticsdata": bootDiagnostics,
	}}

func putVM(c *provider.Call, r *provider.Resource, old wire.Doc) error {
	if c.Req.Method == http.MethodPut {
		keepUnmentioned(r.Body, old)
	}
	p := wire.EnsureProps(r.Body)
	delete(p, "instanceView")
	size, ok := SizeOf(VMSize(r))
	if !ok {
		return provider.BadRequest("InvalidParameter", "The value %s provided for the VM size is not valid. The valid sizes in the current region are those of the embedded Azure's SKU list.", VMSize(r))
	}
	if err := checkCapacity(c, r, size); err != nil {
		return err
	}
	if err := checkMachine(c, r, old, size); err != nil {
		return err
	}
	if err := diagnosed(p); err != nil {
		return err
	}
	nics := wire.Docs(wire.Sub(p, "networkProfile"), "networkInterfaces")
	if len(nics) == 0 {
		return provider.BadRequest("InvalidParameter", "Required parameter 'networkProfile.networkInterfaces' is missing (null or empty).")
	}
	for _, n := range nics {
		if err := attachNIC(c, r, wire.Text(n, "id")); err != nil {
			return err
		}
	}
	wire.Default(p, "vmId", uuid.NewString())
	wire.Default(p, "timeCreated", time.Now().UTC().Format(time.RFC3339Nano))
	hideUserData(c, r, p)
	if err := putDisks(c, r, old); err != nil {
		return err
	}
	if err := fillIdentity(c, r); err != nil {
		return err
	}
	if c.Tx.Get(store.Power, provider.Key(r.ID)) == nil {
		power := wire.Doc{"wanted": feed.PowerRunning, "generation": 1, "since": time.Now().UTC().Format(time.RFC3339Nano)}
		if awaited(c, r) {
			power["provisioning"] = feed.ProvisioningRunning
		}
		c.Tx.Put(store.Power, provider.Key(r.ID), power)
	}
	return nil
}

// keepUnmentioned: who writes a machine that is there changes what the request names, and no more. So clients attach disks that know of
// nothing else of the machine.
func keepUnmentioned(body, old wire.Doc) {
	if old == nil {
		return
	}
	for _, level := range []struct{ now, before wire.Doc }{
		{body, old}, {wire.EnsureProps(body), wire.Props(old)},
		{wire.Sub(wire.EnsureProps(body), "storageProfile"), wire.Sub(wire.Props(old), "storageProfile")},
	} {
		for name, value := range store.Clone(level.before) {
			if _, named := level.now[name]; !named && level.now != nil && name != "resources" {
				level.now[name] = value
			}
		}
	}
}

func attachNIC(c *provider.Call, vm *provider.Resource, id string) error {
	nic := c.Edit(id)
	if nic == nil {
		return provider.Failf(http.StatusNotFound, "NotFound", "Resource %s not found.", id)
	}
	np := wire.EnsureProps(nic.Body)
	if by := wire.Ref(np, "virtualMachine"); by != "" && !strings.EqualFold(by, vm.ID) && c.Get(by) != nil {
		return provider.BadRequest("NicInUse", "Network Interface %s is used by existing resource %s.", id, by)
	}
	np["virtualMachine"] = wire.Doc{"id": vm.ID}
	return nil
}

// hideUserData keeps what ARM takes and never shows: the guest must get it.
func hideUserData(c *provider.Call, r *provider.Resource, p wire.Doc) {
	os := wire.Sub(p, "osProfile")
	delete(os, "adminPassword")
	hidden := store.Clone(c.Tx.Get(store.UserData, provider.Key(r.ID)))
	for _, where := range []struct {
		in    wire.Doc
		field string
	}{{os, "customData"}, {p, "userData"}} {
		if v := wire.Text(where.in, where.field); v != "" {
			hidden[where.field] = v
		}
		delete(where.in, where.field)
	}
	if len(hidden) > 0 {
		c.Tx.Put(store.UserData, provider.Key(r.ID), hidden)
	}
	wire.Default(os, "requireGuestProvisionSignal", true)
	wire.Default(os, "secrets", []any{})
}

// fillIdentity resolves the VM's identities as Azure shows them.
func fillIdentity(c *provider.Call, r *provider.Resource) error {
	identity := wire.Sub(r.Body, "identity")
	assigned := wire.Sub(identity, "userAssignedIdentities")
	for id := range assigned {
		mi := c.Get(id)
		if mi == nil || !strings.EqualFold(mi.Type, entra.IdentityType) {
			return provider.BadRequest("FailedIdentityOperation", "Identity operation for resource '%s' failed with error 'Resource '%s' was not found.'", r.ID, id)
		}
		mp := wire.Props(mi.Body)
		assigned[id] = wire.Doc{"clientId": mp["clientId"], "principalId": mp["principalId"]}
	}
	if strings.Contains(wire.Text(identity, "type"), "SystemAssigned") {
		wire.Default(identity, "principalId", uuid.NewString())
		wire.Default(identity, "tenantId", c.Tenant)
	}
	return nil
}

// cleanupVM frees the NICs and disks of a VM that goes, or deletes those with deleteOption Delete.
func cleanupVM(c *provider.Call, r *provider.Resource) {
	c.Tx.Delete(store.UserData, provider.Key(r.ID))
	c.Tx.Delete(store.Power, provider.Key(r.ID))
	p := wire.Props(r.Body)
	for _, n := range wire.Docs(wire.Sub(p, "networkProfile"), "networkInterfaces") {
		if nic := c.Edit(wire.Text(n, "id")); nic != nil {
			delete(wire.EnsureProps(nic.Body), "virtualMachine")
			if wire.Text(wire.Props(n), "deleteOption") == "Delete" {
				c.Remove(nic.ID)
			}
		}
	}
	storage := wire.Sub(p, "storageProfile")
	for _, d := range append(wire.Docs(storage, "dataDisks"), wire.Sub(storage, "osDisk")) {
		if disk := detach(c, wire.Ref(d, "managedDisk")); disk != nil && wire.Text(d, "deleteOption") == "Delete" {
			c.Remove(disk.ID)
		}
	}
}

// expand adds the instance view where a request asks for it.
func expand(c *provider.Call, r *provider.Resource, d wire.Doc) {
	q := c.Req.URL.Query()
	if strings.EqualFold(r.Type, TypeVM) && (strings.EqualFold(q.Get("$expand"), "instanceView") || q.Get("statusOnly") == "true") {
		wire.EnsureProps(d)["instanceView"] = instanceView(c, r)
	}
}
