package arm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const authorizationIn = "/providers/Microsoft.Authorization/"

// guid is a name for an assignment.
func guid(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

func assignmentOf(principal, role string) string {
	return `{"properties":{"principalId":"` + principal + `","principalType":"ServicePrincipal","roleDefinitionId":"` + inSubscription + authorizationIn +
		`roleDefinitions/` + role + `"}}`
}

// Assignments by the words of https://learn.microsoft.com/azure/role-based-access-control/troubleshooting.
func TestRoleAssignments(t *testing.T) {
	s := gateway(t)
	have(t, s, identityID("one"), `{"location":"westeurope"}`)
	at := func(scope string, n int) string { return scope + authorizationIn + "roleAssignments/" + guid(n) }
	body := assignmentOf(other, readerRole)
	play(t, s, step{put, inGroup + authorizationIn + "roleAssignments/mine", body, 400, "InvalidRoleAssignmentId"},
		step{put, at(inGroup, 1), assignmentOf("", readerRole), 400, "InvalidCreateRoleAssignmentRequest"},
		step{put, at(inGroup, 1), assignmentOf(other, guid(99)), 400, "RoleDefinitionDoesNotExist"},
		step{put, at(inGroup, 1), strings.Replace(body, `"principalType":"ServicePrincipal",`, "", 1), 400, "PrincipalNotFound"}, // nobody knows him
		step{put, at(identityID("none"), 1), body, 404, "ResourceNotFound"},
		step{get, at(inGroup, 1), "", 404, "RoleAssignmentNotFound"}, step{remove, at(inGroup, 1), "", 204, ""},
		step{put, at(inGroup, 1), body, 201, ""}, step{put, at(inGroup, 1), body, 200, ""},
		step{put, at(inGroup, 2), body, 409, "RoleAssignmentExists"},
		step{put, at(inGroup, 2), strings.ToLower(body[:16]) + body[16:], 409, "RoleAssignmentExists"},
		step{put, at(inGroup, 1), assignmentOf(other, ownerRole), 409, "RoleAssignmentUpdateNotPermitted"},
		step{put, at(inGroup, 1), assignmentOf(guid(7), readerRole), 409, "RoleAssignmentUpdateNotPermitted"},
		step{put, at(inGroup, 2), assignmentOf(other, ownerRole), 201, ""}, step{put, at(identityID("one"), 3), body, 201, ""},
		step{put, at(inSubscription, 4), body, 201, ""})
	known := wire.Text(wire.Props(shown(t, s, identityID("one"))), "principalId")
	untyped := strings.Replace(assignmentOf(known, readerRole), `"principalType":"ServicePrincipal",`, "", 1)
	play(t, s, step{put, at(inGroup, 5), strings.Replace(untyped, `{"properties":{`, `{"properties":{"principalType":"User",`, 1), 400,
		"UnmatchedPrincipalType"},
		step{put, at(inGroup, 5), untyped, 201, ""})
	if got := at(inGroup, 5); wire.Props(shown(t, s, got))["principalType"] != "ServicePrincipal" {
		t.Errorf("an assignment does not say what its principal is: %v", shown(t, s, got))
	}
	d := shown(t, s, at(inGroup, 1))
	if p := wire.Props(d); p["scope"] != inGroup || p["principalId"] != other || p["createdBy"] != owner ||
		!strings.HasSuffix(wire.Text(p, "roleDefinitionId"), readerRole) || p["createdOn"] == nil {
		t.Errorf("an assignment: %v", d)
	}
	gone := want(t, s, owner, remove, at(inGroup, 2), nil, 200)
	if wire.Text(gone, "name") != guid(2) {
		t.Errorf("a deletion answers %v, and what was deleted is what clients expect", gone)
	}
}

// The list of a scope has what holds there and what is beneath: https://learn.microsoft.com/rest/api/authorization/role-assignments/list-for-scope.
func TestListsOfRoleAssignments(t *testing.T) {
	s := gateway(t) // with the owner at the subscription
	one := identityID("one")
	have(t, s, one, `{"location":"westeurope"}`)
	for i, scope := range []string{inSubscription, inGroup, one} {
		have(t, s, scope+authorizationIn+"roleAssignments/"+guid(i), assignmentOf(other, readerRole))
	}
	for query, n := range map[string]int{
		inSubscription: 4, inGroup: 4, one: 4,
		inSubscription + "?atScope()": 2, inGroup + "?atScope()": 3, one + "?atScope()": 4, strings.ToUpper(inGroup) + "?atScope()": 3,
		inGroup + "?principalId eq '" + other + "'": 3, inGroup + "?principalId eq '" + guid(7) + "'": 0,
		inGroup + "?atScope() and principalId eq '" + other + "'": 2,
		inGroup + "?assignedTo('" + owner + "')":                  1,
	} {
		scope, filter, _ := strings.Cut(query, "?")
		got := want(t, s, owner, get, scope+authorizationIn+"roleAssignments?$filter="+strings.ReplaceAll(filter, " ", "%20"), nil, 200)
		if list := wire.Docs(got, "value"); len(list) != n {
			t.Errorf("%s: %d assignments, want %d", query, len(list), n)
		}
	}
}

// Custom roles: https://learn.microsoft.com/azure/role-based-access-control/custom-roles.
func TestRoleDefinitions(t *testing.T) {
	s := gateway(t)
	at := func(name string) string { return inSubscription + authorizationIn + "roleDefinitions/" + name }
	role := func(name, actions string) string {
		return `{"properties":{"roleName":"` + name + `","assignableScopes":["` + inSubscription + `"],"permissions":[{"actions":[` + actions + `]}]}}`
	}
	const identities = `"Microsoft.ManagedIdentity/*"`
	play(t, s, step{put, at(readerRole), role("mine", identities), 400, "RoleDefinitionIsBuiltIn"},
		step{put, at(guid(1)), `{"properties":{"roleName":"mine","permissions":[{"actions":[]}]}}`, 400, "InvalidRoleDefinition"}, // assignable nowhere
		step{put, at(guid(1)), role("", identities), 400, "InvalidRoleDefinition"},
		step{put, at(guid(1)), role("mine", identities), 201, ""}, step{put, at(guid(1)), role("mine", identities), 201, ""},
		step{put, at(guid(2)), role("MINE", identities), 409, "RoleDefinitionWithSameNameExists"},
		step{get, at(guid(9)), "", 404, "RoleDefinitionDoesNotExist"}, step{get, at(strings.ToUpper(readerRole)), "", 200, ""},
		step{put, inGroup + authorizationIn + "roleAssignments/" + guid(3), assignmentOf(other, guid(1)), 201, ""},
		step{remove, at(guid(1)), "", 400, "RoleDefinitionHasAssignments"})
	want(t, s, other, put, identityID("one"), anywhere, 201)
	want(t, s, owner, put, at(guid(1)), parse(t, role("mine", `"Microsoft.Network/*"`)), 201) // what a role may changes with it
	want(t, s, other, get, identityID("one"), nil, 403)
	for filter, wanted := range map[string]string{"roleName%20eq%20'mine'": guid(1), "roleName%20eq%20'Reader'": readerRole,
		"type%20eq%20'CustomRole'": guid(1), "roleName%20eq%20'none'": ""} {
		if got := names(want(t, s, owner, get, inGroup+authorizationIn+"roleDefinitions?$filter="+filter, nil, 200)); got != wanted {
			t.Errorf("%s: %s, want %s", filter, got, wanted)
		}
	}
	play(t, s, step{remove, inGroup + authorizationIn + "roleAssignments/" + guid(3), "", 200, ""}, step{remove, at(guid(1)), "", 200, ""},
		step{get, at(guid(1)), "", 404, "RoleDefinitionDoesNotExist"})
}

// What one may do at a scope is listed for him: https://learn.microsoft.com/rest/api/authorization/permissions.
func TestPermissions(t *testing.T) {
	s := gateway(t)
	have(t, s, identityID("one"), `{"location":"westeurope"}`)
	define(t, s, "custom", permission([]any{"Microsoft.Network/*"}, []any{"*/delete"}, []any{"data"}))
	assign(t, s, other, readerRole, inGroup)
	assign(t, s, other, "custom", identityID("one"))
	at := func(scope string) []wire.Doc {
		return wire.Docs(want(t, s, other, get, scope+authorizationIn+"permissions", nil, 200), "value")
	}
	if got := at(inGroup); len(got) != 1 || fmt.Sprint(got[0]["actions"]) != "[*/read]" {
		t.Errorf("at the group: %v", got)
	}
	if got := fmt.Sprint(at(identityID("one"))); !strings.Contains(got, "Microsoft.Network/*") || !strings.Contains(got, "*/delete") ||
		strings.Contains(got, "data") {
		t.Errorf("at the resource: %v", got)
	}
}

// Who writes a resource needs rights at what it leads to, on every write: LinkedAuthorizationFailed.
func TestLinkedRightsByKind(t *testing.T) {
	subnet, pip, nsg := vnetID+"/subnets/a", networkIn+"publicIPAddresses/pip", nsgID
	for name, c := range map[string]struct {
		right, at    string
		target, body string
	}{
		"the subnet of an interface": {"Microsoft.Network/virtualNetworks/subnets/join/action", subnet, nicID("new"), nicIn("a", "")},
		"the address of a NAT gateway": {"Microsoft.Network/publicIPAddresses/join/action", pip, networkIn + "natGateways/nat",
			`{"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIpAddresses":[{"id":"` + pip + `"}]}}`},
		"the security group of a net": {"Microsoft.Network/networkSecurityGroups/join/action", nsg, networkIn + "virtualNetworks/new",
			`{"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},"subnets":[{"name":"a",
			"properties":{"addressPrefix":"10.0.0.0/24","networkSecurityGroup":{"id":"` + nsg + `"}}}]}}`},
		"the security group of a child": {"Microsoft.Network/networkSecurityGroups/join/action", nsg, vnetID + "/subnets/b",
			`{"properties":{"addressPrefix":"10.0.1.0/24","networkSecurityGroup":{"id":"` + nsg + `"}}}`},
		"the interface of a machine": {"Microsoft.Network/networkInterfaces/join/action", nicID("vm"), vmID("vm"), vmOf{name: "vm"}.body()},
		"the identity of a machine": {"Microsoft.ManagedIdentity/userAssignedIdentities/assign/action", identityID("one"), vmID("vm"),
			vmOf{name: "vm", top: `,"identity":{"type":"UserAssigned","userAssignedIdentities":{"` + identityID("one") + `":{}}}`}.body()},
		"the disk of a machine": {"Microsoft.Compute/disks/write", diskID("data"), vmID("vm"),
			vmOf{name: "vm", dataDisks: attached(0, "data", "")}.body()},
		"the network of a zone": {"Microsoft.Network/virtualNetworks/join/action", vnetID, privateZone + "/virtualNetworkLinks/l",
			`{"location":"global","properties":{"virtualNetwork":{"id":"` + vnetID + `"}}}`},
		"the disk of a snapshot": {"Microsoft.Compute/disks/beginGetAccess/action", diskID("data"), computeIn + "snapshots/s",
			`{"location":"westeurope","properties":{"creationData":{"createOption":"Copy","sourceResourceId":"` + diskID("data") + `"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := machines(t, "vm")
			have(t, s, nsg, `{"location":"westeurope"}`, pip,
				`{"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}`,
				identityID("one"), `{"location":"westeurope"}`, diskID("data"), emptyDisk("Premium_LRS", ""), privateZone, `{"location":"global"}`)
			define(t, s, "all-but", permission([]any{"*"}, []any{c.right}, nil))
			assign(t, s, other, "all-but", inSubscription)
			if status, code, _ := send(s, other, put, c.target, parse(t, c.body)); status != 403 || code != "LinkedAuthorizationFailed" {
				t.Fatalf("without %s: %d %s", c.right, status, code)
			}
			define(t, s, "linked", permission([]any{c.right}, nil, nil))
			assign(t, s, other, "linked", c.at) // there alone
			if status, code, _ := send(s, other, put, c.target, parse(t, c.body)); status >= 300 {
				t.Errorf("with it: %d %s", status, code)
			}
		})
	}
}
