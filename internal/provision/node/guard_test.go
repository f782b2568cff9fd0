package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/provisiontest"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

const anyGroup = "/subscriptions/" + provisiontest.Subscription + "/resourceGroups/g"

func write(context.Context) error { return nil }

func see(state stack.State) func(context.Context) (stack.State, error) {
	return func(context.Context) (stack.State, error) { return state, nil }
}

// The right that a write takes follows from what is written; what writes nothing in Azure's resource manager takes none.
func TestTheRightOfAWrite(t *testing.T) {
	for _, tc := range []struct {
		node stack.Node
		want string
	}{
		{stack.Node{Kind: "virtual network", Resource: anyGroup + "/providers/Microsoft.Network/virtualNetworks/v", Apply: write}, "Microsoft.Network/virtualNetworks/write"},
		{stack.Node{Kind: "subnet", Resource: anyGroup + "/providers/Microsoft.Network/virtualNetworks/v/subnets/s", Apply: write}, "Microsoft.Network/virtualNetworks/subnets/write"},
		{stack.Node{Kind: "resource group", Resource: anyGroup, Apply: write}, writeGroup},
		{stack.Node{Kind: "role assignment", Resource: "", Apply: write}, writeRoles}, // of a principal that is not known yet
		{stack.Node{Kind: "virtual network", Resource: anyGroup + "/providers/Microsoft.Network/virtualNetworks/v", Brought: true, Apply: write}, ""},
		{stack.Node{Kind: "signing key", Apply: write}, ""},
		{stack.Node{Kind: "file", Resource: "", Apply: write}, ""},
		{stack.Node{Kind: "virtual network", Resource: anyGroup + "/providers/Microsoft.Network/virtualNetworks/v"}, ""},
	} {
		if got := writeAction(&tc.node); got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.node.Kind, tc.node.Resource, got, tc.want)
		}
	}
}

// Namespaces are those of what is written, and of what others will make: roles and groups need none registered.
func TestNamespaces(t *testing.T) {
	nodes := []*stack.Node{
		{Kind: "role assignment", Resource: anyGroup + "/providers/Microsoft.Authorization/roleAssignments/r", Apply: write}, {Kind: "resource group", Resource: anyGroup, Apply: write},
		{Kind: "virtual network", Resource: anyGroup + "/providers/Microsoft.Network/virtualNetworks/v", Apply: write},
		{Kind: "load balancer", Resource: anyGroup + "/providers/Microsoft.Network/loadBalancers/l", Apply: write},
		{Kind: "storage account", Resource: anyGroup + "/providers/Microsoft.Storage/storageAccounts/theirs", Brought: true}, {Kind: "signing key", Apply: write},
		{Kind: "managed identity", Resource: anyGroup + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i", Apply: write},
	}
	if got := Namespaces(nodes, "Microsoft.Compute", "Microsoft.Network"); !slices.Equal(got, []string{"Microsoft.Compute", "Microsoft.ManagedIdentity", "Microsoft.Network"}) {
		t.Errorf("%v", got)
	}
	if got := Namespaces(nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// Rights that are missing are told one by one, sorted, each with its groups; the remedy is for the strongest of them.
func TestMissingRightsAreTold(t *testing.T) {
	s := provisiontest.Session(t)
	if err := missingRights(s, nil); err != nil {
		t.Error(err)
	}
	for _, tc := range []struct {
		missing map[string][]string
		says    []string
		not     string
	}{
		{map[string][]string{"Microsoft.Network/virtualNetworks/write": {"b", "a"}, writeGroup: {""}},
			[]string{"Microsoft.Network/virtualNetworks/write in a, b; " + writeGroup, "the role Contributor", "subscription " + provisiontest.Subscription}, "User Access Administrator"},
		{map[string][]string{"Microsoft.Network/virtualNetworks/write": {"a"}, writeRoles: {"a", ""}},
			[]string{writeRoles + " in a; Microsoft.Network", "User Access Administrator", "with Contributor", "create iam azure"}, "in , a"},
	} {
		err := missingRights(s, tc.missing)
		if failure.CodeOf(err) != codeForbidden || failure.KindOf(err) != failure.Terminal || !strings.Contains(err.Error(), "nothing was made") || strings.Contains(err.Error(), tc.not) {
			t.Errorf("%v", err)
		}
		for _, word := range tc.says {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q is not said: %v", word, err)
			}
		}
	}
}

// Everything that is written waits for what is asked before, be it directly or behind something that does; what is looked at waits for nothing.
func TestAGateHoldsBackEveryWrite(t *testing.T) {
	nodes := []*stack.Node{
		{ID: "theirs", Brought: true}, {ID: "region", Brought: true}, {ID: "behind theirs", Brought: true, DependsOn: []string{"theirs"}},
		{ID: "group"}, {ID: "inside", DependsOn: []string{"group"}}, {ID: "in theirs", DependsOn: []string{"theirs"}}, {ID: "deep", DependsOn: []string{"behind theirs"}},
	}
	Gate(nodes)
	got := map[string]string{}
	for _, n := range nodes {
		got[n.ID] = strings.Join(n.DependsOn, ",")
		if n.Ahead {
			got[n.ID] += " ahead"
		}
	}
	for id, want := range map[string]string{"theirs": "", "region": "", "behind theirs": "theirs", "group": "theirs,region ahead", "inside": "group", "in theirs": "theirs,region",
		"deep": "behind theirs,theirs,region"} {
		if got[id] != want {
			t.Errorf("%s waits for %q, want %q", id, got[id], want)
		}
	}
	afterRegistration(append(nodes, &stack.Node{ID: registrationNode}))
	for _, n := range nodes {
		if is, want := slices.Contains(n.DependsOn, registrationNode), n.ID == "group" || n.ID == "in theirs" || n.ID == "deep"; is != want {
			t.Errorf("%s waits for the namespaces: %v", n.ID, is)
		}
	}
}

// A region that people write otherwise is told as Azure writes it, and one that is none with those that there are.
func TestAnUnknownRegion(t *testing.T) {
	s := provisiontest.Session(t)
	for typed, want := range map[string]string{"East US": "is written eastus", "EASTUS": "is written eastus", "atlantis": "it has eastus, westeurope"} {
		if err := unknownRegion(s, typed, []string{"westeurope", "eastus"}); !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), FieldLocation.String()) {
			t.Errorf("%s: %v", typed, err)
		}
	}
}

