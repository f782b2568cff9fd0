package azure_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

// TestDisksOfADriver plays the requests of a driver for disks: it knows a machine by its name alone, and writes nothing of it but its data disks.
func TestDisksOfADriver(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	vnet := s.vnet("rg")
	s.vm("rg", "vm1", s.nic("rg", "nic1", vnet))
	s.vm("rg", "vm2", s.nic("rg", "nic2", vnet))
	vm1, vm2, disk := computeRP+"virtualMachines/vm1", computeRP+"virtualMachines/vm2", computeRP+"disks/pvc-1"
	made := s.good("PUT", disk, `{"location":"eastus","zones":["1"],"sku":{"name":"Premium_LRS"},"tags":{"k8s-azure-created-by":"kubernetes-azure-dd"},
		"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":4,"networkAccessPolicy":"DenyAll","publicNetworkAccess":"Disabled"}}`)
	unique, _ := made.body["properties"].(map[string]any)["uniqueId"].(string)
	write := func(disks string) string {
		return `{"location":"eastus","properties":{"storageProfile":{"dataDisks":[` + disks + `]}}}`
	}
	slot := func(lun, more string) string { // drivers write ids in lower case
		return `{"name":"pvc-1","lun":` + lun + `,"caching":"ReadOnly","createOption":"Attach","writeAcceleratorEnabled":false` + more +
			`,"managedDisk":{"id":"` + strings.ToLower(disk) + `"}}`
	}
	before := s.good("GET", vm1, "")
	s.good("PUT", vm1, write(slot("3", "")))
	after := s.good("GET", vm1, "")
	for _, kept := range []string{"hardwareProfile", "networkProfile", "osProfile"} {
		had, has := before.body["properties"].(map[string]any)[kept], after.body["properties"].(map[string]any)[kept]
		if !reflect.DeepEqual(had, has) {
			t.Errorf("%s was %v and is %v", kept, had, has)
		}
	}
	if !strings.Contains(after.text, `"osDisk"`) || !strings.Contains(after.text, `"lun":3`) || strings.Contains(after.text, `"dataDisks":[]`) {
		t.Errorf("the disks of the machine: %s", after.text)
	}
	s.refusals([]refusal{
		{"PUT", vm2, write(slot("0", "")), 409, "ConflictingUserInput", "owned by VM"},
		{"DELETE", disk, "", 409, "OperationNotAllowed", "vm1"},
		{"PUT", computeRP + "disks/x", `{"location":"eastus","properties":{"creationData":{"createOption":"Empty"}}}`, 400, "InvalidParameter", "diskSizeGB"},
		{"PUT", computeRP + "disks/x", `{"location":"eastus","properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":40000}}`, 400, "InvalidParameter", "32767"},
		{"PUT", computeRP + "disks/x", `{"location":"eastus","properties":{"creationData":{"createOption":"Copy","sourceResourceId":"` + computeRP + `snapshots/none"}}}`, 404, "NotFound", "snapshots/none"},
	})
	s.good("PATCH", disk, `{"properties":{"diskSizeGB":6}}`)
	snapshot := computeRP + "snapshots/snap-1"
	taken := s.good("PUT", snapshot, `{"location":"eastus","properties":{"creationData":{"createOption":"Copy","sourceResourceId":"`+disk+`"},"incremental":true}}`)
	if !strings.Contains(taken.text, `"diskSizeGB":6`) {
		t.Errorf("the snapshot: %s", taken.text)
	}
	s.refusals([]refusal{
		{"PUT", computeRP + "disks/x", `{"location":"eastus","properties":{"creationData":{"createOption":"Copy","sourceResourceId":"` + snapshot + `"},"diskSizeGB":5}}`, 400, "InvalidParameter", "smaller"},
	})
	s.good("PUT", computeRP+"disks/pvc-2", `{"location":"eastus","properties":{"creationData":{"createOption":"Copy","sourceResourceId":"`+snapshot+`"}}}`)
	snap, err := s.feed().Watch(t.Context(), 0)
	must(t, err)
	wantDisks(t, snap, unique)
	s.good("PUT", vm1, write(slot("3", `,"toBeDetached":true`)))
	if got := s.good("GET", disk, ""); got.body["managedBy"] != nil || !strings.Contains(got.text, `"diskState":"Unattached"`) {
		t.Errorf("detached: %s", got.text)
	}
	s.good("PUT", vm2, write(slot("0", "")))
	if got := s.good("GET", disk, ""); got.body["managedBy"] != vm2 {
		t.Errorf("moved: %s", got.text)
	}
}

// wantDisks: the hypervisor is told of the disk in its slot, of the snapshot as a copy of it, and of the disk that is a copy of the snapshot.
func wantDisks(t *testing.T, snap feed.Snapshot, unique string) {
	t.Helper()
	sources := map[string]string{}
	for _, d := range snap.Disks {
		sources[d.UniqueID] = d.Source
		if d.SizeGiB != 6 {
			t.Errorf("disk of %d GiB, want 6", d.SizeGiB)
		}
	}
	copies := 0
	for id, source := range sources {
		if source == unique || source != "" && sources[source] == unique {
			copies++
		} else if id != unique {
			t.Errorf("a disk of nobody: %s of %q", id, source)
		}
	}
	if len(sources) != 3 || copies != 2 {
		t.Errorf("disks by their sources: %v", sources)
	}
	for _, m := range snap.Machines {
		if m.Name == "vm1" && (len(m.DataDisks) != 1 || m.DataDisks[0] != feed.DataDisk{LUN: 3, UniqueID: unique}) {
			t.Errorf("disks of the machine: %v", m.DataDisks)
		}
	}
}
