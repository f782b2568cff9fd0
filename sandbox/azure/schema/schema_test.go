package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
)

var update = flag.Bool("update", false, "rewrite golden files")

const network = "Microsoft.Network/virtualNetworks"

func decoded(t testing.TB, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// One planted fault at a time, and what is no fault.
func TestRequest(t *testing.T) {
	const vm, subnet = "Microsoft.Compute/virtualMachines", network + "/subnets"
	for name, c := range map[string]struct{ method, typ, version, body, want string }{
		"nothing wrong":            {"PUT", network, "2024-05-01", `{"location":"eastus","tags":{"a":"b"},"properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},"subnets":[{"name":"s"}]}}`, ""},
		"a wrong property":         {"PUT", network, "2024-05-01", `{"properties":{"addressSpaces":{}}}`, Unknown + ": properties.addressSpaces of VirtualNetworkPropertiesFormat"},
		"deep inside":              {"PUT", network, "2024-05-01", `{"properties":{"subnets":[{},{"properties":{"prefix":""}}]}}`, Unknown + ": properties.subnets[1].properties.prefix of SubnetPropertiesFormat"},
		"a wrong type":             {"PUT", subnet, "2024-05-01", `{"properties":{"addressPrefix":24}}`, Type + ": properties.addressPrefix of SubnetPropertiesFormat: 24 is no string"},
		"a number of no use":       {"PUT", vm, "2024-03-01", `{"location":"l","properties":{"platformFaultDomain":1.5}}`, Type + ": properties.platformFaultDomain of VirtualMachineProperties: 1.5 is no int"},
		"an object for a list":     {"PUT", subnet, "2024-05-01", `{"properties":{"addressPrefixes":"10.0.0.0/24"}}`, Type + `: properties.addressPrefixes of SubnetPropertiesFormat: "10.0.0.0/24" is no array`},
		"a text for an object":     {"PUT", subnet, "2024-05-01", `{"properties":"none"}`, Type + `: properties of Subnet: "none" is no SubnetPropertiesFormat`},
		"a tag that is no text":    {"PUT", network, "2024-05-01", `{"tags":{"a":1}}`, Type + ": tags.a of VirtualNetwork: 1 is no string"},
		"a wrong value":            {"PUT", "Microsoft.Network/publicIPAddresses", "2024-05-01", `{"sku":{"name":"Huge"}}`, Value + ": sku.name of PublicIPAddressSKUName: 'Huge' is none of Basic, Standard"},
		"case of a value":          {"PUT", "Microsoft.Network/publicIPAddresses", "2024-05-01", `{"SKU":{"name":"standard"}}`, ""},
		"a missing property":       {"PUT", vm, "2024-03-01", `{}`, Missing + ": location of VirtualMachine"},
		"nothing missing in PATCH": {"PATCH", "Microsoft.Network/privateDnsZones", "2024-06-01", `{}`, ""},
		"read-only, not looked at": {"PUT", vm, "2024-03-01", `{"location":"l","properties":{"provisioningState":7}}`, ""},
		"any value":                {"PUT", vm + "/extensions", "2024-03-01", `{"location":"l","properties":{"settings":{"a":[1]}}}`, ""},
		"an open enumeration":      {"PUT", vm, "2024-03-01", `{"location":"l","properties":{"hardwareProfile":{"vmSize":"Standard_D2s_v9"}}}`, ""},
		"null":                     {"PUT", network, "2024-05-01", `{"properties":{"addressSpace":null}}`, ""},
		"a version between":        {"PUT", network, "2023-11-01", `{"properties":{"addressSpaces":{}}}`, Unknown + ": properties.addressSpaces of VirtualNetworkPropertiesFormat"},
		"only newer has it":        {"PUT", network, "2023-11-01", `{"properties":{"privateEndpointVNetPolicies":"Disabled"}}`, ""},
		"newer than all":           {"PUT", network, "2026-01-01", `{"properties":{"addressSpaces":{}},"tags":{"a":1}}`, Type + ": tags.a of VirtualNetwork: 1 is no string"},
		"a record set":             {"PUT", "Microsoft.Network/dnsZones/TXT", "2018-05-01", `{"properties":{"TTL":"1"}}`, Type + `: properties.TTL of RecordSetProperties: "1" is no int`},
	} {
		t.Run(name, func(t *testing.T) {
			o := Find(c.method, c.typ, false, c.version)
			if o == nil {
				t.Fatal("no operation")
			}
			var got []string
			for _, p := range o.Request(decoded(t, c.body)) {
				got = append(got, p.String())
			}
			if strings.Join(got, "\n") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// What Azure makes of a document: read-only members are gone, names and values are spelled its way.
func TestRequestIsMended(t *testing.T) {
	doc := decoded(t, `{"Location":"eastus","etag":"x","properties":{"publicIPAllocationMethod":"STATIC","ipAddress":"1.2.3.4","resourceGuid":"g","IDLETIMEOUTINMINUTES":4}}`)
	if found := Find("PUT", "Microsoft.Network/publicIPAddresses", false, "2024-05-01").Request(doc); len(found) != 0 {
		t.Fatal(found)
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"location":"eastus","properties":{"idleTimeoutInMinutes":4,"ipAddress":"1.2.3.4","publicIPAllocationMethod":"Static"}}`; string(raw) != want {
		t.Errorf("got %s, want %s", raw, want)
	}
}

func TestAnswer(t *testing.T) {
	answer := func(version, body string) (any, []Problem) {
		return Find("GET", network, false, version).Answer(decoded(t, body))
	}
	if _, found := answer("2024-05-01", `{"properties":{"subnets":[{"properties":{"provisioningState":"succeeded","nope":1}}]}}`); len(found) != 2 {
		t.Errorf("a value in another case and an unknown member: %v", found)
	}
	// defaultOutboundAccess came after 2022-01-01: a document that has it is shown without, and stays as it is.
	doc := decoded(t, `{"properties":{"subnets":[{"properties":{"defaultOutboundAccess":false}}]}}`)
	shown, found := Find("GET", network, false, "2022-01-01").Answer(doc)
	if raw, err := json.Marshal(shown); err != nil || len(found) != 0 || string(raw) != `{"properties":{"subnets":[{"properties":{}}]}}` {
		t.Errorf("shown %s, found %v", raw, found)
	}
	if raw, err := json.Marshal(doc); err != nil || !bytes.Contains(raw, []byte("defaultOutboundAccess")) {
		t.Errorf("the document itself became %s", raw)
	}
	// Go's typed values are as good as decoded ones.
	typed := map[string]any{"tags": map[string]string{"a": "b"}, "properties": map[string]any{"addressSpace": map[string]any{"addressPrefixes": []string{"10.0.0.0/8"}}, "flowTimeoutInMinutes": 4}}
	if _, found := Find("GET", network, false, "2024-05-01").Answer(typed); len(found) != 0 {
		t.Errorf("typed values: %v", found)
	}
}

func TestVersions(t *testing.T) {
	for typ, want := range map[string]string{"Microsoft.Network/loadBalancers": "2023-11-01", "Microsoft.Network/dnsZones/A": "2018-05-01", "microsoft.network/privatednszones/virtualnetworklinks": "2020-06-01",
		"Microsoft.Compute/disks": "2024-03-02", "Microsoft.Compute": "2021-04-01", "Microsoft.Network/register": "2021-04-01", "Microsoft.Authorization/roleAssignments": "2018-01-01-preview"} {
		if all := Versions(typ); !slices.Contains(all, want) || slices.Contains(all, "2099-01-01") || !slices.IsSortedFunc(all, func(a, b string) int { return strings.Compare(b, a) }) {
			t.Errorf("%s: %v, want %s among them, newest first", typ, all, want)
		}
	}
	if slices.Contains(Versions("Microsoft.Network/dnsZones"), "2024-05-01") || Versions("Microsoft.Nothing/things") != nil {
		t.Error("versions of another type")
	}
}

func TestClients(t *testing.T) {
	for agent, want := range map[string]string{"hypershift/v0.1 azsdk-go-armresources/v1.2.0 (go1.26; linux)": "hypershift", "AZURECLI/2.45.0 azsdk-python-mgmt-network": "az",
		"cluster-api-provider-azure/v1.23.0 azsdk-go-armcompute": "cluster-api-provider-azure", "Go-http-client/1.1": access.ClientUnknown, "azsdk-go-armdns/v1.2.0": "azure-sdk-for-go"} {
		if got := access.ClientOf(agent); got != want {
			t.Errorf("%s is %s, want %s", agent, got, want)
		}
	}
}

func TestReplay(t *testing.T) {
	line := func(agent string, status int, side, problem string) string {
		raw, err := json.Marshal(access.Entry{UserAgent: agent, Status: status, Violations: []access.Violation{{Side: side, Method: "PUT", Type: network, APIVersion: "2024-05-01", Problem: problem}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw) + "\n"
	}
	list, err := Replay(strings.NewReader(line("AZURECLI/2", 400, access.SideRequest, "unknown property: subnets[3].x") + line("AZURECLI/2", 400, access.SideRequest, "unknown property: subnets[12].x") +
		line("", 400, access.SideRequest, "on purpose") + line("", 200, access.SideRequest, "accepted") + line("", 200, access.SideAnswer, "ours") + `{"status":200}`))
	if err != nil || len(list) != 4 || list[0].Problem != "ours" || list[1].Count != 2 || list[1].Client != "az" || !list[1].Refused {
		t.Fatalf("%v %v", list, err)
	}
	if faults := Faults(list); len(faults) != 3 || slices.ContainsFunc(faults, func(v Violation) bool { return v.Problem == "on purpose" }) {
		t.Errorf("faults: %v", faults)
	}
	if _, err := Replay(strings.NewReader("no log")); err == nil {
		t.Error("a file that is no log passes")
	}
}

// document makes one that fits a shape.
func document(t *rapid.T, s *shape, depth int) any {
	switch s.kind {
	case "bool":
		return rapid.Bool().Draw(t, "bool")
	case "int":
		return float64(rapid.IntRange(0, 100).Draw(t, "int"))
	case "number":
		return rapid.Float64Range(0, 9).Draw(t, "number")
	case "time":
		return "2024-05-01T10:00:00Z"
	case "bytes":
		return "QQ=="
	case "enum":
		return rapid.SampledFrom(slices.Sorted(maps.Values(s.enum.values))).Draw(t, "value")
	case "list":
		out := []any{}
		for range rapid.IntRange(0, max(0, 2-depth/3)).Draw(t, "length") {
			out = append(out, document(t, s.of, depth+1))
		}
		return out
	case "map":
		return map[string]any{"key": document(t, s.of, depth+1)}
	case "model":
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.model.fields)) {
			f := s.model.fields[name]
			if f.readOnly && !f.required {
				continue
			}
			if f.required || depth < 8 && rapid.IntRange(0, depth).Draw(t, "has "+name) == 0 {
				out[name] = document(t, f.shape, depth+1)
			}
		}
		return out
	}
	return "text"
}

// spots are the members whose change shows: those of models without members of any name.
func spots(doc map[string]any, m *model) (out []func()) {
	for name, f := range m.fields {
		v, ok := doc[name]
		if !ok || f.shape.kind == "any" || f.readOnly {
			continue
		}
		out = append(out, func() { doc[name] = struct{ Wrong chan int }{} })
		if f.required {
			out = append(out, func() { delete(doc, name) })
		}
		if f.shape.kind == "enum" {
			out = append(out, func() { doc[name] = "no such value" })
		}
		if sub, ok := v.(map[string]any); ok && f.shape.model != nil {
			out = append(out, spots(sub, f.shape.model)...)
		}
	}
	if !m.extra {
		out = append(out, func() { doc["noSuchProperty"] = "x" })
	}
	return out
}

// Documents made from a schema fit it, and one change makes them unfit.
func TestDocumentsOfASchema(t *testing.T) {
	var puts []string
	for key := range index() {
		if strings.HasPrefix(key, "PUT ") {
			puts = append(puts, key)
		}
	}
	slices.Sort(puts)
	rapid.Check(t, func(t *rapid.T) {
		entries := index()[rapid.SampledFrom(puts).Draw(t, "operation")]
		e := entries[rapid.IntRange(0, len(entries)-1).Draw(t, "entry")]
		s := e.asked()
		if s == nil || s.model == nil {
			return
		}
		doc := document(t, s, 0).(map[string]any)
		o := &Operation{Exact: true, entries: []entry{e}}
		if found := o.check(doc, entry.asked, false); len(found) != 0 {
			t.Fatalf("%v: %v", doc, found)
		}
		if found := o.Request(doc); len(found) != 0 {
			t.Fatalf("%v: %v", doc, found)
		}
		change := rapid.SampledFrom(spots(doc, s.model)).Draw(t, "change")
		change()
		if found := o.Request(doc); len(found) == 0 {
			t.Fatalf("%v fits %s", doc, s.model.name)
		}
	})
}

// The tables in figures: a module that is read wrongly shows here.
func TestFigures(t *testing.T) {
	var b strings.Builder
	counts, seen := map[string][3]int{}, map[string]bool{}
	for _, entries := range index() {
		for _, e := range entries {
			n := counts[e.table]
			n[0]++
			if !seen[e.table] {
				seen[e.table] = true
				table := tableOf(e.table)
				for _, m := range table.models {
					n[1]++
					n[2] += len(m.fields)
				}
			}
			counts[e.table] = n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s: %d operations, %d objects, %d properties\n", name, counts[name][0], counts[name][1], counts[name][2])
	}
	golden := filepath.Join("testdata", "figures.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != b.String() {
		t.Errorf("the tables have (-update when that is meant):\n%s%v", b.String(), err)
	}
}

var vm = `{"location":"eastus","zones":["1"],"tags":{"a":"b"},"identity":{"type":"UserAssigned","userAssignedIdentities":{"/x":{}}},"properties":{"hardwareProfile":{"vmSize":"Standard_D2s_v5"},
	"storageProfile":{"imageReference":{"publisher":"p","offer":"o","sku":"s","version":"latest"},"osDisk":{"name":"os","osType":"Linux","createOption":"FromImage","diskSizeGB":64,"managedDisk":{"storageAccountType":"Premium_LRS"}}},
	"osProfile":{"computerName":"n","adminUsername":"u","customData":"eA==","linuxConfiguration":{"disablePasswordAuthentication":true,"ssh":{"publicKeys":[{"path":"p","keyData":"k"}]}}},
	"networkProfile":{"networkInterfaces":[{"id":"/nic","properties":{"primary":true}}]},"diagnosticsProfile":{"bootDiagnostics":{"enabled":true}}}}`

func BenchmarkRequest(b *testing.B) {
	doc := decoded(b, vm)
	for b.Loop() {
		if found := Find("PUT", "Microsoft.Compute/virtualMachines", false, "2024-03-01").Request(doc); len(found) != 0 {
			b.Fatal(found)
		}
	}
}

func BenchmarkAnswer(b *testing.B) {
	doc := decoded(b, vm)
	for b.Loop() {
		if _, found := Find("GET", "Microsoft.Compute/virtualMachines", false, "2024-03-01").Answer(doc); len(found) != 0 {
			b.Fatal(found)
		}
	}
}

// BenchmarkDecode is what the first request of a namespace pays.
func BenchmarkDecode(b *testing.B) {
	for b.Loop() {
		decode("compute-2025")
	}
}

// Lists come in pages where the contract has a nextLink, and documents have an etag where it has one: clients depend on both.
func TestPagesAndETags(t *testing.T) {
	for typ, c := range map[string]struct {
		version     string
		pages, etag bool
	}{
		network: {"2024-05-01", true, true}, "Microsoft.Compute/snapshots": {"2024-03-02", true, false},
		"Microsoft.Network/dnsZones": {"2018-05-01", true, true}, "Microsoft.Network/privateDnsZones": {"2020-06-01", true, true},
		"Microsoft.Compute/disks": {"2024-03-02", true, false}, "Microsoft.ManagedIdentity/userAssignedIdentities": {"2023-01-31", true, false},
		"Microsoft.Network/networkSecurityGroups": {"2024-05-01", true, true},
	} {
		o := Find("GET", typ, true, c.version)
		if o == nil || o.Pages() != c.pages {
			t.Errorf("the list of %s at %s: %+v", typ, c.version, o)
		}
		if got := HasETag(strings.ToUpper(typ)); got != c.etag {
			t.Errorf("%s has an etag: %v", typ, got)
		}
	}
	if o := Find("GET", network, false, "2024-05-01"); o == nil || o.Pages() {
		t.Error("one network comes in pages")
	}
}

// Which tables an api-version is held against.
func TestNearestVersions(t *testing.T) {
	for version, c := range map[string]struct{ exact, between bool }{"2024-05-01": {true, true}, "2024-04-02": {false, true}, "2000-01-01": {false, false},
		"2099-01-01": {false, false}} {
		o := Find("PUT", strings.ToUpper(network), false, version)
		if o == nil || o.Exact != c.exact || !o.Exact && o.between != c.between {
			t.Errorf("%s: %+v", version, o)
		}
		for _, e := range o.entries {
			if c.exact && e.version != version {
				t.Errorf("%s is held against %s", version, e.version)
			}
		}
	}
	for _, none := range [][2]string{{"BREW", network}, {"PUT", "Microsoft.Network/nothing"}, {"PUT", "Microsoft.Nothing/virtualNetworks"}} {
		if o := Find(none[0], none[1], false, "2024-05-01"); o != nil {
			t.Errorf("%v is known: %+v", none, o)
		}
	}
	if newest := Newest(network); newest < "2024-05-01" || strings.Contains(newest, "preview") || Newest("Microsoft.Nothing/things") != "" {
		t.Errorf("the newest version is %q", newest)
	}
}
