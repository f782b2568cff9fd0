package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/delegation"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/provision/roles"
)

func (v *verification) infraTasks() []task {
	if v.h.Infra == nil {
		return nil
	}
	out := v.h.Infra
	var tasks []task
	for _, r := range []struct{ name, id, api string }{
		{"resource group", v.s.GroupID(out.ResourceGroupName), node.APIGroups}, {"virtual network", out.VNetID, node.APINetwork}, {"subnet", out.SubnetID, node.APINetwork},
		{"network security group", out.SecurityGroupID, node.APINetwork}, {"private DNS zone", out.PrivateZoneID, node.APIPrivateDNS},
		{"public DNS zone", out.PublicZoneID, node.APIDNS},
	} {
		if r.id == "" {
			continue
		}
		tasks = append(tasks, func(ctx context.Context) []Check {
			found, err := v.s.Get(ctx, r.id, r.api)
			if err == nil && node.Unfinished(found) {
				err = fmt.Errorf("Azure shows it as %s: an operation on it has not come to its end", found.Property("provisioningState"))
			}
			return []Check{verdict("infrastructure", r.name, r.id, err, "run `hypershift create infra azure` again")}
		})
	}
	if zone, err := azure.ParseID(out.PublicZoneID); err == nil && strings.EqualFold(zone.ResourceGroup, out.ResourceGroupName) {
		tasks = append(tasks, func(ctx context.Context) []Check {
			return []Check{verdict("infrastructure", "delegation of "+zone.Name, "by "+out.BaseDomain, v.checkDelegated(ctx, out), "run `hypershift create infra azure` again")}
		})
	}
	if v.h.RolesDNSZoneGroup == "" || out.WorkloadIdentities == nil {
		return tasks
	}
	return append(tasks, v.roleTasks(out)...)
}

// checkDelegated compares what the zone of the base domain says of the applications' zone with that zone.
func (v *verification) checkDelegated(ctx context.Context, out *infra.Output) error {
	zone, err := v.s.Get(ctx, out.PublicZoneID, node.APIDNS)
	if err != nil {
		return err
	}
	base, err := infra.PublicZone(ctx, v.s, out.BaseDomain)
	if err != nil {
		return err
	}
	set, err := v.s.Get(ctx, delegation.ID(zone.Name, base), node.APIDNS)
	if err == nil && !slices.Equal(delegation.LeadsTo(set), delegation.ServersOf(zone)) {
		err = fmt.Errorf("the zone of %s delegates to %s, the servers are %s", out.BaseDomain, strings.Join(delegation.LeadsTo(set), ", "), strings.Join(delegation.ServersOf(zone), ", "))
	}
	return err
}

// groups of one cluster by their role; some may be the same group.
type groups map[roles.ScopeName]string

// roleTasks look at every role that `create infra azure` gives, and read as the identity what it may.
func (v *verification) roleTasks(out *infra.Output) []task {
	groups := groups{roles.Main: out.ResourceGroupName}
	for scope, id := range map[roles.ScopeName]string{roles.VNet: out.VNetID, roles.NSG: out.SecurityGroupID} {
		if parsed, err := azure.ParseID(id); err == nil {
			groups[scope] = parsed.ResourceGroup
		}
	}
	if v.h.RolesDNSZoneGroup != handoff.NoDNSZoneGroup {
		groups[roles.DNS] = v.h.RolesDNSZoneGroup
	}
	var tasks []task
	for _, r := range roles.Grants {
		clientID := out.WorkloadIdentities.Get(r.Key)
		if clientID == "" {
			continue
		}
		tasks = append(tasks, func(ctx context.Context) []Check { return v.checkRoles(ctx, r, clientID, groups, out.VNetID) })
	}
	return tasks
}

func (v *verification) checkRoles(ctx context.Context, r roles.Grant, clientID string, groups groups, vnetID string) []Check {
	remedy := "run `hypershift create infra azure " + infra.FieldAssignRoles.String() + "` again"
	principal, err := v.directory.PrincipalOf(ctx, clientID)
	if err != nil {
		return []Check{verdict("role", r.Key, "", err, remedy)}
	}
	var checks []Check
	held := false // the role that is tried
	for _, scope := range r.Scopes {
		if groups[scope] == "" {
			continue
		}
		err := v.holdsRole(ctx, r, scope, groups[scope], vnetID, principal)
		held = held || err == nil && scope == roles.Main
		checks = append(checks, verdict("role", r.Key+" on "+groups[scope], "", err, remedy))
	}
	if r.RoleGUID == roles.Reader && v.key != nil && v.h.Issuer != nil {
		read, err := v.checkRead(ctx, r, clientID, groups[roles.Main])
		read.spreads = held && failure.CodeOf(err) == "AuthorizationFailed"
		checks = append(checks, read)
	}
	return checks
}

// holdsRole fails where the principal has the grant's role, or a wider one of former times, neither on the group nor, where that is enough, on the
// virtual network in it.
func (v *verification) holdsRole(ctx context.Context, r roles.Grant, scope roles.ScopeName, group, vnetID, principal string) error {
	at := []string{v.s.GroupID(group)}
	if scope == roles.VNet && r.OnVNet {
		at = append(at, vnetID)
	}
	for _, id := range at {
		for _, role := range append([]string{r.RoleGUID}, r.Before...) {
			state, err := v.assignments.Observe(ctx, azure.Assignment{Scope: id, RoleGUID: role, PrincipalID: principal})
			if err != nil || state == azure.AssignmentPresent {
				return err
			}
		}
	}
	for _, id := range at {
		if err := v.assignments.Refused(id); err != nil {
			return err // it may be there
		}
	}
	return fmt.Errorf("the identity does not hold role %s on resource group %s", r.RoleGUID, group)
}

// checkRead reads the main group as an identity whose role surely allows it.
func (v *verification) checkRead(ctx context.Context, r roles.Grant, clientID, group string) (Check, error) {
	at := slices.IndexFunc(identity.Components, func(c identity.Component) bool { return c.Key == r.Key })
	f := identity.GuestFederation(v.h.Issuer.URL, identity.Components[at].Credentials[0].Subject)
	as, err := v.s.As(clientID, func(context.Context) (string, error) { return mintToken(v.key, f, time.Now()) })
	if err == nil {
		_, err = as.Get(ctx, v.s.GroupID(group), node.APIGroups)
	}
	return verdict("access", r.Key, "read resource group "+group, err, "roles take minutes to become active; try again"), err
}
