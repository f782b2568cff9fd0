package phase1

import (
	"strings"
	"testing"
)

// TestAzManagesNetworks has az look at, change and delete what its own commands made.
func TestAzManagesNetworks(t *testing.T) {
	az := newAz(t)
	network := func(want string, args ...string) { t.Helper(); az.good(want, append([]string{"network"}, args...)...) }
	network("vnet1", "vnet", "create", "-g", "parent", "-n", "vnet1", "--address-prefix", "10.0.0.0/16", "--subnet-name", "s1", "--subnet-prefix", "10.0.0.0/24")
	network("nic1", "nic", "create", "-g", "parent", "-n", "nic1", "--vnet-name", "vnet1", "--subnet", "s1")
	network("nic1", "nic", "list", "-g", "parent", "-o", "table")
	network("", "nic", "delete", "-g", "parent", "-n", "nic1")
	network("Succeeded", "lb", "create", "-g", "parent", "-n", "lb1", "--sku", "Standard", "--backend-pool-name", "pool1")
	network("pool1", "lb", "address-pool", "list", "-g", "parent", "--lb-name", "lb1")
	network("pool1", "lb", "address-pool", "show", "-g", "parent", "--lb-name", "lb1", "-n", "pool1")
	network("nsg1", "nsg", "create", "-g", "parent", "-n", "nsg1")
	network("eastus", "nsg", "show", "-g", "parent", "-n", "nsg1")
	network("", "vnet", "subnet", "update", "-g", "parent", "--vnet-name", "vnet1", "-n", "s1", "--network-security-group", "nsg1")
	az.bad([]string{"NotServedBySandbox", "is not served by the embedded Azure of the sandbox"}, "network", "watcher", "list")

	az.good("nsg1", "resource", "show", "-g", "parent", "-n", "nsg1", "--resource-type", "Microsoft.Network/networkSecurityGroups")
	az.good("blue", "resource", "tag", "-g", "parent", "-n", "nsg1", "--resource-type", "Microsoft.Network/networkSecurityGroups", "--tags", "color=blue")
	az.good("keep", "lock", "create", "-g", "parent", "-n", "keep", "--lock-type", "CanNotDelete", "--resource", "nsg1", "--resource-type", "Microsoft.Network/networkSecurityGroups")
	az.bad([]string{"ScopeLocked"}, "network", "nsg", "delete", "-g", "parent", "-n", "lb1", "--no-wait", "--ids", "/subscriptions/"+subscription+"/resourceGroups/parent/providers/Microsoft.Network/networkSecurityGroups/nsg1")
	az.good("", "lock", "delete", "-g", "parent", "-n", "keep", "--resource", "nsg1", "--resource-type", "Microsoft.Network/networkSecurityGroups")
}

// TestAzManagesMachines has az attach and detach disks, let go of a machine's hardware, and register a namespace.
func TestAzManagesMachines(t *testing.T) {
	az := newAz(t)
	az.good("vm1", "vm", "create", "-g", "parent", "-n", "vm1", "--image", "Debian:debian-12:12-gen2:latest", "--size", "Standard_D2s_v3", "--admin-username", "me", "--admin-password", "Correct-Horse-7", "--public-ip-address", "", "--nsg", "")
	az.good("", "disk", "create", "-g", "parent", "-n", "data1", "--size-gb", "8")
	az.good("", "vm", "disk", "attach", "-g", "parent", "--vm-name", "vm1", "--name", "data1")
	az.good("vm1", "disk", "show", "-g", "parent", "-n", "data1", "--query", "managedBy")
	az.good("data1", "vm", "show", "-g", "parent", "-n", "vm1", "--query", "storageProfile.dataDisks")
	az.good("", "vm", "disk", "detach", "-g", "parent", "--vm-name", "vm1", "--name", "data1")
	if got := az.good("", "disk", "show", "-g", "parent", "-n", "data1", "--query", "managedBy", "-o", "tsv"); got != "" {
		t.Errorf("detached, and still managed by %s", got)
	}
	az.bad([]string{"cannot be resized down"}, "disk", "update", "-g", "parent", "-n", "data1", "--size-gb", "4")
	az.good("", "vm", "deallocate", "-g", "parent", "-n", "vm1")
	az.good("deallocated", "vm", "get-instance-view", "-g", "parent", "-n", "vm1", "--query", "instanceView.statuses[].code")
	az.good("", "provider", "register", "--namespace", "Microsoft.ContainerService", "--wait")
	az.good("Registered", "provider", "show", "-n", "Microsoft.ContainerService", "--query", "registrationState")
	az.bad([]string{"is not served by the embedded Azure of the sandbox"}, "monitor", "metrics", "list", "--resource", "/subscriptions/"+subscription+"/resourceGroups/parent/providers/Microsoft.Compute/virtualMachines/vm1", "--metric", "Percentage CPU")
	_, stderr, err := az.try("az", "storage", "queue", "list", "--account-name", "nobody", "--account-key", "a2V5")
	if err == nil || !strings.Contains(stderr, "is not served by the embedded Azure of the sandbox") {
		t.Errorf("queues: %v %s", err, stderr)
	}
}
