package provision

import (
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
)

// RecordInfra notes what the run made; a complete infrastructure becomes part of the hand-off.
func (h *Handoff) RecordInfra(s *azure.Session, r *Recorder, o InfraOptions, out *InfraOutput, complete bool) {
	ids := map[string]string{
		"group/main": s.GroupID(out.ResourceGroupName), "nsg": out.SecurityGroupID, "vnet": out.VNetID, "privatezone": out.PrivateZoneID,
		"zonelink":     out.PrivateZoneID + "/virtualNetworkLinks/" + o.Name + "-" + o.InfraID,
		"publicip":     s.ResourceID(out.ResourceGroupName, typePublicIP, out.InfraID),
		"loadbalancer": s.ResourceID(out.ResourceGroupName, typeLB, out.InfraID),
	}
	for node, id := range map[string]string{"group/nsg": out.SecurityGroupID, "group/vnet": out.VNetID} {
		if parsed, err := azure.ParseID(id); err == nil {
			ids[node] = s.GroupID(parsed.ResourceGroup)
		}
	}
	for _, grant := range grants {
		for _, group := range roleGroups(o, out) {
			scope := s.GroupID(group)
			ids["role/"+grant.id+"/"+group] = scope + "/providers/Microsoft.Authorization/roleAssignments/" + azure.AssignmentName(o.InfraID, grant.id, scope)
		}
	}
	h.Record("infra", r, ids)
	if !complete {
		return
	}
	h.Infra = out
	if o.AssignRoles {
		h.RolesDNSZoneGroup = dnsGroupOf(o, out)
		if h.RolesDNSZoneGroup == "" {
			h.RolesDNSZoneGroup = noDNSZoneGroup
		}
	}
}

func dnsGroupOf(o InfraOptions, out *InfraOutput) string {
	if zone, err := azure.ParseID(out.PublicZoneID); o.DNSZoneGroup == "" && err == nil {
		return zone.ResourceGroup
	}
	return o.DNSZoneGroup
}

// roleGroups are the groups on which roles may have been given.
func roleGroups(o InfraOptions, out *InfraOutput) []string {
	groups := []string{out.ResourceGroupName}
	for _, id := range []string{out.VNetID, out.SecurityGroupID} {
		if parsed, err := azure.ParseID(id); err == nil {
			groups = append(groups, parsed.ResourceGroup)
		}
	}
	if dns := strings.TrimSpace(dnsGroupOf(o, out)); dns != "" {
		groups = append(groups, dns)
	}
	return groups
}
