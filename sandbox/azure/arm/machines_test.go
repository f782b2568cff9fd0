package arm

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

func vmID(name string) string   { return computeIn + "virtualMachines/" + name }
func nicID(name string) string  { return networkIn + "networkInterfaces/" + name }
func diskID(name string) string { return computeIn + "disks/" + name }

// vmOf is a machine with an interface of its own name. What it has in braces is put there: top, in the properties, in the OS profile, the disks.
type vmOf struct{ name, top, props, os, osDisk, dataDisks, nic string }

func (m vmOf) body() string {
	return fmt.Sprintf(`{"location":"westeurope"%s,"properties":{"hardwareProfile":{"vmSize":"Standard_D2s_v3"}%s,
		"osProfile":{"computerName":"%s","adminUsername":"core","adminPassword":"hush"%s},
		"storageProfile":{"imageReference":{"publisher":"kinvolk","offer":"flatcar-container-linux-corevm-amd64","sku":"stable-gen2","version":"latest"},
			"osDisk":{"name":"%s-os","createOption":"FromImage"%s},"dataDisks":[%s]},
		"networkProfile":{"networkInterfaces":[{"id":"%s"%s}]}}}`, m.top, m.props, m.name, m.os, m.name, m.osDisk, m.dataDisks, nicID(m.name), m.nic)
}

// emptyDisk is a new data disk; more may have zones and others.
func emptyDisk(sku, more string) string {
	return `{"location":"westeurope","sku":{"name":"` + sku + `"}` + more + `,"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":8}}`
}

func attached(lun int, disk, more string) string {
	return fmt.Sprintf(`{"lun":%d,"createOption":"Attach","managedDisk":{"id":"%s"}%s}`, lun, diskID(disk), more)
}

// machines is a gateway with a network and an interface for each name.
func machines(t *testing.T, names ...string) *Server {
	t.Helper()
	s := gateway(t)
	have(t, s, vnetID, vnetOf("a", "10.0.0.0/24"))
	for _, n := range names {
		have(t, s, nicID(n), nicIn("a", ""))
	}
	return s
}

// What a machine is made with stays: https://learn.microsoft.com/rest/api/compute/virtual-machines/create-or-update says which properties
// can be set only at its creation.
func TestWhatOfAMachineCannotChange(t *testing.T) {
	made := vmOf{name: "vm", top: `,"zones":["1"]`, os: `,"customData":"aGVsbG8="`}
	replaced := func(old, new string) string {
		out := strings.Replace(made.body(), old, new, 1)
		if out == made.body() {
			t.Fatalf("%s is not in the body", old)
		}
		return out
	}
	s := machines(t, "vm")
	have(t, s, vmID("vm"), made.body())
	for name, body := range map[string]string{
		"zone":          replaced(`"zones":["1"]`, `"zones":["2"]`),
		"more zones":    replaced(`"zones":["1"]`, `"zones":["1","2"]`),
		"computer name": replaced(`"computerName":"vm"`, `"computerName":"other"`),
		"administrator": replaced(`"adminUsername":"core"`, `"adminUsername":"other"`),
		"custom data":   replaced(`aGVsbG8=`, `b3RoZXI=`),
		"image SKU":     replaced(`stable-gen2`, `stable`),
		"image version": replaced(`"version":"latest"`, `"version":"4593.2.1"`),
		"image": replaced(`"publisher":"kinvolk","offer":"flatcar-container-linux-corevm-amd64","sku":"stable-gen2","version":"latest"`,
			`"publisher":"Debian","offer":"debian-12","sku":"12-gen2","version":"latest"`),
		"availability":   replaced(`"properties":{"hardwareProfile"`, `"properties":{"availabilitySet":{"id":"/x"},"hardwareProfile"`),
		"location":       "",
		"image in PATCH": "",
	} {
		method, code := put, "PropertyChangeNotAllowed"
		switch name {
		case "location":
			body, code = replaced(`westeurope`, `northeurope`), "InvalidResourceLocation"
		case "image in PATCH":
			method, body = patch, `{"properties":{"storageProfile":{"imageReference":{"sku":"stable"}}}}`
		}
		if status, got, _ := send(s, owner, method, vmID("vm"), parse(t, body)); status != http.StatusConflict || got != code {
			t.Errorf("%s: %d %s, want 409 %s", name, status, got, code)
		}
	}
	play(t, s, step{put, vmID("vm"), made.body(), 200, ""}, // nothing changes
		step{put, vmID("vm"), replaced(`,"customData":"aGVsbG8="`, ""), 200, ""}, // nobody reads custom data back
		step{put, vmID("vm"), strings.Replace(made.body(), "Standard_D2s_v3", "Standard_D4s_v3", 1), 200, ""},
		step{patch, vmID("vm"), `{"tags":{"a":"b"}}`, 200, ""})
	if got := shown(t, s, vmID("vm")); at(got, "properties.hardwareProfile.vmSize") != "Standard_D4s_v3" || at(got, "tags.a") != "b" {
		t.Errorf("what can change: %v", got)
	}
}

