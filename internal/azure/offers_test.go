package azure

import (
	"encoding/json"
	"slices"
	"testing"
)

// An offer has what its row says of place and disks: zones without those that are restricted, and why it is not to be had at all.
func TestOffer(t *testing.T) {
	const rows = `[
	{"resourceType":"virtualMachines","name":"Standard_D4s_v5","family":"standardDSv5Family","locationInfo":[{"zones":["3","1","2"]}],
	 "restrictions":[{"type":"Zone","reasonCode":"NotAvailableForSubscription","restrictionInfo":{"zones":["2"]}}],
	 "capabilities":[{"name":"vCPUs","value":"4"},{"name":"MemoryGB","value":"16"},{"name":"CpuArchitectureType","value":"x64"},{"name":"HyperVGenerations","value":"V1,V2"},{"name":"PremiumIO","value":"True"},{"name":"EphemeralOSDiskSupported","value":"False"}]},
	{"resourceType":"virtualMachines","name":"Standard_D4ps_v5","family":"f","restrictions":[{"type":"Location","reasonCode":"QuotaId"}],
	 "capabilities":[{"name":"vCPUs","value":"4"},{"name":"MemoryGB","value":"16"},{"name":"CpuArchitectureType","value":"Arm64"},{"name":"EncryptionAtHostSupported","value":"True"}]}]`
	var parsed []offerRow
	if err := json.Unmarshal([]byte(rows), &parsed); err != nil {
		t.Fatal(err)
	}
	offers := make([]Offer, len(parsed))
	for i, row := range parsed {
		size, ok := row.size()
		if !ok {
			t.Fatalf("row %d is no size", i)
		}
		offers[i] = row.offer(size)
	}
	x64, arm := offers[0], offers[1]
	if !slices.Equal(x64.Zones, []string{"1", "3"}) || x64.Refused != "" || x64.Family != "standardDSv5Family" || !x64.PremiumDisks || x64.EphemeralDisk || x64.EncryptionAtHost || !slices.Equal(x64.Generations, []string{"V1", "V2"}) {
		t.Errorf("%+v", x64)
	}
	if arm.Refused != "QuotaId" || arm.Arch != "arm64" || arm.PremiumDisks || !arm.EncryptionAtHost || len(arm.Zones) != 0 {
		t.Errorf("%+v", arm)
	}
}
