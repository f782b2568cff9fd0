package arm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Names of groups: https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules#microsoftresources.
func TestResourceGroups(t *testing.T) {
	s := gateway(t)
	group := func(name string) string { return inSubscription + "/resourceGroups/" + name }
	for _, name := range []string{"ends.", strings.Repeat("g", 91), "a b", "a,b", "a*"} {
		play(t, s, step{put, group(name), `{"location":"westeurope"}`, 400, "InvalidResourceGroup"})
	}
	for _, name := range []string{"a", strings.Repeat("g", 90), "(a)", "a.b_c-d"} {
		play(t, s, step{put, group(name), `{"location":"westeurope"}`, 201, ""})
	}
	play(t, s, step{put, group("x"), `{}`, 400, "LocationRequired"},
		step{put, group("x"), `{"location":"atlantis"}`, 400, "LocationNotAvailableForResourceGroup"},
		step{put, group("x"), `{"location":"global"}`, 400, "LocationNotAvailableForResourceGroup"},
		step{put, group("RG"), `{"location":"West Europe"}`, 200, ""},
		step{put, group("rg"), `{"location":"northeurope"}`, 409, "InvalidResourceGroupLocation"},
		step{get, group("none"), "", 404, "ResourceGroupNotFound"}, step{patch, group("none"), `{"tags":{}}`, 404, "ResourceGroupNotFound"},
		step{remove, group("none"), "", 404, "ResourceGroupNotFound"},
		step{get, group("none") + "/resources", "", 404, "ResourceGroupNotFound"},
		step{get, group("none") + "/providers/Microsoft.Network/virtualNetworks", "", 404, "ResourceGroupNotFound"},
		step{remove, group("none") + "/providers/Microsoft.Network/virtualNetworks/x", "", 404, "ResourceGroupNotFound"},
		step{put, group("none") + "/providers/Microsoft.Network/virtualNetworks/x", vnetOf(), 404, "ResourceGroupNotFound"})
	if d := shown(t, s, group("Rg")); d["name"] != "rg" || d["id"] != inGroup || d["type"] != "Microsoft.Resources/resourceGroups" ||
		at(d, "properties.provisioningState") != "Succeeded" {
		t.Errorf("a group asked for in another case: %v", d)
	}
}

