package azure_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// machine is the body of a virtual machine whose parts can be replaced.
type machine struct{ size, image, disk, data, profile, more, location string }

func (m machine) body(nic string) string {
	or := func(given, usual string) string {
		if given == "" {
			return usual
		}
		return given
	}
	return fmt.Sprintf(`{"location":"%s",%s"properties":{"hardwareProfile":{"vmSize":"%s"},"osProfile":{%s},"storageProfile":{%s"osDisk":{"name":"os","createOption":"FromImage"%s}%s},"networkProfile":{"networkInterfaces":[{"id":"%s"}]}}}`,
		or(m.location, "eastus"), m.more, or(m.size, "Standard_D2s_v3"), or(m.profile, `"computerName":"vm1",`+logins), or(m.image, flatcar+","), m.disk, m.data, nic)
}

const flatcarAMD64, flatcarARM64 = "flatcar-container-linux-corevm-amd64", "flatcar-container-linux-corevm"

func marketplaceImage(offer, sku, version string) string {
	return fmt.Sprintf(`"imageReference":{"publisher":"kinvolk","offer":"%s","sku":"%s","version":"%s"},`, offer, sku, version)
}

func dataDisk(typ string) string {
	return `,"dataDisks":[{"lun":0,"createOption":"Empty","diskSizeGB":4,"managedDisk":{"storageAccountType":"` + typ + `"}}]`
}

func withCustomData(data string) string {
	return `"computerName":"vm1","customData":"` + data + `",` + logins
}

func withKey(path, key string) string {
	return `"computerName":"vm1","adminUsername":"core","linuxConfiguration":{"disablePasswordAuthentication":true,"ssh":{"publicKeys":[{"path":"` + path + `","keyData":"` + key + `"}]}}`
}

const invalidParameter = "InvalidParameter"

type refusedMachine struct {
	m          machine
	status     int
	code, text string
}

// refusedMachines are those that Azure would not make, in its words.
func refusedMachines() []refusedMachine {
	var tooMany []string
	for i := range 5 {
		tooMany = append(tooMany, fmt.Sprintf(`{"lun":%d,"createOption":"Empty","diskSizeGB":4}`, i))
	}
	return []refusedMachine{
		{machine{image: " "}, 400, invalidParameter, "Required parameter 'imageReference' is missing (null)."},
		{machine{image: marketplaceImage(flatcarAMD64, "stable-gen3", "latest")}, 404, "PlatformImageNotFound", "The platform image 'kinvolk:" + flatcarAMD64 + ":stable-gen3:latest' is not available."},
		{machine{image: marketplaceImage(flatcarAMD64, "stable-gen2", "1.2.3")}, 404, "PlatformImageNotFound", "1.2.3"},
		{machine{image: `"imageReference":{"id":"` + computeRP + `images/none"},`}, 404, "NotFound", "images/none"},
		{machine{image: `"imageReference":{"id":"` + computeRP + `images/far"},`}, 400, "InvalidResourceReference", "both resources are in the same region"},
		{machine{image: marketplaceImage(flatcarARM64, "stable", "latest")}, 400, "BadRequest", "this VM size only supports a CPU Architecture of 'x64', but an image or disk with CPU Architecture 'Arm64' was given."},
		{machine{size: "Standard_D2ps_v5"}, 400, "BadRequest", "this VM size only supports a CPU Architecture of 'Arm64', but an image or disk with CPU Architecture 'x64' was given."},
		{machine{size: "Standard_A2_v2"}, 400, "BadRequest", "The selected VM size 'Standard_A2_v2' cannot boot Hypervisor Generation '2'."},
		{machine{size: "Standard_A2_v2", image: marketplaceImage(flatcarAMD64, "stable", "latest"), disk: `,"managedDisk":{"storageAccountType":"Premium_LRS"}`}, 400, invalidParameter, "the VM size Standard_A2_v2 does not support the storage account type Premium_LRS of disk 'os'"},
		{machine{disk: `,"managedDisk":{"storageAccountType":"Floppy_LRS"}`}, 400, invalidParameter, "Floppy_LRS"},
		{machine{disk: `,"managedDisk":{"storageAccountType":"UltraSSD_LRS"}`}, 400, invalidParameter, "is not supported for the OS disk"},
		{machine{data: dataDisk("UltraSSD_LRS")}, 400, invalidParameter, "availability zone"},
		{machine{data: dataDisk("UltraSSD_LRS"), more: `"zones":["1"],`}, 400, invalidParameter, "ultraSSDEnabled"},
		{machine{more: `"zones":["4"],`}, 400, "AvailabilityZoneNotSupported", "The zone(s) '4' for resource 'Microsoft.Compute/virtualMachines/vm1' is not supported. The supported zones for location 'eastus' are '1,2,3'"},
		{machine{disk: `,"diskSizeGB":8`}, 400, invalidParameter, "smaller than the size of the corresponding disk in the VM image: 30 GB"},
		{machine{disk: `,"caching":"ReadOnly","diskSizeGB":64,"diffDiskSettings":{"option":"Local"}`}, 400, "NotSupported", "greater than 50 GB is not allowed for VM size Standard_D2s_v3"},
		{machine{size: "Standard_D2s_v5", disk: `,"caching":"ReadOnly","diffDiskSettings":{"option":"Local"}`}, 400, "NotSupported", "Standard_D2s_v5"},
		{machine{disk: `,"caching":"None","diffDiskSettings":{"option":"Local"}`}, 400, invalidParameter, "caching"},
		{machine{data: `,"dataDisks":[` + strings.Join(tooMany, ",") + `]`}, 409, "OperationNotAllowed", "The maximum number of data disks allowed to be attached to a VM of this size is 4."},
		{machine{data: `,"dataDisks":[{"lun":0,"createOption":"Attach","managedDisk":{"id":"` + computeRP + `disks/far"}}]`}, 400, "InvalidResourceReference", "disks/far"},
		{machine{profile: withCustomData("not base64")}, 400, invalidParameter, "Custom data in OSProfile must be in Base64 encoding and with a maximum length of 87380 characters."},
		{machine{profile: withCustomData(base64.StdEncoding.EncodeToString(make([]byte, 65536)))}, 400, invalidParameter, "87380"},
		{machine{profile: `"computerName":"vm1","adminUsername":"core","linuxConfiguration":{"disablePasswordAuthentication":true}`}, 400, invalidParameter, "Authentication using either SSH or by user name and password must be enabled in Linux profile."},
		{machine{profile: `"computerName":"vm1","adminUsername":"core"`}, 400, invalidParameter, "Authentication using either SSH"},
		{machine{profile: withKey("/home/other/.ssh/authorized_keys", publicKey)}, 400, invalidParameter, "default value /home/core/.ssh/authorized_keys"},
		{machine{profile: withKey("/home/core/.ssh/authorized_keys", "ssh-rsa key")}, 400, invalidParameter, "keyData is invalid"},
		{machine{profile: `"computerName":"vm1"`}, 400, invalidParameter, "adminUsername"},
		{machine{profile: strings.Replace(`"computerName":"vm1",`+logins, `"core"`, `"Admin"`, 1)}, 400, invalidParameter, "The Admin Username specified is not allowed."},
		{machine{profile: `"computerName":"vm_1",` + logins}, 400, invalidParameter, "Linux host name cannot exceed 64 characters"},
		{machine{location: "westus"}, 400, "InvalidResourceReference", "networkInterfaces/nic"},
	}
}

