package roles

import (
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/provisiontest"
)

const (
	subscription = "/subscriptions/" + provisiontest.Subscription
	network      = subscription + "/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/Vnet"
	privateZone  = subscription + "/resourceGroups/theirs/providers/Microsoft.Network/privateDnsZones/demo.example.com"
)

// everybody are all identities that a file can name, former ones among them.
func everybody() map[string]Holder {
	who := map[string]Holder{}
	for _, c := range identity.Components {
		who[c.Key] = Holder{}
	}
	return who
}

func group(name string) Scope { return Scope{Group: func() string { return name }, Label: name} }

// assigned are the scopes of the assignments, by component.
func assigned(t *testing.T, custom bool) map[string][]string {
	t.Helper()
	net := group("net")
	net.VNetID = network
	zone := group("theirs")
	zone.Resource, zone.Label = privateZone, "private zone"
	scopes := map[ScopeName]Scope{Main: group("main"), NSG: group("nsg"), VNet: net, DNS: group("dns"), PrivateZone: zone}
	out := map[string][]string{}
	for _, n := range Nodes(provisiontest.Session(t), "x", Wanted(false, custom), everybody(), scopes) {
		component := strings.Split(n.ID, "/")[1]
		out[component] = append(out[component], n.Resource[:strings.Index(n.Resource, "/providers/Microsoft.Authorization/")])
	}
	return out
}

// Whoever administers a hosted cluster can sign in as each of its identities: an identity that no program uses gets no right, and the machine
// provider, the network operator and the ingress operator get none on the group of the virtual network.
func TestIdentitiesGetNoMoreThanTheirPrograms(t *testing.T) {
	for _, custom := range []bool{false, true} {
		got := assigned(t, custom)
		if scopes, given := got["cpo"]; given {
			t.Errorf("the control-plane-operator, which calls nothing of Azure, has a role on %v", scopes)
		}
		for component, want := range map[string]string{
			"capz":      subscription + "/resourceGroups/main " + network,
			"capz-read": subscription + "/resourceGroups/main",
			"capz-tags": subscription + "/resourceGroups/main",
			"cncc":      subscription + "/resourceGroups/main " + network,
			"ingress":   subscription + "/resourceGroups/main " + network + " " + subscription + "/resourceGroups/dns " + privateZone,
		} {
			if is := strings.Join(got[component], " "); is != want {
				t.Errorf("%s has roles on %s, want %s", component, is, want)
			}
		}
	}
	for _, g := range Wanted(false, false) {
		if g.RoleGUID == Contributor {
			t.Errorf("%s gets Contributor", g.ID)
		}
	}
}

// What earlier versions and other tools gave is found by its name, so that a destroy takes it.
func TestFormerAssignmentsAreKnown(t *testing.T) {
	main := subscription + "/resourceGroups/main"
	zone := main + "/providers/Microsoft.Network/privateDnsZones/demo.example.com"
	for _, tc := range []struct {
		component, scope string
		own              bool
	}{
		{"cpo", main, true}, {"capz", main, true}, {"capz-read", main, true}, {"capz-tags", main, true}, {"ingress", zone, true}, {"capz", network, true},
		{"somebody", main, false}, {"capz", main + "/providers/Microsoft.Compute/virtualMachines/vm", false},
	} {
		a := azure.Assignment{Name: nameOf("x", tc.component, tc.scope), Scope: tc.scope}
		if is := IsNamed("x", a); is != tc.own {
			t.Errorf("%s on %s: own %v, want %v", tc.component, tc.scope, is, tc.own)
		}
	}
	// The name that the field's contract gives.
	scope := "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/rg1"
	if got := nameOf("test-infra", "ingress", scope); got != "f873c03b-79f0-525d-b554-a64025288cc8" {
		t.Errorf("ingress on a group: %s", got)
	}
}
