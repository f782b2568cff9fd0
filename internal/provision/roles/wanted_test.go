package roles

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/provisiontest"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// A cluster without a registry gives its identity no role, an installer's own role takes the place of the machine provider's and of nothing else,
// and what is given is never changed by who asks.
func TestWanted(t *testing.T) {
	ids := func(grants []Grant) []string {
		var out []string
		for _, g := range grants {
			out = append(out, g.ID)
		}
		return out
	}
	if all, without := ids(Wanted(false, false)), ids(Wanted(true, false)); !slices.Contains(all, "ciro") || slices.Contains(without, "ciro") || len(without) != len(all)-1 {
		t.Errorf("%v without a registry, %v with one", without, all)
	}
	for i, g := range Wanted(false, true) {
		if is := g.roleName != ""; is != (g.ID == "capz") || is != (g.RoleGUID == "") {
			t.Errorf("%s has role %q %q", g.ID, g.RoleGUID, g.roleName)
		}
		if givenGrants()[i].RoleGUID == "" || !azure.IsUUID(givenGrants()[i].RoleGUID) {
			t.Errorf("%s has lost its role to another call", g.ID)
		}
	}
	names := map[string]bool{}
	for _, g := range allGrants() {
		if names[g.ID] {
			t.Errorf("two grants are %s: their assignments would have one name", g.ID)
		}
		names[g.ID] = true
	}
}

// A holder that is not there gets nothing, a scope that several names lead to is one, and an assignment waits for its identity and its scope.
func TestNodesOfRoles(t *testing.T) {
	s := provisiontest.Session(t)
	one := Scope{Group: func() string { return "main" }, Label: "main", Node: "group/main"}
	same := one
	same.Label = "MAIN"
	scopes := map[ScopeName]Scope{Main: one, NSG: same, VNet: one}
	who := map[string]Holder{"cloudProvider": {Node: "cloudProvider", Principal: func(context.Context) (string, error) { return provisiontest.Client, nil }}}
	nodes := Nodes(s, "demo-x", Wanted(false, false), who, scopes)
	if len(nodes) != 1 || nodes[0].Name != "cloud-provider on main" || !slices.Equal(nodes[0].DependsOn, []string{"cloudProvider", "group/main"}) || nodes[0].Within != "cloudProvider" {
		t.Fatalf("%+v", nodes)
	}
	if want := (azure.Assignment{Name: nameOf("demo-x", "cloud-provider", s.GroupID("main")), Scope: s.GroupID("main")}).ID(); nodes[0].Resource != want {
		t.Errorf("its id is %s, want %s: it would not be on record before it is made", nodes[0].Resource, want)
	}
	one.Made, scopes = true, map[ScopeName]Scope{Main: {Group: one.Group, Label: "main", Node: "group/main", Made: true}}
	if nodes = Nodes(s, "demo-x", Wanted(false, false), who, scopes); nodes[0].Within != "group/main" {
		t.Errorf("a role on a group that was just made is looked for: within %s", nodes[0].Within)
	}
	scopes = map[ScopeName]Scope{DNS: {Group: func() string { return "" }, Label: "the group of the public DNS zone", Maybe: true, Node: "publiczone"}}
	ingress := map[string]Holder{"ingress": {Principal: func(context.Context) (string, error) {
		t.Error("a principal is asked for that needs no role")
		return "", nil
	}}}
	for _, n := range Nodes(s, "demo-x", Wanted(false, false), ingress, scopes) {
		if state, err := n.Observe(t.Context()); err != nil || state != stack.Current || n.Resource != "" {
			t.Errorf("%s: %v, %v, %q", n.Name, state, err, n.Resource)
		}
	}
}

// The names of assignments on groups follow from the group's spelling, those on resources do not; each infrastructure, component and scope has
// its own, so that no destroy takes another cluster's.
func TestNamesOfAssignments(t *testing.T) {
	if nameOf("x", "capz", network) != nameOf("x", "capz", strings.ToUpper(network)) || nameOf("x", "capz", subscription+"/resourceGroups/g") == nameOf("x", "capz", subscription+"/resourceGroups/G") {
		t.Error("the spelling of a scope")
	}
	seen := map[string]string{}
	for _, infraID := range []string{"demo-x", "demo"} {
		for _, g := range allGrants() {
			for _, scope := range []string{subscription + "/resourceGroups/main", subscription + "/resourceGroups/vnet", network} {
				name := nameOf(infraID, g.ID, scope)
				if what := strings.Join([]string{infraID, g.ID, scope}, " "); seen[name] != "" {
					t.Errorf("%s and %s have one name", what, seen[name])
				} else {
					seen[name] = what
				}
				a := azure.Assignment{Name: strings.ToUpper(name), Scope: scope}
				if !IsNamed(infraID, a) || IsNamed(infraID+"y", a) {
					t.Errorf("%s of %s is known as its: %v", name, infraID, IsNamed(infraID, a))
				}
			}
		}
	}
	for _, scope := range []string{subscription, "/", subscription + "/resourceGroups/main?x=/resourceGroups/a", subscription + "/resourceGroups/main/../victim"} {
		if IsNamed("demo-x", azure.Assignment{Name: nameOf("demo-x", "capz", scope), Scope: scope}) {
			t.Errorf("an assignment on %s is the cluster's", scope)
		}
	}
}

// Identities that no file names hold nothing; all others are found under the keys of the grants.
func TestHolders(t *testing.T) {
	w := &identity.WorkloadIdentities{}
	w.Set("disk", provisiontest.Client)
	if who := Of(provisiontest.Session(t), w); len(who) != 1 || who["disk"].Principal == nil || who["disk"].Node != "" {
		t.Errorf("%v", who)
	}
	keys := map[string]bool{}
	for _, c := range identity.Components {
		keys[c.Key] = true
	}
	for _, g := range Grants {
		if !keys[g.Key] {
			t.Errorf("%s is for %s, which no component is: nobody would get it", g.ID, g.Key)
		}
	}
}