// A machine that Azure would not make is refused in Azure's words, and nothing of it is there afterwards; those at the limits are made.
func TestMachinesThatAzureRefuses(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	nic := *s.nic("rg", "nic", s.vnet("rg")).ID
	fast := netRP + "networkInterfaces/fast"
	s.good("PUT", fast, `{"location":"eastus","properties":{"enableAcceleratedNetworking":true,"ipConfigurations":[{"name":"ip","properties":{"subnet":{"id":"`+netRP+`virtualNetworks/vnet/subnets/default"}}}]}}`)
	s.good("PUT", computeRP+"disks/far", `{"location":"westus","sku":{"name":"Premium_LRS"},"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":4}}`)
	s.good("PUT", computeRP+"images/far", `{"location":"westus","properties":{"storageProfile":{"osDisk":{"osType":"Linux","osState":"Generalized"}}}}`)
	vm := computeRP + "virtualMachines/vm1"
	for _, c := range refusedMachines() {
		if got := s.call("PUT", vm, c.m.body(nic)); got.status != c.status || got.code != c.code || !strings.Contains(got.text, c.text) {
			t.Errorf("%+v: %d %s, want %d %s with %q", c.m, got.status, got.text, c.status, c.code, c.text)
		}
	}
	s.refusals([]refusal{{"PUT", vm, machine{size: "Standard_B2ms"}.body(fast), 400, "VMSizeIsNotPermittedToEnableAcceleratedNetworking", "Standard_B2ms"}})
	if got := s.call("GET", vm, ""); got.status != 404 {
		t.Errorf("made: %s", got.text)
	}
	for name, m := range map[string]machine{
		"arm64":            {size: "Standard_D2ps_v5", image: marketplaceImage(flatcarARM64, "stable", "4593.2.1")},
		"first generation": {size: "Standard_A2_v2", image: marketplaceImage(flatcarAMD64, "stable", "4230.2.2")},
		"all the bytes":    {profile: withCustomData(base64.StdEncoding.EncodeToString(make([]byte, 65535)))},
		"ephemeral":        {disk: `,"caching":"ReadOnly","diskSizeGB":50,"diffDiskSettings":{"option":"Local"}`},
		"premium, zoned":   {data: dataDisk("Premium_LRS"), more: `"zones":["1"],`},
	} {
		if got := s.call("PUT", vm, m.body(nic)); got.status != 201 {
			t.Errorf("%s: %d %s", name, got.status, got.text)
		}
		s.good("DELETE", vm, "")
		s.good("DELETE", computeRP+"disks/os", "")
	}
}
