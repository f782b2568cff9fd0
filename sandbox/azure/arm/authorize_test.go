package arm

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// permission is one block of a custom role.
func permission(actions, notActions, dataActions []any) wire.Doc {
	return wire.Doc{"actions": actions, "notActions": notActions, "dataActions": dataActions}
}

func TestWhatARoleLetsOneDo(t *testing.T) {
	const identities = entra.IdentityType
	const anotherGroup = inSubscription + "/resourceGroups/rg2"
	one := identityID("one")
	type assignment struct {
		scope string
		role  []any // permissions of a custom role
	}
	all := []any{permission([]any{"*"}, nil, nil)}
	for name, c := range map[string]struct {
		has          []assignment
		method, path string
		body         wire.Doc
		want         int
	}{
		"no role, a resource":                        {nil, http.MethodGet, one, nil, http.StatusForbidden},
		"no role, what does not exist":               {nil, http.MethodGet, identityID("none"), nil, http.StatusForbidden},
		"no role, the list of subscriptions":         {nil, http.MethodGet, "/subscriptions", nil, http.StatusOK},
		"no role, the subscription":                  {nil, http.MethodGet, inSubscription, nil, http.StatusForbidden},
		"the action at the resource":                 {[]assignment{{one, []any{permission([]any{identities + "/read"}, nil, nil)}}}, http.MethodGet, one, nil, http.StatusOK},
		"the action at another resource":             {[]assignment{{identityID("two"), []any{permission([]any{identities + "/read"}, nil, nil)}}}, http.MethodGet, one, nil, http.StatusForbidden},
		"the action at a resource of a longer name":  {[]assignment{{identityID("on"), []any{permission([]any{identities + "/read"}, nil, nil)}}}, http.MethodGet, one, nil, http.StatusForbidden},
		"the action at the group":                    {[]assignment{{inGroup, []any{permission([]any{identities + "/read"}, nil, nil)}}}, http.MethodGet, one, nil, http.StatusOK},
		"the action at another group":                {[]assignment{{anotherGroup, all}}, http.MethodGet, one, nil, http.StatusForbidden},
		"a read does not write":                      {[]assignment{{inGroup, []any{permission([]any{identities + "/read"}, nil, nil)}}}, http.MethodPut, one, anywhere, http.StatusForbidden},
		"a write does not delete":                    {[]assignment{{inGroup, []any{permission([]any{identities + "/write"}, nil, nil)}}}, http.MethodDelete, one, nil, http.StatusForbidden},
		"a write is a PATCH too":                     {[]assignment{{inGroup, []any{permission([]any{identities + "/write"}, nil, nil)}}}, http.MethodPatch, one, wire.Doc{"tags": wire.Doc{"a": "b"}}, http.StatusOK},
		"an action of the parent is not the child's": {[]assignment{{inGroup, []any{permission([]any{identities + "/read"}, nil, nil)}}}, http.MethodGet, one + "/federatedIdentityCredentials/none", nil, http.StatusForbidden},
		"a hole in a role":                           {[]assignment{{inGroup, []any{permission([]any{"*"}, []any{identities + "/delete"}, nil)}}}, http.MethodDelete, one, nil, http.StatusForbidden},
		"a hole leaves the rest":                     {[]assignment{{inGroup, []any{permission([]any{"*"}, []any{identities + "/delete"}, nil)}}}, http.MethodGet, one, nil, http.StatusOK},
		"a hole is no denial: another role fills it": {[]assignment{{inGroup, []any{permission([]any{"*"}, []any{identities + "/delete"}, nil)}}, {inSubscription, all}}, http.MethodDelete, one, nil, http.StatusOK},
		"a hole is filled by another block":          {[]assignment{{inGroup, []any{permission([]any{"*"}, []any{"*/delete"}, nil), permission([]any{identities + "/*"}, nil, nil)}}}, http.MethodDelete, one, nil, http.StatusOK},
		"data actions are of another plane":          {[]assignment{{inGroup, []any{permission(nil, nil, []any{"*"})}}}, http.MethodGet, one, nil, http.StatusForbidden},
		"the case of actions is ignored":             {[]assignment{{strings.ToUpper(inGroup), []any{permission([]any{strings.ToUpper(identities) + "/READ"}, nil, nil)}}}, http.MethodGet, one, nil, http.StatusOK},
		"a POST needs its own action":                {[]assignment{{inSubscription, []any{permission([]any{"*/read", "*/write", "*/delete"}, nil, nil)}}}, http.MethodPost, inSubscription + "/providers/Microsoft.Compute/register", nil, http.StatusForbidden},
		"a POST with its own action":                 {[]assignment{{inSubscription, []any{permission([]any{"Microsoft.Compute/register/action"}, nil, nil)}}}, http.MethodPost, inSubscription + "/providers/Microsoft.Compute/register", nil, http.StatusOK},
		// What is put on a resource is checked there: not at the id of the lock itself, and not above.
		"a lock needs its right at what it locks":   {[]assignment{{one, []any{permission([]any{"Microsoft.Authorization/locks/*"}, nil, nil)}}}, http.MethodPut, one + "/providers/Microsoft.Authorization/locks/l", wire.Doc{"properties": wire.Doc{"level": "CanNotDelete"}}, http.StatusCreated},
		"a lock's right at one resource, not above": {[]assignment{{one, []any{permission([]any{"Microsoft.Authorization/locks/*"}, nil, nil)}}}, http.MethodPut, inGroup + "/providers/Microsoft.Authorization/locks/l", wire.Doc{"properties": wire.Doc{"level": "CanNotDelete"}}, http.StatusForbidden},
		"all of the group is no right to assign":    {[]assignment{{inGroup, []any{permission([]any{"*"}, []any{"Microsoft.Authorization/*/Write"}, nil)}}}, http.MethodPut, one + "/providers/Microsoft.Authorization/roleAssignments/11111111-1111-4111-8111-111111111111", wire.Doc{}, http.StatusForbidden},
		// Who has a role somewhere beneath may see the containers of it, and list them.
		"a role beneath shows the subscription":   {[]assignment{{one, all}}, http.MethodGet, inSubscription, nil, http.StatusOK},
		"a role beneath lists the groups":         {[]assignment{{one, all}}, http.MethodGet, inSubscription + "/resourceGroups", nil, http.StatusOK},
		"a role beneath does not show the group":  {[]assignment{{one, all}}, http.MethodGet, inGroup, nil, http.StatusForbidden},
		"a role beneath lists the regions":        {[]assignment{{one, all}}, http.MethodGet, inSubscription + "/locations", nil, http.StatusOK},
		"a role beneath does not make a group":    {[]assignment{{one, all}}, http.MethodPut, anotherGroup, anywhere, http.StatusForbidden},
		"another action beneath lists no such":    {[]assignment{{one, []any{permission([]any{"Microsoft.Compute/*"}, nil, nil)}}}, http.MethodGet, inGroup + "/providers/" + identities, nil, http.StatusForbidden},
		"data actions beneath show no collection": {[]assignment{{one, []any{permission(nil, nil, []any{"*"})}}}, http.MethodGet, inGroup + "/providers/" + identities, nil, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			s := gateway(t)
			want(t, s, owner, http.MethodPut, one, anywhere, http.StatusCreated)
			for i, a := range c.has {
				role := "custom" + strconv.Itoa(i)
				define(t, s, role, a.role...)
				assign(t, s, other, role, a.scope)
			}
			want(t, s, other, c.method, c.path, c.body, c.want)
		})
	}
}

