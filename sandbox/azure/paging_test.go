package azure_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Lists come in small pages, asked or not: who does not follow the nextLink misses what is on the others.
func TestListsComeInPages(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	const all, smallest = 9, 2
	for i := range all {
		s.good("PUT", fmt.Sprintf("%snetworkSecurityGroups/nsg%d", netRP, i), `{"location":"eastus"}`)
	}
	for path, first := range map[string]int{"": 3, "?$top=7": 7, "?$top=50": all} {
		path = netRP + "networkSecurityGroups" + path
		got := s.good("GET", path, "")
		if list, _ := got.body["value"].([]any); len(list) != first || strings.Contains(got.text, "nextLink") != (first < all) {
			t.Errorf("%s: the first page has %d, want %d: %s", path, len(list), first, got.text)
		}
		if list, _ := s.all(path).body["value"].([]any); len(list) != all {
			t.Errorf("%s: %d on all pages, want %d", path, len(list), all)
		}
	}
	// a list that Azure has on one page is on one here
	regions := s.good("GET", inSub+"/locations?api-version=2022-12-01", "")
	if list, _ := regions.body["value"].([]any); len(list) <= smallest || strings.Contains(regions.text, "nextLink") {
		t.Errorf("%s", regions.text)
	}
}

// A change of a disk or a machine goes on after its answer, as Azure's does; that of an interface's tags does not.
func TestChangesThatGoOn(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	nic := *s.nic("rg", "nic", s.vnet("rg")).ID
	s.good("PUT", computeRP+"disks/data", `{"location":"eastus","sku":{"name":"Premium_LRS"},"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":8}}`)
	s.good("PUT", computeRP+"virtualMachines/vm1", machine{}.body(nic))
	for id, want := range map[string]struct {
		status int
		polled bool
	}{computeRP + "disks/data": {http.StatusAccepted, true}, computeRP + "virtualMachines/vm1": {http.StatusOK, true}, nic: {http.StatusOK, false}} {
		got := s.good("PATCH", id, `{"tags":{"a":"1"}}`)
		operation := got.header.Get("Azure-AsyncOperation")
		if got.status != want.status || (operation != "") != want.polled {
			t.Errorf("PATCH %s: %d with operation %q", id, got.status, operation)
		}
		if want.polled {
			eventually(t, "the change of "+id+" does not end", func() bool {
				return strings.Contains(s.good("GET", strings.TrimPrefix(operation, "https://management.azure.com"), "").text, "Succeeded")
			})
		}
		if shown := s.good("GET", id, ""); !strings.Contains(shown.text, `"tags":{"a":"1"}`) {
			t.Errorf("%s: %s", id, shown.text)
		}
	}
}