// A zonal disk is attached in its zone alone: https://learn.microsoft.com/azure/virtual-machines/disks-redundancy.
func TestDisksAndZones(t *testing.T) {
	for name, c := range map[string]struct {
		vmZones, sku, diskZones string
		status                  int
	}{
		"one zone":                       {`,"zones":["1"]`, "Premium_LRS", `,"zones":["1"]`, 201},
		"another zone":                   {`,"zones":["1"]`, "Premium_LRS", `,"zones":["2"]`, 400},
		"a disk without a zone":          {`,"zones":["1"]`, "Premium_LRS", "", 400},
		"a machine without a zone":       {"", "Premium_LRS", `,"zones":["2"]`, 400},
		"no zones":                       {"", "Premium_LRS", "", 201},
		"a disk of all zones":            {`,"zones":["2"]`, "Premium_ZRS", "", 201},
		"a disk of all zones, and no VM": {"", "StandardSSD_ZRS", "", 201},
	} {
		s := machines(t, "vm")
		have(t, s, diskID("data"), emptyDisk(c.sku, c.diskZones))
		m := vmOf{name: "vm", top: c.vmZones, dataDisks: attached(0, "data", "")}
		status, code, _ := send(s, owner, put, vmID("vm"), parse(t, m.body()))
		if status != c.status || status == http.StatusBadRequest && code != "BadRequest" {
			t.Errorf("%s: %d %s, want %d", name, status, code, c.status)
		}
	}
}

// A disk has one machine: https://learn.microsoft.com/azure/virtual-machines/disks-shared is about those that have more, which are not there.
func TestDisksHaveOneMachine(t *testing.T) {
	s := machines(t, "one", "two")
	have(t, s, diskID("data"), emptyDisk("Premium_LRS", ""), vmID("one"), vmOf{name: "one", dataDisks: attached(0, "data", "")}.body(), vmID("two"),
		vmOf{name: "two"}.body())
	more := func(disks string) string { return `{"properties":{"storageProfile":{"dataDisks":[` + disks + `]}}}` }
	play(t, s, step{patch, vmID("two"), more(attached(0, "data", "")), 409, "ConflictingUserInput"},
		step{patch, vmID("two"), more(attached(0, "none", "")), 404, "NotFound"},
		step{patch, vmID("one"), more(attached(5, "data", "")), 200, ""}, // to another slot
		step{patch, diskID("data"), `{"properties":{"diskSizeGB":16}}`, 202, ""},
		step{patch, diskID("one-os"), `{"properties":{"diskSizeGB":64}}`, 409, "OperationNotAllowed"},
		step{post, vmID("one") + "/deallocate", "", 202, ""}, step{patch, diskID("one-os"), `{"properties":{"diskSizeGB":64}}`, 202, ""},
		step{patch, vmID("one"), more(""), 200, ""}, step{patch, vmID("two"), more(attached(0, "data", "")), 200, ""})
	if d := shown(t, s, diskID("data")); d["managedBy"] != vmID("two") || at(d, "properties.diskState") != "Attached" {
		t.Errorf("a disk that has changed its machine: %v", d)
	}
	disk := wire.Docs(wire.Sub(wire.Props(shown(t, s, vmID("two"))), "storageProfile"), "dataDisks")[0]
	if disk["name"] != "data" || wire.Number(disk, "diskSizeGB") != 16 || at(disk, "managedDisk.storageAccountType") != "Premium_LRS" {
		t.Errorf("the machine says of its disk: %v", disk)
	}
}