// What a list shows is what its caller may read one by one, no more and no less, from whichever scope he lists.
func TestListsShowWhatOneMayRead(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := gateway(t)
		groups := []string{inGroup, inSubscription + "/resourceGroups/rg2", inSubscription + "/resourceGroups/r"}
		var all []string
		for _, g := range groups {
			want(t, s, owner, http.MethodPut, g, anywhere, map[bool]int{true: http.StatusOK, false: http.StatusCreated}[g == inGroup])
			for _, name := range []string{"abc", "abcd"} {
				id := g + "/providers/" + entra.IdentityType + "/" + name
				want(t, s, owner, http.MethodPut, id, anywhere, http.StatusCreated)
				all = append(all, id)
			}
		}
		for _, scope := range rapid.SliceOfDistinct(rapid.SampledFrom(append(append([]string{}, groups...), all...)), rapid.ID[string]).Draw(r, "scopes") {
			assign(t, s, other, readerRole, scope)
		}
		for _, from := range append([]string{inSubscription}, groups...) {
			var readable []string
			for _, id := range all {
				if status, _, _ := send(s, other, http.MethodGet, id, nil); status == http.StatusOK && strings.HasPrefix(id, from+"/") {
					readable = append(readable, id)
				}
			}
			status, _, doc := send(s, other, http.MethodGet, from+"/providers/"+entra.IdentityType, nil)
			if refused := status == http.StatusForbidden; refused && len(readable) > 0 || !refused && status != http.StatusOK {
				r.Fatalf("listing %s: %d, though %v can be read", from, status, readable)
			}
			var listed []string
			for _, d := range wire.Docs(doc, "value") {
				listed = append(listed, wire.Text(d, "id"))
			}
			if !slices.Equal(slices.Sorted(slices.Values(listed)), slices.Sorted(slices.Values(readable))) {
				r.Fatalf("the list of %s shows\n%v\nand one by one can be read\n%v", from, listed, readable)
			}
		}
	})
}

