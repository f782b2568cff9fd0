package iam

import (
	"cmp"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/provision/roles"
	"github.com/hypershift-on-azure/hypershift/internal/provision/rules"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// RoleScopes are groups of the user's on which the identities get their roles: then the one who creates the cluster in them needs no
// right to give any.
type RoleScopes struct {
	ResourceGroup string // main group of the cluster
	VNetID, NSGID string // in other groups; "" is the main one
	DNSZoneGroup  string // "" gives no role on a zone
}

func (r *RoleScopes) validate() error {
	if r == nil {
		return nil
	}
	if r.ResourceGroup == "" {
		return FieldRoles.Wrong("needs %s: the existing group that the cluster will be made in", FieldRolesResourceGroup)
	}
	for _, f := range []struct {
		name field.Field
		id   string
	}{{FieldRolesVNetID, r.VNetID}, {FieldRolesNSGID, r.NSGID}} {
		if f.id == "" {
			continue
		}
		if _, err := azure.ParseID(f.id); err != nil {
			return f.name.Wrap(err)
		}
	}
	return cmp.Or(rules.Group(FieldRolesResourceGroup, r.ResourceGroup), rules.Group(FieldRolesDNSZoneGroup, r.DNSZoneGroup))
}

// groups are the names of the groups by what the cluster has in them.
func (r *RoleScopes) groups() map[roles.ScopeName]string {
	out := map[roles.ScopeName]string{roles.Main: r.ResourceGroup, roles.NSG: r.ResourceGroup, roles.VNet: r.ResourceGroup}
	for name, id := range map[roles.ScopeName]string{roles.VNet: r.VNetID, roles.NSG: r.NSGID} {
		if parsed, err := azure.ParseID(id); err == nil {
			out[name] = parsed.ResourceGroup
		}
	}
	if r.DNSZoneGroup != "" {
		out[roles.DNS] = r.DNSZoneGroup
	}
	return out
}

// nodes find the groups and give the holders their roles on them.
func (r *RoleScopes) nodes(s *azure.Session, o Options, who map[string]roles.Holder) []*stack.Node {
	var nodes []*stack.Node
	scopes, found := map[roles.ScopeName]roles.Scope{}, map[string]bool{}
	for _, name := range []roles.ScopeName{roles.Main, roles.NSG, roles.VNet, roles.DNS} {
		group, ok := r.groups()[name]
		if !ok {
			continue
		}
		id := "scope/" + group
		if !found[id] {
			found[id] = true
			nodes = append(nodes, node.Brought(s, id, "resource group", s.GroupID(group), node.APIGroups, nil))
		}
		at := roles.Scope{Group: func() string { return group }, Label: group, Node: id}
		if name == roles.VNet && r.VNetID != "" {
			at.VNetID, at.VNetNode = r.VNetID, "scope/vnet"
			nodes = append(nodes, node.Brought(s, at.VNetNode, "virtual network", r.VNetID, node.APINetwork, nil))
		}
		scopes[name] = at
	}
	return append(nodes, roles.Nodes(s, o.InfraID, roles.Grants, who, scopes)...)
}
