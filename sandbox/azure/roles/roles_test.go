package roles

import (
	"strings"
	"testing"
	"time"

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

// Built-in roles by what https://learn.microsoft.com/azure/role-based-access-control/built-in-roles says of them.
func TestBuiltinRoles(t *testing.T) {
	const owner, contributor, reader, accessAdmin = "8e3af657-a8ff-443c-a75c-2fe8c4bcb635", "b24988ac-6180-42a0-ab88-20f7382dd24c",
		"acdd72a7-3385-48ef-bd42-f606fba81ae7", "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9"
	const assign, vmWrite, vmRead, keys = "Microsoft.Authorization/roleAssignments/write", "Microsoft.Compute/virtualMachines/write",
		"Microsoft.Compute/virtualMachines/read", "Microsoft.Storage/storageAccounts/listKeys/action"
	const blobRead, blobWrite = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read",
		"Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write"
	for role, may := range map[string]map[string]bool{
		owner: {assign: true, vmWrite: true, vmRead: true, keys: true},
		contributor: {assign: false, vmWrite: true, vmRead: true, keys: true, "Microsoft.Authorization/locks/delete": false,
			"Microsoft.Authorization/elevateAccess/action": false, "Microsoft.Authorization/roleAssignments/read": true},
		reader:      {assign: false, vmWrite: false, vmRead: true, keys: false},
		accessAdmin: {assign: true, vmWrite: false, vmRead: true, keys: false},
	} {
		d, found := Lookup(strings.ToUpper(sub + "/providers/Microsoft.Authorization/roleDefinitions/" + role))
		if !found {
			t.Errorf("there is no role %s", role)
			continue
		}
		for action, want := range may {
			if got := (Permission{d.Actions, d.NotActions}).Allows(action); got != want {
				t.Errorf("%s and %s: %v", d.Name, action, got)
			}
		}
		for _, data := range []string{blobRead, blobWrite} { // to manage an account is not to read what is in it
			if (Permission{d.DataActions, d.NotDataActions}).Allows(data) {
				t.Errorf("%s may %s", d.Name, data)
			}
		}
	}
	names, ids := map[string]bool{}, map[string]bool{}
	for _, d := range Builtin() {
		if names[d.Name] || ids[strings.ToLower(d.ID)] {
			t.Errorf("%s is there twice", d.Name)
		}
		names[d.Name], ids[strings.ToLower(d.ID)] = true, true
	}
	if _, found := Lookup("none"); found {
		t.Error("a role that is not")
	}
}

// The permissions at a scope are those of the assignments there and above, one block for each of a role's.
func TestPermissionsAtAScope(t *testing.T) {
	custom := store.Doc{"properties": store.Doc{"permissions": []any{store.Doc{"actions": []any{"A/*"}, "dataActions": []any{"D"}},
		store.Doc{"actions": []any{"B"}, "notActions": []any{"C"}}}}}
	assigned(t, rg, "custom", custom).View(func(tx *store.Tx) {
		for scope, n := range map[string]int{sub: 0, rg: 2, vm: 2, rg + "2": 0, strings.ToUpper(vm) + "/": 2} {
			if got := Of(tx, "p", scope); len(got) != n {
				t.Errorf("%s: %v, want %d blocks", scope, got, n)
			}
		}
		if got := Of(tx, "P", rg); len(got) == 2 && (len(got[0].Actions) != 1 || got[1].NotActions[0] != "C") {
			t.Errorf("blocks: %v", got)
		}
		if len(Of(tx, "q", rg)) != 0 || len(Of(tx, "p", rg, func(time.Time) bool { return true })) != 0 {
			t.Error("the permissions of another, or of an assignment that has not spread")
		}
		if Allowed(tx, Management, "p", "A/x", rg, func(time.Time) bool { return true }) ||
			AllowedBelow(tx, "p", "", sub, func(time.Time) bool { return true }) {
			t.Error("an assignment that has not spread grants something")
		}
		if !Allowed(tx, Data, "p", "D", vm) || Allowed(tx, Management, "p", "D", vm) || Allowed(tx, Data, "p", "A/x", vm) {
			t.Error("the planes are not kept apart")
		}
		if !AllowedBelow(tx, "p", "", sub) || AllowedBelow(tx, "p", "", vm) || AllowedBelow(tx, "p", "Z", sub) || !AllowedBelow(tx, "p", "B", sub) {
			t.Error("what is seen from above")
		}
	})
}