// A machine of a marketplace image that is bought says so: https://learn.microsoft.com/azure/virtual-machines/linux/cli-ps-findimage.
func TestPlansOfMachines(t *testing.T) {
	s := machines(t, "vm")
	const plan = `,"plan":{"publisher":"kinvolk","product":"flatcar-container-linux-free","name":"stable-gen2"}`
	bought := func(plan string) string {
		return strings.Replace(vmOf{name: "vm", top: plan}.body(), "flatcar-container-linux-corevm-amd64", "flatcar-container-linux-free", 1)
	}
	terms := inSubscription + "/providers/Microsoft.MarketplaceOrdering/offerTypes/virtualmachine/publishers/kinvolk/offers/" +
		"flatcar-container-linux-free/plans/stable-gen2/agreements/current"
	play(t, s, step{put, vmID("vm"), vmOf{name: "vm", top: plan}.body(), 400, "VMMarketplaceInvalidInput"}, // an image that is free
		step{put, vmID("vm"), bought(""), 400, "VMMarketplaceInvalidInput"},
		step{put, vmID("vm"), bought(strings.Replace(plan, "stable-gen2", "stable", 1)), 400, "VMMarketplaceInvalidInput"},
		step{put, vmID("vm"), bought(strings.Replace(plan, `"kinvolk"`, `"Kinvolk"`, 1)), 400, "VMMarketplaceInvalidInput"},
		step{put, vmID("vm"), bought(plan), 400, "MarketplacePurchaseEligibilityFailed"}, step{get, terms, "", 200, ""})
	if d := shown(t, s, terms); at(d, "properties.accepted") != false {
		t.Errorf("terms that nobody has accepted: %v", d)
	}
	have(t, s, terms, `{"properties":{"publisher":"kinvolk","product":"flatcar-container-linux-free","plan":"stable-gen2","accepted":true}}`)
	play(t, s, step{put, vmID("vm"), bought(plan), 201, ""})
}

// What goes with a machine, and what stays: https://learn.microsoft.com/azure/virtual-machines/delete.
func TestWhatGoesWithAMachine(t *testing.T) {
	s := machines(t, "keeps", "takes")
	have(t, s, diskID("kept"), emptyDisk("Premium_LRS", ""), diskID("taken"), emptyDisk("Premium_LRS", ""),
		vmID("keeps"), vmOf{name: "keeps", dataDisks: attached(0, "kept", "")}.body(),
		vmID("takes"), vmOf{name: "takes", osDisk: `,"deleteOption":"Delete"`, dataDisks: attached(0, "taken", `,"deleteOption":"Delete"`),
			nic: `,"properties":{"deleteOption":"Delete"}`}.body())
	play(t, s, step{remove, nicID("keeps"), "", 400, "NicInUse"}, step{remove, diskID("kept"), "", 409, "OperationNotAllowed"},
		step{put, vmID("thief"), strings.Replace(vmOf{name: "keeps"}.body(), "keeps-os", "thief-os", 1), 400, "NicInUse"},
		step{remove, vmID("keeps"), "", 202, ""}, step{remove, vmID("takes"), "", 202, ""},
		step{get, nicID("takes"), "", 404, "ResourceNotFound"}, step{get, diskID("taken"), "", 404, "ResourceNotFound"},
		step{get, diskID("takes-os"), "", 404, "ResourceNotFound"})
	for _, id := range []string{diskID("kept"), diskID("keeps-os")} {
		if d := shown(t, s, id); d["managedBy"] != nil || at(d, "properties.diskState") != "Unattached" {
			t.Errorf("a disk without its machine: %v", d)
		}
	}
	if by := at(shown(t, s, nicID("keeps")), "properties.virtualMachine"); by != nil {
		t.Errorf("an interface without its machine is used by %v", by)
	}
	play(t, s, step{remove, nicID("keeps"), "", 202, ""}, step{remove, diskID("kept"), "", 202, ""})
}

