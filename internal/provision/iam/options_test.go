package iam

import (
	"errors"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/provisiontest"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

const group = "/subscriptions/" + provisiontest.Subscription + "/resourceGroups/"

func options() Options {
	return Options{Name: "demo", InfraID: "demo-x", ResourceGroup: "os4-common", Location: "eastus", IssuerURL: "https://i.example.com/demo"}
}

// What is wrong is told by its field before any call: Azure would tell half-way, or take an issuer that no token ever matches.
func TestIAMOptionsNameTheField(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Options)
		field  field.Field
	}{
		"no name":                            {func(o *Options) { o.Name = "" }, FieldName},
		"a capital":                          {func(o *Options) { o.Name = "Demo" }, FieldName},
		"no infrastructure id":               {func(o *Options) { o.InfraID = "" }, FieldInfraID},
		"an id with a dot":                   {func(o *Options) { o.InfraID = "demo.x" }, FieldInfraID},
		"names that are too long":            {func(o *Options) { o.InfraID = strings.Repeat("x", 60) }, FieldName},
		"no group":                           {func(o *Options) { o.ResourceGroup = "" }, FieldResourceGroup},
		"no issuer":                          {func(o *Options) { o.IssuerURL = "" }, FieldIssuerURL},
		"an issuer by http":                  {func(o *Options) { o.IssuerURL = "http://i.example.com" }, FieldIssuerURL},
		"an issuer with a query":             {func(o *Options) { o.IssuerURL += "?a=b" }, FieldIssuerURL},
		"a tag without a name":               {func(o *Options) { o.Tags = map[string]string{"": "a"} }, FieldTags},
		"roles on no group":                  {func(o *Options) { o.Roles = &RoleScopes{} }, FieldRoles},
		"roles on no network":                {func(o *Options) { o.Roles = &RoleScopes{ResourceGroup: "main", VNetID: "vnet"} }, FieldRolesVNetID},
		"roles on no group of rules":         {func(o *Options) { o.Roles = &RoleScopes{ResourceGroup: "main", NSGID: "nsg"} }, FieldRolesNSGID},
		"roles on a zone's group of no name": {func(o *Options) { o.Roles = &RoleScopes{ResourceGroup: "main", DNSZoneGroup: "a/b"} }, FieldRolesDNSZoneGroup},
	} {
		o := options()
		tc.change(&o)
		err := o.Validate()
		var wrong *field.Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), tc.field.String()) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Create(t.Context(), provisiontest.Session(t), o, nil); err == nil {
			t.Errorf("%s: it is made", name)
		}
		if _, err := Plan(t.Context(), provisiontest.Session(t), o); err == nil {
			t.Errorf("%s: it is planned", name)
		}
	}
	if o := options(); o.Validate() != nil {
		t.Error(o.Validate())
	}
}

// Roles are given on the groups that the user names, on the network alone where that is enough, and each once where several are the same; they
// wait for what they are on, and the user's groups are neither written nor deleted.
func TestRolesOnTheUsersGroups(t *testing.T) {
	vnet := group + "net/providers/Microsoft.Network/virtualNetworks/v"
	for _, tc := range []struct {
		name    string
		scopes  RoleScopes
		roles   int
		brought int
		none    string // scope on which nothing is given
	}{
		{"one group", RoleScopes{ResourceGroup: "main"}, 9, 1, group + "net"},
		{"one group, with a zone", RoleScopes{ResourceGroup: "main", DNSZoneGroup: "dns"}, 10, 2, group + "net"},
		{"a network elsewhere", RoleScopes{ResourceGroup: "main", VNetID: vnet}, 14, 3, group + "dns"},
	} {
		o := options()
		o.Roles = &tc.scopes
		nodes := nodesOf(provisiontest.Session(t), o, &identity.WorkloadIdentities{})
		if err := stack.Validate(nodes); err != nil {
			t.Fatal(err)
		}
		roles, brought := 0, 0
		for _, n := range nodes {
			switch {
			case n.Kind == "role assignment":
				roles++
				if strings.HasPrefix(n.Resource, tc.none+"/") {
					t.Errorf("%s: %s is on %s", tc.name, n.Name, n.Resource)
				}
				if strings.HasPrefix(n.Name, "capz") && strings.HasPrefix(n.Resource, group+"net/providers/Microsoft.Authorization") {
					t.Errorf("%s: the machine provider has a role on the whole group of the network", tc.name)
				}
			case n.Brought:
				brought++
				if n.Apply != nil || n.Delete != nil {
					t.Errorf("%s: %s could be written", tc.name, n.Name)
				}
			}
		}
		if roles != tc.roles || brought != tc.brought {
			t.Errorf("%s: %d roles, %d of the user's; want %d, %d", tc.name, roles, brought, tc.roles, tc.brought)
		}
	}
}
