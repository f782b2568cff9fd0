package azure_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

// A machine is made when its guest says that it is ready; one that takes too long has failed, and may become ready afterwards.
func TestGuestsThatDoNotBecomeReady(t *testing.T) {
	for name, c := range map[string]struct {
		timeout            time.Duration
		state, code, shown string
	}{
		"in time":  {time.Hour, "Creating", "InProgress", "ProvisioningState/creating"},
		"too late": {time.Nanosecond, "Failed", "OSProvisioningTimedOut", "ProvisioningState/failed/OSProvisioningTimedOut"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t, func(config *azure.Config) { config.ProvisioningTimeout = c.timeout })
			s.group("rg")
			nic := *s.nic("rg", "nic", s.vnet("rg")).ID
			vm := computeRP + "virtualMachines/vm1"
			made := s.good("PUT", vm, machine{}.body(nic))
			report := func(provisioning string) {
				t.Helper()
				must(t, s.feed().Report(t.Context(), feed.Status{ID: vm, PowerState: feed.PowerRunning, Provisioning: provisioning}))
			}
			operation := strings.TrimPrefix(made.header.Get("Azure-AsyncOperation"), "https://management.azure.com")
			shows := func(state, told, status string) {
				t.Helper()
				got := s.good("GET", vm+"?$expand=instanceView", "")
				if p, _ := got.body["properties"].(map[string]any); p["provisioningState"] != state || !strings.Contains(got.text, `"`+status+`"`) {
					t.Errorf("%s, want %s and %s", got.text, state, status)
				}
				eventually(t, "the operation never tells "+told, func() bool { return strings.Contains(s.good("GET", operation, "").text, told) })
			}
			report(feed.ProvisioningRunning)
			eventually(t, "it is never "+c.state, func() bool {
				p, _ := s.good("GET", vm, "").body["properties"].(map[string]any)
				return p["provisioningState"] == c.state
			})
			shows(c.state, c.code, c.shown)
			report("") // of a hypervisor that says nothing about it
			shows(c.state, c.code, c.shown)
			report(feed.ProvisioningSucceeded)
			eventually(t, "it is never ready", func() bool {
				p, _ := s.good("GET", vm, "").body["properties"].(map[string]any)
				return p["provisioningState"] == "Succeeded"
			})
			shows("Succeeded", "Succeeded", "ProvisioningState/succeeded")
		})
	}
}

// A guest that says that its provisioning has failed makes its machine fail at once, in its words.
func TestGuestsThatFail(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	vm := computeRP + "virtualMachines/vm1"
	s.good("PUT", vm, machine{}.body(*s.nic("rg", "nic", s.vnet("rg")).ID))
	must(t, s.feed().Report(t.Context(), feed.Status{ID: vm, PowerState: feed.PowerRunning, Provisioning: feed.ProvisioningFailed, ProvisioningMessage: "no keys"}))
	for _, want := range []string{`"provisioningState":"Failed"`, "ProvisioningState/failed/OSProvisioningInternalError", "due to an internal error: no keys"} {
		eventually(t, "the machine never shows "+want, func() bool { return strings.Contains(s.good("GET", vm+"?$expand=instanceView", "").text, want) })
	}
}

// Where a hypervisor boots machines, a new one is never made before its guest says so: not even until the hypervisor's first report.
func TestMachinesWaitForTheirGuests(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	vnet := s.vnet("rg")
	made := func(name, more string) string {
		t.Helper()
		body := machine{more: more}.body(*s.nic("rg", "nic-"+name, vnet).ID)
		put := s.good("PUT", computeRP+"virtualMachines/"+name, strings.Replace(body, `"osDisk":{"name":"os"`, `"osDisk":{"name":"`+name+`"`, 1))
		return strings.TrimPrefix(put.header.Get("Azure-AsyncOperation"), "https://management.azure.com")
	}
	succeeds := func(name, operation string) {
		t.Helper()
		eventually(t, name+" is never made", func() bool { return strings.Contains(s.good("GET", operation, "").text, "Succeeded") })
	}
	succeeds("the machine without a hypervisor", made("before", ""))
	_, err := s.feed().Watch(t.Context(), 0)
	must(t, err)
	waiting := made("after", "")
	succeeds("the management node, which nobody boots,", made("host", `"tags":{"sandbox-host":"true"},`))
	if got := s.good("GET", waiting, "").text; !strings.Contains(got, "InProgress") {
		t.Errorf("the machine is made, and its guest has not said so: %s", got)
	}
	must(t, s.feed().Report(t.Context(), feed.Status{ID: computeRP + "virtualMachines/after", PowerState: feed.PowerRunning, Provisioning: feed.ProvisioningSucceeded}))
	succeeds("the machine whose guest is ready", waiting)
}

// TestHollowMachinesAreTagged: the hypervisor is told which machines are hollow, by the tag of that name and no other.
func TestHollowMachinesAreTagged(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	vnet := s.vnet("rg")
	for name, tags := range map[string]string{"hollow": `"tags":{"sandbox-hollow":"true"},`, "refuses": `"tags":{"sandbox-hollow":"false"},`, "other": `"tags":{"hollow":"true"},`} {
		body := machine{more: tags}.body(*s.nic("rg", "nic-"+name, vnet).ID)
		s.good("PUT", computeRP+"virtualMachines/"+name, strings.Replace(body, `"osDisk":{"name":"os"`, `"osDisk":{"name":"`+name+`"`, 1))
	}
	snapshot, err := s.feed().Watch(t.Context(), 0)
	must(t, err)
	if len(snapshot.Machines) != 3 {
		t.Fatalf("%d machines", len(snapshot.Machines))
	}
	for _, m := range snapshot.Machines {
		if m.Hollow != (m.Name == "hollow") {
			t.Errorf("machine %s is hollow: %v", m.Name, m.Hollow)
		}
	}
}