// What a guest is given is never shown: https://learn.microsoft.com/azure/virtual-machines/custom-data.
func TestSecretsOfAMachine(t *testing.T) {
	s := machines(t, "vm")
	have(t, s, vmID("vm"), vmOf{name: "vm", os: `,"customData":"aGVsbG8="`, props: `,"userData":"d29ybGQ="`}.body())
	for _, path := range []string{vmID("vm"), vmID("vm") + "?$expand=instanceView", computeIn + "virtualMachines"} {
		if text := fmt.Sprint(shown(t, s, path)); strings.Contains(text, "aGVsbG8=") || strings.Contains(text, "d29ybGQ=") || strings.Contains(text, "hush") {
			t.Errorf("%s shows a secret: %s", path, text)
		}
	}
	kept := func() (d wire.Doc) {
		s.store.View(func(tx *store.Tx) { d = store.Clone(tx.Get(store.UserData, strings.ToLower(vmID("vm")))) })
		return d
	}
	if got := kept(); got["customData"] != "aGVsbG8=" || got["userData"] != "d29ybGQ=" {
		t.Errorf("the guest gets %v", got)
	}
	play(t, s, step{patch, vmID("vm"), `{"properties":{"userData":"YWdhaW4="}}`, 200, ""}) // which can change
	if got := kept(); got["customData"] != "aGVsbG8=" || got["userData"] != "YWdhaW4=" {
		t.Errorf("after new user data the guest gets %v", got)
	}
	play(t, s, step{remove, vmID("vm"), "", 202, ""})
	if got := kept(); len(got) != 0 {
		t.Errorf("after the deletion there is %v", got)
	}
}

func TestIdentitiesOfAMachine(t *testing.T) {
	s := machines(t, "vm")
	have(t, s, identityID("one"), `{"location":"westeurope"}`)
	with := func(identity string) string { return vmOf{name: "vm", top: `,"identity":` + identity}.body() }
	play(t, s, step{put, vmID("vm"), with(`{"type":"UserAssigned","userAssignedIdentities":{"` + identityID("none") + `":{}}}`), 400,
		"FailedIdentityOperation"},
		step{put, vmID("vm"), with(`{"type":"UserAssigned","userAssignedIdentities":{"` + nicID("vm") + `":{}}}`), 400, "FailedIdentityOperation"},
		step{put, vmID("vm"), with(`{"type":"SystemAssigned, UserAssigned","userAssignedIdentities":{"` + identityID("one") + `":{}}}`), 201, ""})
	identity := wire.Sub(shown(t, s, vmID("vm")), "identity")
	one := wire.Props(shown(t, s, identityID("one")))
	if got := wire.Sub(wire.Sub(identity, "userAssignedIdentities"), identityID("one")); one["clientId"] == "" || got["clientId"] != one["clientId"] ||
		got["principalId"] != one["principalId"] {
		t.Errorf("the machine says its identity is %v, and it is %v", got, one)
	}
	if wire.Text(identity, "principalId") == "" || identity["tenantId"] != "t" {
		t.Errorf("the identity of its own: %v", identity)
	}
}

