package provision

import (
	"errors"
	"fmt"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
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
		return errors.New("--assign-identity-roles needs --cluster-resource-group-name: the existing group that the cluster will be made in")
	}
	for _, f := range []struct{ flag, id string }{{"--vnet-id", r.VNetID}, {"--network-security-group-id", r.NSGID}} {
		if f.id == "" {
			continue
		}
		if _, err := azure.ParseID(f.id); err != nil {
			return fmt.Errorf("%s: %w", f.flag, err)
		}
	}
	return firstError(checkGroup("--cluster-resource-group-name", r.ResourceGroup), checkGroup("--dns-zone-rg-name", r.DNSZoneGroup))
}

// groups are the names of the groups by what the cluster has in them.
func (r *RoleScopes) groups() map[scopeName]string {
	out := map[scopeName]string{scopeMain: r.ResourceGroup, scopeNSG: r.ResourceGroup, scopeVNet: r.ResourceGroup}
	for name, id := range map[scopeName]string{scopeVNet: r.VNetID, scopeNSG: r.NSGID} {
		if parsed, err := azure.ParseID(id); err == nil {
			out[name] = parsed.ResourceGroup
		}
	}
	if r.DNSZoneGroup != "" {
		out[scopeDNS] = r.DNSZoneGroup
	}
	return out
}

// nodes find the groups and give the holders their roles on them.
func (r *RoleScopes) nodes(s *azure.Session, o IAMOptions, who map[string]holder) []*stack.Node {
	var nodes []*stack.Node
	scopes, found := map[scopeName]scope{}, map[string]bool{}
	for _, name := range []scopeName{scopeMain, scopeNSG, scopeVNet, scopeDNS} {
		group, ok := r.groups()[name]
		if !ok {
			continue
		}
		id := "scope/" + group
		if !found[id] {
			found[id] = true
			nodes = append(nodes, brought(s, id, "resource group", s.GroupID(group), apiGroups, nil))
		}
		scopes[name] = scope{group: func() string { return group }, label: group, node: id}
	}
	return append(nodes, roleNodes(s, o.InfraID, grants, who, scopes)...)
}
