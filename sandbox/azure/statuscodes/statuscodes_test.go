package statuscodes

import (
	"fmt"
	"strings"
	"testing"
)

func TestReplay(t *testing.T) {
	const group = "https://management.azure.com/subscriptions/s/resourceGroups/rg"
	line := func(plane, method, url string, status int) string {
		return fmt.Sprintf(`{"plane":%q,"method":%q,"url":%q,"status":%d}`+"\n", plane, method, url, status)
	}
	log := line("arm", "PUT", group+"/providers/Microsoft.Storage/storageAccounts/acct?api-version=1", 201) +
		line("arm", "PUT", group+"/providers/Microsoft.Storage/storageAccounts/acct?api-version=1", 200) +
		line("arm", "PUT", group+"/providers/Microsoft.Storage/storageAccounts/acct?api-version=1", 409) +
		line("arm", "GET", group+"/providers/Microsoft.Storage/made/up", 200) +
		line("blob", "PUT", "https://acct.blob.core.windows.net/c", 299) +
		line("arm", "PUT", group+"/providers/Microsoft.Network/dnsZones/z/providers/Microsoft.Authorization/roleAssignments/n", 201)
	refused, checked, err := Replay(strings.NewReader(log))
	if err != nil || checked != 4 || len(refused) != 2 || !strings.Contains(refused[0], "answered 201") || !strings.Contains(refused[1], "no operation") {
		t.Errorf("%d checked, %v, %v", checked, refused, err)
	}
}

// The pattern of an operation has * for one segment and ** for any number of them.
func TestPaths(t *testing.T) {
	for pattern, paths := range map[string]map[string]bool{
		"/subscriptions/*/resourcegroups/*": {"/subscriptions/s/resourcegroups/rg": true, "/subscriptions/s/resourcegroups": false,
			"/subscriptions/s/resourcegroups/rg/x": false, "/subscriptions/s/locations/rg": false},
		"/**/providers/p/*": {"/a/providers/p/x": true, "/a/b/c/providers/p/x": true, "/providers/p/x": false, "/a/providers/q/x": false,
			"/a/providers/p": false},
		"/**": {"/a": true, "/a/b": true},
	} {
		for path, want := range paths {
			if got := fits(segments(pattern), segments(path)); got != want {
				t.Errorf("%s is %s: %v", path, pattern, got)
			}
		}
	}
}

// Status codes that clients are known to depend on, as the SDKs have them.
func TestCodesOfTheTable(t *testing.T) {
	const group = "/subscriptions/s/resourcegroups/rg"
	const network, compute = group + "/providers/microsoft.network/", group + "/providers/microsoft.compute/"
	for _, c := range []struct {
		method, path string
		status       int
		taken        bool
	}{
		{"PUT", group, 201, true}, {"PUT", group, 200, true}, {"PUT", group, 202, false}, {"DELETE", group, 202, true}, {"DELETE", group, 204, false},
		{"HEAD", group, 204, true},
		{"PUT", network + "virtualnetworks/v", 201, true}, {"PUT", network + "virtualnetworks/v", 202, false},
		{"DELETE", network + "virtualnetworks/v", 204, true}, {"GET", network + "virtualnetworks/v", 201, false},
		{"PUT", compute + "disks/d", 201, false}, {"PUT", compute + "disks/d", 202, true}, {"PATCH", compute + "virtualmachines/v", 202, false},
		{"POST", compute + "virtualmachines/v/restart", 202, true},
		{"PUT", network + "dnszones/z/a/www", 201, true}, {"DELETE", network + "dnszones/z/a/www", 202, false},
	} {
		if problem := check(c.method, c.path, c.status); (problem == "") != c.taken {
			t.Errorf("%s %s %d: %q", c.method, c.path, c.status, problem)
		}
	}
	if problem := check("BREW", group, 200); !strings.Contains(problem, "no operation") {
		t.Errorf("a method that is none: %q", problem)
	}
}

// Polls, refusals, other planes and broken connections are no answers to hold against the table; a line that is none is an error.
func TestWhatIsNotReplayed(t *testing.T) {
	const url = "https://management.azure.com/subscriptions/s/"
	for name, line := range map[string]string{
		"another plane": `{"plane":"graph","method":"GET","url":"` + url + `x","status":200}`,
		"a refusal":     `{"plane":"arm","method":"GET","url":"` + url + `x","status":404}`,
		"no answer":     `{"plane":"arm","method":"GET","url":"` + url + `x","status":0}`,
		"a poll":        `{"plane":"arm","method":"GET","url":"` + url + `providers/p/locations/l/operationResults/o","status":202}`,
		"metadata":      `{"plane":"arm","method":"GET","url":"https://management.azure.com/metadata/endpoints","status":200}`,
	} {
		if refused, checked, err := Replay(strings.NewReader(line + "\n")); err != nil || checked != 0 || len(refused) != 0 {
			t.Errorf("%s: %d checked, %v, %v", name, checked, refused, err)
		}
	}
	twice := strings.Repeat(`{"plane":"arm","method":"PUT","url":"`+url+`resourceGroups/rg","status":202}`+"\n", 2)
	if refused, checked, err := Replay(strings.NewReader(twice)); err != nil || checked != 2 || len(refused) != 1 {
		t.Errorf("the same twice: %d checked, %v, %v", checked, refused, err)
	}
	if _, _, err := Replay(strings.NewReader("half a li")); err == nil {
		t.Error("half a line is taken for one")
	}
}