func TestMachinesNeedTheirParts(t *testing.T) {
	s := machines(t, "vm", "second", "third")
	two := func(more string) string {
		return strings.Replace(vmOf{name: "vm"}.body(), `"networkInterfaces":[`, `"networkInterfaces":[`+more, 1)
	}
	play(t, s, step{put, vmID("vm"), strings.Replace(vmOf{name: "vm"}.body(), "Standard_D2s_v3", "Standard_Nothing", 1), 400, "InvalidParameter"},
		step{put, vmID("vm"), strings.Replace(vmOf{name: "vm"}.body(), `{"id":"`+nicID("vm")+`"}`, "", 1), 400, "InvalidParameter"},
		step{put, vmID("vm"), strings.Replace(vmOf{name: "vm"}.body(), "networkInterfaces/vm", "networkInterfaces/none", 1), 404, "NotFound"},
		step{put, vmID("vm"), two(`{"id":"` + nicID("second") + `"},{"id":"` + nicID("third") + `"},`), 400, "NetworkInterfaceCountExceeded"},
		step{put, vmID("vm."), vmOf{name: "vm"}.body(), 400, "InvalidParameter"},
		step{put, vmID(strings.Repeat("v", 65)), vmOf{name: "vm"}.body(), 400, "InvalidParameter"},
		step{put, vmID("vm") + "/extensions/boot", `{"location":"westeurope","properties":{"publisher":"p","type":"t","typeHandlerVersion":"1.0"}}`, 404,
			"ParentResourceNotFound"},
		step{get, vmID("vm"), "", 404, "ResourceNotFound"}, step{get, diskID("vm-os"), "", 404, "ResourceNotFound"},
		step{post, vmID("vm") + "/start", "", 404, "ResourceNotFound"}, step{get, vmID("vm") + "/instanceView", "", 404, "ResourceNotFound"})
	if by := at(shown(t, s, nicID("second")), "properties.virtualMachine"); by != nil {
		t.Errorf("a machine that was refused has kept an interface: %v", by)
	}
	for _, lun := range []string{"-1", "64"} {
		play(t, s, step{put, vmID("vm"), vmOf{name: "vm", dataDisks: `{"lun":` + lun + `,"createOption":"Empty","diskSizeGB":4}`}.body(), 400,
			"InvalidParameter"})
	}
	play(t, s, step{put, vmID("vm"), vmOf{name: "vm", dataDisks: `{"lun":63,"createOption":"Empty","diskSizeGB":4}`}.body(), 201, ""})
	disk := wire.Docs(wire.Sub(wire.Props(shown(t, s, vmID("vm"))), "storageProfile"), "dataDisks")[0]
	if disk["name"] != "vm_DataDisk_63" || at(disk, "managedDisk.id") != diskID("vm_DataDisk_63") || at(disk, "managedDisk.storageAccountType") == nil {
		t.Errorf("a disk that nobody has named: %v", disk)
	}
}

// The power state of a new machine, and what each action makes of it while no hypervisor says otherwise.
func TestPowerOfAMachine(t *testing.T) {
	s := machines(t, "vm")
	have(t, s, vmID("vm"), vmOf{name: "vm"}.body())
	power := func() string {
		statuses := wire.Docs(shown(t, s, vmID("vm")+"/instanceView"), "statuses")
		return wire.Text(statuses[len(statuses)-1], "code")
	}
	generation := func() (n int) {
		s.store.View(func(tx *store.Tx) {
			n = wire.Number(tx.Get(store.Power, strings.ToLower(vmID("vm"))), "generation")
		})
		return n
	}
	if got := power(); got != "PowerState/running" {
		t.Errorf("a new machine is %s", got)
	}
	for _, c := range []struct {
		action, state string
		boots         int
	}{{"powerOff", "stopped", 1}, {"deallocate", "deallocated", 1}, {"start", "running", 1}, {"restart", "running", 2}, {"redeploy", "running", 3},
		{"POWEROFF", "stopped", 3}} {
		play(t, s, step{post, vmID("vm") + "/" + c.action, "", 202, ""})
		if got := power(); got != "PowerState/"+c.state || generation() != c.boots {
			t.Errorf("after %s: %s, started %d times, want %s and %d", c.action, got, generation(), c.state, c.boots)
		}
	}
	if d := shown(t, s, vmID("vm")); at(d, "properties.instanceView") != nil {
		t.Error("the instance view shows without being asked for")
	}
	for _, query := range []string{"?$expand=instanceView", "?$expand=INSTANCEVIEW"} {
		if d := shown(t, s, vmID("vm")+query); at(d, "properties.instanceView") == nil {
			t.Errorf("%s: no instance view", query)
		}
	}
}

