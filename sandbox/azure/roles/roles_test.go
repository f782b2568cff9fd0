package roles

import (
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
)

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, action string
		want            bool
	}{
		{"*", "Microsoft.Compute/virtualMachines/write", true},
		{"*/read", "Microsoft.Compute/virtualMachines/read", true},
		{"*/read", "Microsoft.Compute/virtualMachines/write", false},
		{"Microsoft.Network/*", "microsoft.network/loadBalancers/write", true},
		{"Microsoft.Network/*", "Microsoft.NetworkX/loadBalancers/write", false},
		{"Microsoft.Authorization/*/Write", "Microsoft.Authorization/roleAssignments/write", true},
		{"Microsoft.Authorization/*/Write", "Microsoft.Authorization/write", true},
		{"Microsoft.Compute/virtualMachines/read", "Microsoft.Compute/virtualMachines/extensions/read", false},
		{"a*b*c", "a1b2c", true},
		{"a*b*c", "a1c2b", false},
	} {
		if got := Matches(c.pattern, c.action); got != c.want {
			t.Errorf("Matches(%q, %q) = %v", c.pattern, c.action, got)
		}
	}
}

const (
	sub  = "/subscriptions/s"
	rg   = sub + "/resourceGroups/rg"
	vm   = rg + "/providers/Microsoft.Compute/virtualMachines/vm"
	blob = rg + "/providers/Microsoft.Storage/storageAccounts/a"
)

func assigned(t *testing.T, scope, role string, custom ...store.Doc) *store.Store {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	err = s.Update(func(tx *store.Tx) error {
		tx.Put(store.ARM, "ra", store.Doc{"type": AssignmentType, "properties": store.Doc{
			"principalId": "P", "scope": scope, "roleDefinitionId": sub + "/providers/Microsoft.Authorization/roleDefinitions/" + role}})
		for _, c := range custom {
			tx.Put(store.ARM, sub+"/providers/microsoft.authorization/roledefinitions/custom", c)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAllowed(t *testing.T) {
	const contributor, reader, blobContributor = "b24988ac-6180-42a0-ab88-20f7382dd24c", "acdd72a7-3385-48ef-bd42-f606fba81ae7", "BA92F5B4-2d11-453d-a403-e96b0029c9fe"
	custom := store.Doc{"properties": store.Doc{"permissions": []any{store.Doc{
		"actions": []any{"Microsoft.Compute/*"}, "notActions": []any{"Microsoft.Compute/virtualMachines/delete"}}}}}
	for name, c := range map[string]struct {
		at, role         string
		plane            Plane
		principal, act   string
		on               string
		want, wantBelow0 bool
	}{
		"contributor writes in its group":       {rg, contributor, Management, "p", "Microsoft.Compute/virtualMachines/write", vm, true, false},
		"contributor grants nothing":            {rg, contributor, Management, "p", "Microsoft.Authorization/roleAssignments/write", rg, false, false},
		"another group is another scope":        {rg + "2", contributor, Management, "p", "Microsoft.Compute/virtualMachines/write", vm, false, false},
		"a prefix of a name is no scope":        {sub + "/resourceGroups/r", contributor, Management, "p", "Microsoft.Compute/virtualMachines/write", vm, false, false},
		"scopes ignore case":                    {sub + "/RESOURCEGROUPS/RG/", contributor, Management, "p", "Microsoft.Compute/virtualMachines/write", vm, true, false},
		"another principal":                     {rg, contributor, Management, "q", "Microsoft.Compute/virtualMachines/write", vm, false, false},
		"nobody":                                {rg, contributor, Management, "", "Microsoft.Compute/virtualMachines/write", vm, false, false},
		"a reader reads":                        {sub, reader, Management, "p", "Microsoft.Compute/virtualMachines/read", vm, true, false},
		"a reader does not write":               {sub, reader, Management, "p", "Microsoft.Compute/virtualMachines/write", vm, false, false},
		"a contributor has no data access":      {rg, contributor, Data, "p", "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read", blob, false, false},
		"a blob contributor has":                {rg, blobContributor, Data, "p", "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write", blob, true, false},
		"custom role":                           {rg, "custom", Management, "p", "Microsoft.Compute/virtualMachines/write", vm, true, false},
		"custom role with a hole":               {rg, "custom", Management, "p", "Microsoft.Compute/virtualMachines/delete", vm, false, false},
		"a role beneath does not count upwards": {rg, reader, Management, "p", "Microsoft.Compute/virtualMachines/read", sub, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			assigned(t, c.at, c.role, custom).View(func(tx *store.Tx) {
				if got := Allowed(tx, c.plane, c.principal, c.act, c.on); got != c.want {
					t.Errorf("allowed = %v", got)
				}
				if c.wantBelow0 && !AllowedBelow(tx, c.principal, c.act, c.on) {
					t.Error("not visible from above")
				}
			})
		})
	}
}

func TestBuiltinIsComplete(t *testing.T) {
	for _, d := range Builtin() {
		if d.ID == "" || d.Name == "" || len(d.Actions)+len(d.DataActions) == 0 {
			t.Errorf("incomplete role %+v", d)
		}
	}
}
