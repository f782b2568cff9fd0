package stacks_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/roles"
)

// The group of a network that the user has brought may hold what is not the cluster's: the machine provider may work on the network alone, and
// a destroy takes that role as well.
func TestTheMachineProviderHasTheNetworkAlone(t *testing.T) {
	w := newWorld(t)
	theirs := w.group("theirs")
	vnet := theirs + "/providers/Microsoft.Network/virtualNetworks/vnet"
	of := infraStack(broughtNetwork, infra.DestroyOptions{VNetID: vnet, NSGID: theirs + "/providers/Microsoft.Network/networkSecurityGroups/nsg"})
	_, err := w.process(0, false, of.prepare)
	must(t, err)
	_, err = w.process(0, false, of.create)
	must(t, err)
	s := w.session(w.transport)
	identity, err := s.Get(t.Context(), s.ResourceID(common, "Microsoft.ManagedIdentity/userAssignedIdentities", "demo-node-pool-mgmt-demo-x"), "2023-01-31")
	must(t, err)
	held := func() map[string]bool {
		t.Helper()
		all, err := s.List(t.Context(), "/subscriptions/"+w.subscription+"/providers/Microsoft.Authorization/roleAssignments", "2022-04-01", "")
		must(t, err)
		out := map[string]bool{}
		for _, a := range all {
			if a.Property("principalId") == identity.Property("principalId") && strings.HasPrefix(strings.ToLower(a.Property("scope")), strings.ToLower(theirs)) {
				out[a.Property("scope")+" "+a.Property("roleDefinitionId")[strings.LastIndex(a.Property("roleDefinitionId"), "/")+1:]] = true
			}
		}
		return out
	}
	if got := held(); len(got) != 1 || !got[vnet+" "+roles.MachineProvider] {
		t.Errorf("the machine provider holds %v", got)
	}
	_, err = w.process(0, false, func(ctx context.Context, s *azure.Session) error { return of.destroy(ctx, s) })
	must(t, err)
	if got := held(); len(got) != 0 {
		t.Errorf("after the destroy it holds %v", got)
	}
}