// Disks and their copies: https://learn.microsoft.com/rest/api/compute/disks.
func TestCopiesOfDisks(t *testing.T) {
	s := gateway(t)
	snap := func(name string) string { return computeIn + "snapshots/" + name }
	of := func(source, more string) string {
		return `{"location":"westeurope","properties":{"creationData":{"createOption":"Copy","sourceResourceId":"` + source + `"}` + more + `}}`
	}
	have(t, s, diskID("data"), emptyDisk("Premium_LRS", ""))
	play(t, s, step{put, snap("one"), of(strings.ToUpper(diskID("data")), ""), 200, ""},
		step{put, snap("x"), of(diskID("none"), ""), 404, "NotFound"}, step{put, snap("x"), of(vnetID, ""), 404, "NotFound"},
		step{put, snap("x"), of("", ""), 400, "InvalidParameter"},
		step{put, snap("x"), `{"location":"westeurope","properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":8}}`, 501, wire.NotServedCode},
		step{remove, diskID("data"), "", 202, ""}, // a snapshot outlives its disk
		step{put, diskID("restored"), of(snap("one"), ""), 200, ""}, step{put, diskID("larger"), of(snap("one"), `,"diskSizeGB":16`), 200, ""},
		step{put, diskID("x"), of(snap("one"), `,"diskSizeGB":7`), 400, "InvalidParameter"},
		step{put, diskID("x"), emptyDisk("Floppy_LRS", ""), 400, "InvalidParameter"},
		step{put, diskID("a b"), emptyDisk("Premium_LRS", ""), 400, "InvalidParameter"},
		step{put, diskID("x"), emptyDisk("Premium_LRS", `,"zones":["7"]`), 400, "AvailabilityZoneNotSupported"})
	for id, size := range map[string]float64{snap("one"): 8, diskID("restored"): 8, diskID("larger"): 16} {
		if got := wire.Number(wire.Props(shown(t, s, id)), "diskSizeGB"); got != int(size) {
			t.Errorf("%s has %d GiB, want %v", id, got, size)
		}
	}
	d := shown(t, s, diskID("restored"))
	if at(d, "properties.creationData.sourceUniqueId") != at(shown(t, s, snap("one")), "properties.uniqueId") ||
		at(d, "properties.creationData.sourceResourceId") != snap("one") {
		t.Errorf("a copy does not say of what: %v", d)
	}
	unique := at(d, "properties.uniqueId")
	play(t, s, step{patch, diskID("restored"), `{"properties":{"diskSizeGB":32}}`, 202, ""},
		step{patch, diskID("restored"), `{"properties":{"diskSizeGB":8}}`, 409, "OperationNotAllowed"})
	if d := shown(t, s, diskID("restored")); at(d, "properties.uniqueId") != unique || wire.Number(wire.Props(d), "diskSizeGB") != 32 {
		t.Errorf("after it has grown: %v", d)
	}
}

// Quotas show what is used of them, region by region, and hold.
func TestQuotas(t *testing.T) {
	s := machines(t, "vm")
	usages := func(region string) (cores, family, machines int) {
		for _, u := range wire.Docs(shown(t, s, inSubscription+"/providers/Microsoft.Compute/locations/"+region+"/usages"), "value") {
			switch at(u, "name.value") {
			case "cores":
				cores = wire.Number(u, "currentValue")
			case "standardDSv3Family":
				family = wire.Number(u, "currentValue")
			case "virtualMachines":
				machines = wire.Number(u, "currentValue")
			}
		}
		return cores, family, machines
	}
	have(t, s, vmID("vm"), vmOf{name: "vm"}.body())
	if cores, family, machines := usages("WestEurope"); cores != 2 || family != 2 || machines != 1 {
		t.Errorf("with a machine of two cores: %d, %d, %d", cores, family, machines)
	}
	if cores, family, _ := usages("northeurope"); cores != 0 || family != 0 {
		t.Errorf("in another region: %d and %d cores", cores, family)
	}
	for i := range 31 { // of 32 cores each: 992 and the first two
		name := fmt.Sprintf("big%d", i)
		have(t, s, nicID(name), nicIn("a", ""), vmID(name), strings.Replace(vmOf{name: name}.body(), "_D2s_v3", "_D32s_v3", 1))
	}
	have(t, s, nicID("more"), nicIn("a", ""))
	size := func(name, of string) string { return strings.Replace(vmOf{name: name}.body(), "D2s_v3", of, 1) }
	play(t, s, step{put, vmID("more"), size("more", "D8s_v3"), 409, "QuotaExceeded"}, // 6 are left
		step{put, vmID("more"), size("more", "D4s_v3"), 201, ""}, step{put, vmID("more"), size("more", "D2s_v3"), 200, ""},
		step{put, vmID("vm"), size("vm", "D8s_v3"), 409, "QuotaExceeded"}, // a larger size counts what it adds
		step{put, vmID("vm"), size("vm", "D8s_v5"), 200, ""})              // another family has its own
}
