package azure_test

import (
	"fmt"
	"strings"
	"testing"
)

// A write that leads to another resource needs a right there, too, and the right at the written resource says nothing of it.
func TestLinkedRights(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	s.group("theirs")
	subnet := *s.vnet("theirs").ID
	const theirs = inSub + "/resourceGroups/theirs/providers/"
	for path, more := range map[string]string{"Microsoft.Network/networkSecurityGroups/nsg": "", "Microsoft.ManagedIdentity/userAssignedIdentities/identity": "", "Microsoft.Network/routeTables/rt": "",
		"Microsoft.Network/publicIPAddresses/pip": `,"sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}`, "Microsoft.Compute/diskEncryptionSets/des": `,"identity":{"type":"SystemAssigned"}`,
		"Microsoft.Compute/images/img": `,"properties":{"storageProfile":{"osDisk":{"osType":"Linux","osState":"Generalized","blobUri":"https://x"}}}`} {
		s.good("PUT", theirs+path, `{"location":"eastus"`+more+`}`)
	}
	s.good("PUT", theirs+"Microsoft.Compute/disks/disk", `{"location":"eastus","properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":4}}`)
	s.good("PUT", theirs+"Microsoft.Network/loadBalancers/lb", `{"location":"eastus","properties":{"backendAddressPools":[{"name":"pool"}]}}`)
	s.good("PUT", theirs+"Microsoft.Network/networkInterfaces/nic", `{"location":"eastus","properties":{"ipConfigurations":[{"name":"ip","properties":{"subnet":{"id":"`+subnet+`"}}}]}}`)
	s.good("PUT", netRP+"privateDnsZones/hc.local", `{"location":"global"}`)
	s.good("PUT", netRP+"virtualNetworks/ours", `{"location":"eastus","properties":{"addressSpace":{"addressPrefixes":["10.1.0.0/16"]}}}`)

	id, credential := s.servicePrincipal("contributor of one group")
	must(t, s.assign(inRG, contributor, id))
	token, err := credential.GetToken(t.Context(), managementScope())
	must(t, err)
	put := func(path, body string) answer {
		return s.request("PUT", "https://management.azure.com"+withVersion(path), body, "Authorization", "Bearer "+token.Token)
	}
	nic := func(fields string) string {
		return `{"location":"eastus","properties":{"networkSecurityGroup":{"id":"` + fields + `"},"ipConfigurations":[{"name":"ip","properties":{}}]}}`
	}
	ip := func(properties string) string {
		return `{"location":"eastus","properties":{"ipConfigurations":[{"name":"ip","properties":{` + properties + `}}]}}`
	}
	vm := func(properties string) string { return `{"location":"eastus","properties":{` + properties + `}}` }
	ref := func(name, id string) string { return fmt.Sprintf(`"%s":{"id":"%s"}`, name, id) }
	for _, c := range []struct{ path, body, action, scope string }{
		{netRP + "networkInterfaces/n", ip(ref("subnet", subnet)), "Microsoft.Network/virtualNetworks/subnets/join/action", subnet},
		{netRP + "networkInterfaces/n", nic(theirs + "Microsoft.Network/networkSecurityGroups/nsg"), "Microsoft.Network/networkSecurityGroups/join/action", theirs + "Microsoft.Network/networkSecurityGroups/nsg"},
		{netRP + "networkInterfaces/n", ip(ref("publicIPAddress", theirs+"Microsoft.Network/publicIPAddresses/pip")), "Microsoft.Network/publicIPAddresses/join/action", theirs + "Microsoft.Network/publicIPAddresses/pip"},
		{netRP + "networkInterfaces/n", ip(`"loadBalancerBackendAddressPools":[{"id":"` + theirs + `Microsoft.Network/loadBalancers/lb/backendAddressPools/pool"}]`),
			"Microsoft.Network/loadBalancers/backendAddressPools/join/action", theirs + "Microsoft.Network/loadBalancers/lb/backendAddressPools/pool"},
		{netRP + "virtualNetworks/ours/subnets/s", vm(`"addressPrefix":"10.1.0.0/24",` + ref("routeTable", theirs+"Microsoft.Network/routeTables/rt")), "Microsoft.Network/routeTables/join/action", theirs + "Microsoft.Network/routeTables/rt"},
		{netRP + "virtualNetworks/more", vm(`"addressSpace":{"addressPrefixes":["10.2.0.0/16"]},"subnets":[{"name":"s","properties":{"addressPrefix":"10.2.0.0/24",` + ref("networkSecurityGroup", theirs+"Microsoft.Network/networkSecurityGroups/nsg") + `}}]`),
			"Microsoft.Network/networkSecurityGroups/join/action", theirs + "Microsoft.Network/networkSecurityGroups/nsg"},
		{netRP + "loadBalancers/ours", vm(`"frontendIPConfigurations":[{"name":"fe","properties":{` + ref("subnet", subnet) + `}}]`), "Microsoft.Network/virtualNetworks/subnets/join/action", subnet},
		{netRP + "privateDnsZones/hc.local/virtualNetworkLinks/l", vm(ref("virtualNetwork", strings.TrimSuffix(subnet, "/subnets/default"))), "Microsoft.Network/virtualNetworks/join/action", strings.TrimSuffix(subnet, "/subnets/default")},
		{computeRP + "virtualMachines/v", vm(`"networkProfile":{"networkInterfaces":[{"id":"` + theirs + `Microsoft.Network/networkInterfaces/nic"}]}`), "Microsoft.Network/networkInterfaces/join/action", theirs + "Microsoft.Network/networkInterfaces/nic"},
		{computeRP + "virtualMachines/v", `{"location":"eastus","identity":{"type":"UserAssigned","userAssignedIdentities":{"` + theirs + `Microsoft.ManagedIdentity/userAssignedIdentities/identity":{}}},"properties":{}}`,
			"Microsoft.ManagedIdentity/userAssignedIdentities/assign/action", theirs + "Microsoft.ManagedIdentity/userAssignedIdentities/identity"},
		{computeRP + "virtualMachines/v", vm(`"storageProfile":{` + ref("imageReference", theirs+"Microsoft.Compute/images/img") + `}`), "Microsoft.Compute/images/read", theirs + "Microsoft.Compute/images/img"},
		{computeRP + "virtualMachines/v", vm(`"storageProfile":{"dataDisks":[{"lun":0,"createOption":"Attach",` + ref("managedDisk", theirs+"Microsoft.Compute/disks/disk") + `}]}`), "Microsoft.Compute/disks/write", theirs + "Microsoft.Compute/disks/disk"},
		{computeRP + "disks/d", vm(`"creationData":{"createOption":"Empty"},"diskSizeGB":4,"encryption":{"diskEncryptionSetId":"` + theirs + `Microsoft.Compute/diskEncryptionSets/des"}`), "Microsoft.Compute/diskEncryptionSets/read", theirs + "Microsoft.Compute/diskEncryptionSets/des"},
	} {
		got := put(c.path, c.body)
		want := "however, it does not have permission to perform action(s) '" + c.action + "' on the linked scope(s) '" + c.scope + "' (respectively) or the linked scope(s) are invalid."
		if got.status != 403 || got.code != "LinkedAuthorizationFailed" || !strings.Contains(got.text, want) {
			t.Errorf("PUT %s: %d %s, want %s", c.path, got.status, got.text, want)
		}
	}
	// With the right it is done, and no more is needed.
	custom := inSub + "/providers/Microsoft.Authorization/roleDefinitions/00000000-0000-4000-8000-0000000000ce"
	s.good("PUT", custom, `{"properties":{"roleName":"Joiner","assignableScopes":["`+inSub+`"],"permissions":[{"actions":["Microsoft.Network/virtualNetworks/subnets/join/action"]}]}}`)
	must(t, s.assign(subnet, "00000000-0000-4000-8000-0000000000ce", id))
	if got := put(netRP+"networkInterfaces/n", ip(ref("subnet", subnet))); got.status != 201 {
		t.Errorf("with the right to join: %d %s", got.status, got.text)
	}
}
