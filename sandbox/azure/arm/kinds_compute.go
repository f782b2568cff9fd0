package arm

import (
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const (
	typeVM   = "Microsoft.Compute/virtualMachines"
	typeDisk = "Microsoft.Compute/disks"
)

var computeKinds = []*Kind{
	{Type: typeVM, async: true, put: putVM, cleanup: cleanupVM, keep: []string{"vmId", "timeCreated"}},
	{Type: typeVM + "/extensions", async: true},
	{Type: typeDisk, async: true, createOK: true, put: putDisk, guard: guardDisk, keep: []string{"uniqueId", "timeCreated", "diskState"}},
	{Type: "Microsoft.Compute/snapshots", async: true, createOK: true},
	{Type: "Microsoft.Compute/images", async: true},
	{Type: "Microsoft.Compute/galleries", async: true},
	{Type: "Microsoft.Compute/galleries/images", async: true},
	{Type: "Microsoft.Compute/galleries/images/versions", async: true},
	{Type: "Microsoft.Compute/diskEncryptionSets", async: true, createOK: true},
	{Type: "Microsoft.Compute/availabilitySets", createOK: true},
	{Type: typeAgreement, orphan: true, noState: true, createOK: true},
}

func putVM(c *call, r *Resource, old Doc) error {
	p := wire.EnsureProps(r.Body)
	delete(p, "instanceView")
	size, ok := sizeOf(vmSize(r))
	if !ok {
		return badRequest("InvalidParameter", "The value %s provided for the VM size is not valid. The valid sizes in the current region are those of the embedded Azure's SKU list.", vmSize(r))
	}
	if err := c.checkCapacity(r, size); err != nil {
		return err
	}
	if old == nil {
		if err := c.checkPlan(r); err != nil {
			return err
		}
	}
	nics := wire.Docs(wire.Sub(p, "networkProfile"), "networkInterfaces")
	if len(nics) == 0 {
		return badRequest("InvalidParameter", "Required parameter 'networkProfile.networkInterfaces' is missing (null or empty).")
	}
	for _, n := range nics {
		if err := attachNIC(c, r, wire.Text(n, "id")); err != nil {
			return err
		}
	}
	wire.Default(p, "vmId", uuid.NewString())
	wire.Default(p, "timeCreated", time.Now().UTC().Format(time.RFC3339Nano))
	c.hideUserData(r, p)
	if err := c.putDisks(r, old); err != nil {
		return err
	}
	if err := c.fillIdentity(r); err != nil {
		return err
	}
	if c.tx.Get(store.Power, key(r.ID)) == nil {
		c.tx.Put(store.Power, key(r.ID), Doc{"wanted": feed.PowerRunning, "generation": 1})
	}
	return nil
}

func attachNIC(c *call, vm *Resource, id string) error {
	nic := c.edit(id)
	if nic == nil {
		return failf(http.StatusNotFound, "NotFound", "Resource %s not found.", id)
	}
	np := wire.EnsureProps(nic.Body)
	if by := wire.Ref(np, "virtualMachine"); by != "" && !strings.EqualFold(by, vm.ID) && c.get(by) != nil {
		return badRequest("NicInUse", "Network Interface %s is used by existing resource %s.", id, by)
	}
	np["virtualMachine"] = Doc{"id": vm.ID}
	return nil
}

// hideUserData keeps what ARM takes and never shows: the guest must get it.
func (c *call) hideUserData(r *Resource, p Doc) {
	os := wire.Sub(p, "osProfile")
	delete(os, "adminPassword")
	hidden := store.Clone(orEmpty(c.tx.Get(store.UserData, key(r.ID))))
	for _, where := range []struct {
		in    Doc
		field string
	}{{os, "customData"}, {p, "userData"}} {
		if v := wire.Text(where.in, where.field); v != "" {
			hidden[where.field] = v
		}
		delete(where.in, where.field)
	}
	if len(hidden) > 0 {
		c.tx.Put(store.UserData, key(r.ID), hidden)
	}
	wire.Default(os, "requireGuestProvisionSignal", true)
	wire.Default(os, "secrets", []any{})
}

func orEmpty(d Doc) Doc {
	if d == nil {
		return Doc{}
	}
	return d
}

// fillIdentity resolves the VM's identities as Azure shows them.
func (c *call) fillIdentity(r *Resource) error {
	identity := wire.Sub(r.Body, "identity")
	assigned := wire.Sub(identity, "userAssignedIdentities")
	for id := range assigned {
		mi := c.get(id)
		if mi == nil || !strings.EqualFold(mi.Type, entra.IdentityType) {
			return badRequest("FailedIdentityOperation", "Identity operation for resource '%s' failed with error 'Resource '%s' was not found.'", r.ID, id)
		}
		mp := wire.Props(mi.Body)
		assigned[id] = Doc{"clientId": mp["clientId"], "principalId": mp["principalId"]}
	}
	if strings.Contains(wire.Text(identity, "type"), "SystemAssigned") {
		wire.Default(identity, "principalId", uuid.NewString())
		wire.Default(identity, "tenantId", c.Tenant)
	}
	return nil
}

// cleanupVM frees the NICs and disks of a VM that goes, or deletes those with deleteOption Delete.
func cleanupVM(c *call, r *Resource) {
	c.tx.Delete(store.UserData, key(r.ID))
	c.tx.Delete(store.Power, key(r.ID))
	p := wire.Props(r.Body)
	for _, n := range wire.Docs(wire.Sub(p, "networkProfile"), "networkInterfaces") {
		if nic := c.edit(wire.Text(n, "id")); nic != nil {
			delete(wire.EnsureProps(nic.Body), "virtualMachine")
			if wire.Text(wire.Props(n), "deleteOption") == "Delete" {
				c.remove(nic.ID)
			}
		}
	}
	storage := wire.Sub(p, "storageProfile")
	for _, d := range append(wire.Docs(storage, "dataDisks"), wire.Sub(storage, "osDisk")) {
		if disk := c.detach(wire.Ref(d, "managedDisk")); disk != nil && wire.Text(d, "deleteOption") == "Delete" {
			c.remove(disk.ID)
		}
	}
}

// expand adds the instance view where a request asks for it.
func (c *call) expand(r *Resource, d Doc) {
	q := c.req.URL.Query()
	if strings.EqualFold(r.Type, typeVM) && (strings.EqualFold(q.Get("$expand"), "instanceView") || q.Get("statusOnly") == "true") {
		wire.EnsureProps(d)["instanceView"] = c.instanceView(r)
	}
}
