package cluster

import (
	"strings"
	"testing"
)

func TestParseResourceID(t *testing.T) {
	const base = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v"
	for _, c := range []struct {
		id, kind string
		want     ResourceID
		fails    bool
	}{
		{id: base, kind: "virtualNetworks", want: ResourceID{"g", "v"}},
		{id: base + "/subnets/n", kind: "subnets", want: ResourceID{"g", "n"}},
		{id: strings.ToLower(base), kind: "virtualNetworks", want: ResourceID{"g", "v"}},
		{id: base, kind: "subnets", fails: true},
		{id: "", kind: "subnets", fails: true},
		{id: "/resourceGroups", kind: "subnets", fails: true},
	} {
		got, err := ParseResourceID(c.id, c.kind)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("ParseResourceID(%q, %q) = %v, %v", c.id, c.kind, got, err)
		}
	}
}

func FuzzParseResourceID(f *testing.F) {
	f.Add("/subscriptions/s/resourceGroups/g/providers/p/subnets/n")
	f.Fuzz(func(t *testing.T, id string) {
		if found, err := ParseResourceID(id, "subnets"); err == nil && (found.Group == "" || found.Name == "") {
			t.Errorf("accepted %q as %v", id, found)
		}
	})
}