// lockedFrom says it by the words of Azure's documentation: a lock holds for its scope and all beneath; CanNotDelete forbids deletions, ReadOnly
// every change; and nothing goes whose deletion would take a locked resource along.
func lockedFrom(at string, deletes bool, locks map[string]string) bool {
	beneath := func(id, of string) bool { return id == of || strings.HasPrefix(id, of+"/") }
	for scope, level := range locks {
		switch {
		case beneath(at, scope) && (deletes || level == "ReadOnly"):
			return true
		case deletes && beneath(scope, at):
			return true
		}
	}
	return false
}

func TestLocksHoldDownwards(t *testing.T) {
	one, two, inOther := identityID("one"), identityID("two"), inSubscription+"/resourceGroups/rg2/providers/"+entra.IdentityType+"/one"
	rg2 := inSubscription + "/resourceGroups/rg2"
	rapid.Check(t, func(r *rapid.T) {
		s := gateway(t)
		want(t, s, owner, http.MethodPut, rg2, anywhere, http.StatusCreated)
		for _, id := range []string{one, two, inOther} {
			want(t, s, owner, http.MethodPut, id, anywhere, http.StatusCreated)
		}
		locks := rapid.MapOfN(rapid.SampledFrom([]string{inSubscription, inGroup, rg2, one, two, inOther}),
			rapid.SampledFrom([]string{"CanNotDelete", "ReadOnly"}), 0, 2).Draw(r, "locks")
		for scope, level := range locks {
			want(t, s, owner, http.MethodPut, scope+"/providers/Microsoft.Authorization/locks/l", wire.Doc{"properties": wire.Doc{"level": level}}, http.StatusCreated)
		}
		for _, at := range []string{inGroup, one, two, inOther} {
			want(t, s, owner, http.MethodGet, at, nil, http.StatusOK) // a lock hides nothing
			if status, code, _ := send(s, owner, http.MethodPut, at, anywhere); (code == "ScopeLocked") != lockedFrom(at, false, locks) {
				r.Fatalf("PUT %s: %d %s with the locks %v", at, status, code, locks)
			}
		}
		at := rapid.SampledFrom([]string{inGroup, rg2, one, two, inOther}).Draw(r, "deleted")
		if status, code, _ := send(s, owner, http.MethodDelete, at, nil); (code == "ScopeLocked") != lockedFrom(at, true, locks) {
			r.Fatalf("DELETE %s: %d %s with the locks %v", at, status, code, locks)
		}
		for scope := range locks { // whoever may, takes a lock away, and then nothing holds
			send(s, owner, http.MethodDelete, scope+"/providers/Microsoft.Authorization/locks/l", nil)
		}
		if _, code, _ := send(s, owner, http.MethodDelete, inGroup, nil); code == "ScopeLocked" {
			r.Fatalf("%s is locked after all locks %v are gone", inGroup, locks)
		}
	})
}
