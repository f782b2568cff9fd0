package azure

import (
	"strings"
	"testing"
)

const (
	vnets = "Microsoft.Network/virtualNetworks"
	vnet  = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v"
)

func TestParseIDOf(t *testing.T) {
	for _, c := range []struct {
		id, kind, name string // no name: refused
	}{
		{vnet, vnets, "v"},
		{vnet + "/subnets/n", vnets + "/subnets", "n"},
		{strings.ToLower(vnet), vnets, "v"},
		{vnet, vnets + "/subnets", ""},
		{vnet + "/subnets/n", vnets, ""},
		{strings.Replace(vnet, "Microsoft.Network", "Microsoft.Compute", 1), vnets, ""},
		{"", vnets, ""},
		{"/resourceGroups", vnets, ""},
		{"/subscriptions/s/resourceGroups/g", vnets, ""},
	} {
		got, err := ParseIDOf(c.id, c.kind)
		if (err == nil) != (c.name != "") || got.Name != c.name || err == nil && got.ResourceGroup != "g" {
			t.Errorf("ParseIDOf(%q, %q) = %+v, %v", c.id, c.kind, got, err)
		}
	}
	_, err := ParseIDOf("mine", vnets+"/subnets")
	if want := `"mine" is not the ARM id of a resource of type Microsoft.Network/virtualNetworks/subnets: ` +
		`want /subscriptions/…/resourceGroups/…/providers/Microsoft.Network/virtualNetworks/NAME/subnets/NAME`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func FuzzParseIDOf(f *testing.F) {
	f.Add(vnet)
	f.Fuzz(func(t *testing.T, id string) {
		if found, err := ParseIDOf(id, vnets); err == nil && (found.ResourceGroup == "" || found.Name == "") {
			t.Errorf("accepted %q as %+v", id, found)
		}
	})
}
