package arm

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/rights"
)

func TestActions(t *testing.T) {
	const rg = "/subscriptions/s/resourceGroups/rg"
	const vm = rg + "/providers/Microsoft.Compute/virtualMachines/vm"
	for _, c := range []struct{ method, path, action, scope string }{
		{http.MethodPut, rg, "Microsoft.Resources/subscriptions/resourceGroups/write", rg},
		{http.MethodGet, "/subscriptions/s/resourceGroups", "Microsoft.Resources/subscriptions/resourceGroups/read", "/subscriptions/s"},
		{http.MethodDelete, vm, "Microsoft.Compute/virtualMachines/delete", vm},
		{http.MethodGet, vm + "/instanceView", "Microsoft.Compute/virtualMachines/instanceView/read", vm},
		{http.MethodPost, vm + "/restart", "Microsoft.Compute/virtualMachines/restart/action", vm},
		{http.MethodGet, rg + "/providers/Microsoft.Compute/virtualMachines", "Microsoft.Compute/virtualMachines/read", rg},
		{http.MethodPut, vm + "/extensions/x", "Microsoft.Compute/virtualMachines/extensions/write", vm + "/extensions/x"},
		{http.MethodPut, vm + "/providers/Microsoft.Authorization/roleAssignments/g", "Microsoft.Authorization/roleAssignments/write", vm},
		{http.MethodPut, vm + "/providers/Microsoft.Resources/tags/default", "Microsoft.Resources/tags/write", vm + "/providers/Microsoft.Resources/tags/default"},
	} {
		p, err := provider.ParsePath(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if action, scope := rights.Action(c.method, p); action != c.action || scope != c.scope {
			t.Errorf("%s %s: %s over %s, want %s over %s", c.method, c.path, action, scope, c.action, c.scope)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"/subscriptions/s", "/subscriptions/s/resourcegroups/rg", "/subscriptions", "/providers/Microsoft.Authorization/roleDefinitions/x",
		"/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v/subnets/d", "/subscriptions/s/providers/Microsoft.Compute", "/providers/", "//", ""} {
		f.Add(s)
	}
	served := newRegistry()
	f.Fuzz(func(t *testing.T, s string) {
		p, err := provider.ParsePath(s)
		if err != nil {
			return
		}
		// Everything that takes a path from a request must not panic, and what is parsed again must stay the same.
		_, scope := rights.Action(http.MethodGet, p)
		_, _, _, _ = p.Parent(), p.ResourceGroup(), p.Name(), scope
		_ = served.route(http.MethodGet, p)
		again, err := provider.ParsePath(p.Raw)
		if err != nil || again.Type != p.Type || again.Collection != p.Collection || strings.Join(again.Names, "/") != strings.Join(p.Names, "/") {
			t.Errorf("%q: %+v, then %+v %v", s, p, again, err)
		}
		if !strings.HasPrefix(p.Raw, p.Scope) || !strings.HasPrefix(p.Raw, p.Parent()) {
			t.Errorf("%q: scope %q and parent %q are no prefixes", s, p.Scope, p.Parent())
		}
	})
}