// The deletion of a group takes all that is in it, whatever refers to what, and nothing beside it.
func TestDeletionOfAGroup(t *testing.T) {
	s := machines(t, "vm")
	beside := inSubscription + "/resourceGroups/rg2"
	have(t, s, beside, `{"location":"westeurope"}`, beside+"/providers/Microsoft.ManagedIdentity/userAssignedIdentities/one", `{"location":"westeurope"}`,
		vmID("vm"), vmOf{name: "vm"}.body(), publicZone, `{"location":"global"}`, publicZone+"/A/www", aRecord("192.0.2.1"))
	assign(t, s, other, readerRole, inGroup)
	play(t, s, step{remove, inGroup, "", 202, ""})
	for _, id := range []string{inGroup, vmID("vm"), nicID("vm"), diskID("vm-os"), vnetID, publicZone + "/A/www"} {
		play(t, s, step{get, id, "", 404, "ResourceGroupNotFound"})
	}
	play(t, s, step{get, beside + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/one", "", 200, ""},
		step{put, inGroup, `{"location":"westeurope"}`, 201, ""})
	if got := names(want(t, s, owner, get, inGroup+"/resources", nil, 200)); got != "" {
		t.Errorf("a group of the same name has %s", got)
	}
	want(t, s, other, get, inGroup, nil, 403) // roles in it have gone as well
}

// A PUT of a group replaces its tags; of anything else it keeps those that it does not mention.
func TestTagsOfAWrite(t *testing.T) {
	s := gateway(t)
	tagsOf := func(id string) string { return fmt.Sprint(wire.Sub(shown(t, s, id), "tags")) }
	for _, c := range []struct{ method, path, body, tags string }{
		{put, inGroup, `{"location":"westeurope","tags":{"a":"1","b":"2"}}`, "map[a:1 b:2]"},
		{patch, inGroup, `{"tags":{"c":"3"}}`, "map[c:3]"},
		{patch, inGroup, `{}`, "map[c:3]"},
		{put, inGroup, `{"location":"westeurope"}`, "map[]"},
		{put, nsgID, `{"location":"westeurope","tags":{"a":"1"}}`, "map[a:1]"},
		{put, nsgID, `{"location":"westeurope"}`, "map[a:1]"},
		{patch, nsgID, `{"tags":{"b":"2"}}`, "map[b:2]"},
		{put, nsgID, `{"location":"westeurope","tags":{}}`, "map[]"},
	} {
		if status, code, _ := send(s, owner, c.method, c.path, parse(t, c.body)); status >= 300 {
			t.Fatalf("%s %s: %d %s", c.method, c.path, status, code)
		}
		if got := tagsOf(c.path); got != c.tags {
			t.Errorf("%s %s: tags are %s, want %s", c.method, c.body, got, c.tags)
		}
	}
}

// The tags of anything have an address of their own: https://learn.microsoft.com/rest/api/resources/tags/update-at-scope. Their names ignore case.
func TestTagsResource(t *testing.T) {
	s := gateway(t)
	at := func(id string) string { return id + "/providers/Microsoft.Resources/tags/default" }
	change := func(operation, tags string) string {
		return `{"operation":"` + operation + `","properties":{"tags":` + tags + `}}`
	}
	have(t, s, nsgID, `{"location":"westeurope"}`)
	for _, c := range []struct{ method, body, tags string }{
		{get, "", "map[]"},
		{put, `{"properties":{"tags":{"env":"dev","team":"a"}}}`, "map[env:dev team:a]"},
		{patch, change("Merge", `{"env":"prod","more":"x"}`), "map[env:prod more:x team:a]"},
		{patch, change("Merge", `{"ENV":"test"}`), "map[ENV:test more:x team:a]"},
		{patch, change("Delete", `{"Team":"a","none":"y"}`), "map[ENV:test more:x]"},
		{patch, change("Replace", `{"only":"this"}`), "map[only:this]"},
		{put, `{"properties":{"tags":{}}}`, "map[]"},
	} {
		for _, id := range []string{nsgID, inGroup} {
			d := want(t, s, owner, c.method, at(id), parse(t, c.body), 200)
			if got, kept := fmt.Sprint(wire.Sub(wire.Props(d), "tags")), fmt.Sprint(wire.Sub(shown(t, s, id), "tags")); got != c.tags || kept != c.tags {
				t.Errorf("%s %s of %s: answers %s, keeps %s, want %s", c.method, c.body, id, got, kept, c.tags)
			}
		}
	}
	play(t, s, step{patch, at(nsgID), change("Merge", `{"a":"b"}`), 200, ""}, step{remove, at(nsgID), "", 200, ""},
		step{get, at(networkIn + "networkSecurityGroups/none"), "", 404, "ResourceNotFound"},
		step{put, at(inSubscription + "/resourceGroups/none"), `{"properties":{"tags":{}}}`, 404, "ResourceGroupNotFound"})
	if got := fmt.Sprint(wire.Sub(shown(t, s, nsgID), "tags")); got != "map[]" {
		t.Errorf("after the deletion: %s", got)
	}
	want(t, s, other, patch, at(nsgID), wire.Doc{}, 403)
}

// What a $filter selects: https://learn.microsoft.com/rest/api/resources/resources/list. A name and a value of a tag are of one and the same.
func TestFilters(t *testing.T) {
	s := gateway(t)
	have(t, s, secondIn, `{"location":"northeurope","tags":{"env":"prod"}}`,
		nsgID, `{"location":"westeurope","tags":{"env":"prod","team":"a"}}`, networkIn+"networkSecurityGroups/far",
		`{"location":"northeurope","tags":{"team":"prod"}}`,
		networkIn+"routeTables/rt", `{"location":"westeurope","tags":{"ENV":"dev"}}`, secondIn+"/providers/Microsoft.Storage/storageAccounts/acct",
		accountOf(""))
	for filter, wanted := range map[string]string{
		"": "acct far nsg rt",
		"resourceType eq 'Microsoft.Network/networkSecurityGroups'": "far nsg",
		"resourceType eq 'microsoft.network/NETWORKSECURITYGROUPS'": "far nsg",
		"location eq 'northeurope'":                                 "far",
		"name eq 'rt'":                                              "rt",
		"resourceType eq 'Microsoft.Network/networkSecurityGroups' and location eq 'westeurope'": "nsg",
		"tagName eq 'env'":                         "nsg rt",
		"tagName eq 'team' and tagValue eq 'prod'": "far",
		"tagName eq 'env' and tagValue eq 'prod'":  "nsg",
		"tagName eq 'env' and tagValue eq 'PROD'":  "",
		"tagName eq 'none'":                        "",
		"resourceGroup eq 'RG' and name eq 'nsg'":  "nsg",
		"name eq 'nothing''s here'":                "",
		"resourceType eq 'Microsoft.Network/routeTables' and tagName eq 'env' and tagValue eq 'dev'": "rt",
	} {
		got := strings.Fields(names(want(t, s, owner, get, inSubscription+"/resources?$filter="+strings.ReplaceAll(filter, " ", "%20"), nil, 200)))
		slices.Sort(got)
		if strings.Join(got, " ") != wanted {
			t.Errorf("%q selects %v, want %s", filter, got, wanted)
		}
	}
	for filter, wanted := range map[string]string{"": "rg rg2", "tagName eq 'env' and tagValue eq 'prod'": "rg2", "tagName eq 'env' and tagValue eq 'x'": ""} {
		if got := names(want(t, s, owner, get, inSubscription+"/resourceGroups?$filter="+strings.ReplaceAll(filter, " ", "%20"), nil, 200)); got != wanted {
			t.Errorf("groups by %q: %s, want %s", filter, got, wanted)
		}
	}
}