// The plan of a destroy has what goes, and not what stays: a persistent group and what the user has brought.
func TestDeletions(t *testing.T) {
	s := provisiontest.Session(t)
	nodes := []*stack.Node{Group(s, "group", "persistent", "eastus", nil, true), Group(s, "own", "own", "eastus", nil, false), Brought(s, "theirs", "virtual network", anyGroup, APINetwork, nil)}
	steps := Deletions(nodes)
	if len(steps) != 1 || steps[0] != (stack.Step{Kind: "resource group", Name: "own", Action: "delete"}) {
		t.Errorf("%v", steps)
	}
	if Deletions(nil) == nil {
		t.Error("a plan of nothing is no list for a program")
	}
}

// What stands needs no right; what cannot be looked at does.
func TestStands(t *testing.T) {
	broken := &stack.Node{Observe: func(context.Context) (stack.State, error) { return stack.Current, errors.New("no") }}
	for _, tc := range []struct {
		node *stack.Node
		want bool
	}{{&stack.Node{Observe: see(stack.Current)}, true}, {&stack.Node{Observe: see(stack.Missing)}, false}, {&stack.Node{Observe: see(stack.Drifted)}, false}, {broken, false}} {
		if stands(t.Context(), tc.node) != tc.want {
			t.Errorf("%+v stands: %v", tc.node, !tc.want)
		}
	}
}

// The mark of ownership is added to the user's tags and never written into his map; each stack has its own.
func TestMarks(t *testing.T) {
	users := map[string]string{"team": "a"}
	got := WithTag(users, StackTag("iam", "demo-x"))
	if len(users) != 1 || got["team"] != "a" || got["hypershift.openshift.io_iam_demo-x"] != "owned" {
		t.Errorf("%v of %v", got, users)
	}
	if got := WithTag(nil, "mine"); got["mine"] != "owned" || len(got) != 1 {
		t.Errorf("%v", got)
	}
	if MainGroup("demo", "demo-x") != "demo-demo-x" {
		t.Error(MainGroup("demo", "demo-x"))
	}
}
