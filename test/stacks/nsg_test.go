package stacks_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// rulesOf are the rules of a group with their destinations.
func rulesOf(t *testing.T, s *azure.Session, nsg string) []string {
	t.Helper()
	all, err := s.List(t.Context(), nsg+"/securityRules", "2023-11-01", "")
	must(t, err)
	var out []string
	for _, r := range all {
		out = append(out, strings.TrimSpace(fmt.Sprint(r.Name, " ", r.Properties["destinationAddressPrefixes"], r.Property("destinationAddressPrefix"))))
	}
	slices.Sort(out)
	return out
}

// A network security group of the user's is as it was when the cluster is gone: the cloud provider's rules for the cluster's addresses go,
// those of other clusters and the user's own stay, whatever their names and addresses are.
func TestTheUsersSecurityGroupIsLeftAsItWas(t *testing.T) {
	w := newWorld(t)
	nsg := w.group("theirs") + "/providers/Microsoft.Network/networkSecurityGroups/nsg"
	destroy := infra.DestroyOptions{NSGID: nsg, VNetID: w.group("theirs") + "/providers/Microsoft.Network/virtualNetworks/vnet"}
	of := infraStack(broughtNetwork, destroy)
	_, err := w.process(0, false, of.prepare)
	must(t, err)
	_, err = w.process(0, false, of.create)
	must(t, err)
	s := w.session(w.transport)
	address := func(name string) string {
		made, err := s.Put(t.Context(), s.ResourceID("demo-demo-x", "Microsoft.Network/publicIPAddresses", name), "2023-11-01",
			azure.Resource{Location: location, SKU: map[string]any{"name": "Standard"}, Properties: map[string]any{"publicIPAllocationMethod": "Static"}})
		must(t, err)
		return made.Property("ipAddress")
	}
	ours := address(infraID + "-a" + strings.Repeat("0", 31)) // as of a Service of the cluster
	const others = "203.0.113.9"
	priority := 100
	rule := func(name string, destinations ...any) {
		priority++
		properties := map[string]any{"priority": priority, "direction": "Inbound", "access": "Allow", "protocol": "Tcp", "sourcePortRange": "*",
			"destinationPortRange": "443", "sourceAddressPrefix": "Internet", "destinationAddressPrefixes": destinations}
		_, err := s.Put(t.Context(), nsg+"/securityRules/"+name, "2023-11-01", azure.Resource{Properties: properties})
		must(t, err)
	}
	rule("ssh", others)
	rule("mine", ours)
	rule("k8s-azure-lb_allow_IPv4_of-another", others)
	before := rulesOf(t, s, nsg)
	rule("k8s-azure-lb_allow_IPv4_0123", ours)
	rule("k8s-azure-lb_deny-all_IPv4", ours, others)
	_, err = w.process(0, false, func(ctx context.Context, s *azure.Session) error { return of.destroy(ctx, s) })
	must(t, err)
	want := append(before, "k8s-azure-lb_deny-all_IPv4 ["+others+"]")
	slices.Sort(want)
	if got := rulesOf(t, s, nsg); !slices.Equal(got, want) {
		t.Errorf("the rules are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
