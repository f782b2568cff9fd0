// Package compute is Microsoft.Compute of the embedded Azure: machines, their disks and power, sizes, quotas and images.
package compute

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/marketplace"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Resource types of compute.
const (
	TypeVM   = "Microsoft.Compute/virtualMachines"
	typeDisk = "Microsoft.Compute/disks"
)

var (
	vmName   = &provider.NameRule{Pattern: regexp.MustCompile(`^\w([\w.-]{0,62}\w)?$`), Code: "InvalidParameter", Demand: "The name has up to 64 letters, digits, periods, underscores and hyphens, and does not end with a period or a hyphen."}
	diskName = &provider.NameRule{Pattern: regexp.MustCompile(`^[\w.-]{1,80}$`), Code: "InvalidParameter", Demand: "The name has up to 80 letters, digits, underscores, periods and hyphens."}
)

var kinds = []*provider.Kind{
	{Type: TypeVM, Async: true, Name: vmName, Put: putVM, Cleanup: cleanupVM, Expand: expand, Keep: []string{"vmId", "timeCreated"}},
	{Type: TypeVM + "/extensions", Async: true},
	{Type: typeDisk, Async: true, CreateOK: true, Name: diskName, Put: putDisk, Guard: guardDisk, Keep: []string{"uniqueId", "timeCreated", "diskState"}},
	{Type: "Microsoft.Compute/snapshots", Async: true, CreateOK: true},
	{Type: "Microsoft.Compute/images", Async: true},
	{Type: "Microsoft.Compute/galleries", Async: true},
	{Type: "Microsoft.Compute/galleries/images", Async: true},
	{Type: "Microsoft.Compute/galleries/images/versions", Async: true},
	{Type: "Microsoft.Compute/diskEncryptionSets", Async: true, CreateOK: true},
	{Type: "Microsoft.Compute/availabilitySets", CreateOK: true},
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
	p := wire.EnsureProps(r.Body)
	delete(p, "instanceView")
	size, ok := SizeOf(VMSize(r))
	if !ok {
		return provider.BadRequest("InvalidParameter", "The value %s provided for the VM size is not valid. The valid sizes in the current region are those of the embedded Azure's SKU list.", VMSize(r))
	}
	if err := checkCapacity(c, r, size); err != nil {
		return err
	}
	if old == nil {
		if err := marketplace.CheckPlan(c, r); err != nil {
			return err
		}
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
		c.Tx.Put(store.Power, provider.Key(r.ID), wire.Doc{"wanted": feed.PowerRunning, "generation": 1})
	}
	return nil
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
