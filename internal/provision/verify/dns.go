package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/delegation"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/provision/roles"
)

func (v *verification) dnsTasks() []task {
	if v.h.DNS == nil {
		return nil
	}
	return []task{v.checkZone, v.checkExternalDNS}
}

func (v *verification) checkZone(ctx context.Context) []Check {
	const area, remedy = "DNS", "run `hypershift create dns azure` again"
	zone, err := v.s.Get(ctx, v.h.DNS.ZoneID, node.APIDNS)
	checks := []Check{verdict(area, "zone "+v.h.DNS.Zone, v.h.DNS.ZoneID, err, remedy)}
	if err != nil {
		return checks
	}
	servers := delegation.ServersOf(zone)
	if v.h.DNS.ParentZoneID != "" {
		set, err := v.s.Get(ctx, delegation.ID(v.h.DNS.Zone, v.h.DNS.ParentZoneID), node.APIDNS)
		if err == nil && !slices.Equal(delegation.LeadsTo(set), servers) {
			err = fmt.Errorf("the parent zone delegates to %s, not to %s", strings.Join(delegation.LeadsTo(set), ", "), strings.Join(servers, ", "))
		}
		checks = append(checks, verdict(area, "NS records in the parent zone", v.h.DNS.ParentZoneID, err, remedy))
	}
	names, err := dns.AskNameServers(ctx, v.Resolver, v.h.DNS.Zone)
	if err == nil && !slices.Equal(names, servers) {
		err = fmt.Errorf("DNS says %s, the zone's servers are %s", strings.Join(names, ", "), strings.Join(servers, ", "))
	}
	return append(checks, verdict(area, "delegation in DNS", strings.Join(servers, ", "), err,
		"delegate the zone in its parent; with split DNS "+give(dns.FieldResolver)+" HOST:PORT"))
}

// checkExternalDNS looks at the identity's credential, or signs in as the service principal, and at the roles on the zone.
func (v *verification) checkExternalDNS(ctx context.Context) []Check {
	const area, remedy = "ExternalDNS", "run `hypershift create dns azure` again"
	zone, err := azure.ParseID(v.h.DNS.ZoneID)
	if err != nil || v.h.DNS.ExternalDNS == "" {
		return nil
	}
	var checks []Check
	role := dns.ZoneContributor
	if v.h.DNS.ExternalDNS == dns.ByServicePrincipal {
		role = roles.Contributor
		checks = append(checks, verdict(area, "service principal", v.h.DNS.CredentialsPath, v.checkServicePrincipal(ctx), remedy))
	} else {
		credential, err := v.s.Get(ctx, dns.CredentialID(v.s, zone.ResourceGroup, v.h.DNS.Zone), node.APIIdentity)
		if err == nil {
			err = matchCredential([]azure.Resource{*credential}, dns.Federation(v.h.DNS.ManagementURL))
		}
		checks = append(checks, verdict(area, "federated credential", dns.Subject, err, remedy))
	}
	principal, err := v.directory.PrincipalOf(ctx, v.h.DNS.ClientID)
	if err == nil {
		var state azure.AssignmentState
		state, err = v.assignments.Observe(ctx, azure.Assignment{Scope: v.h.DNS.ZoneID, RoleGUID: role, PrincipalID: principal})
		if err == nil {
			err = v.assignments.Refused(v.h.DNS.ZoneID)
		}
		if err == nil && state != azure.AssignmentPresent {
			err = fmt.Errorf("client %s may not write the zone", v.h.DNS.ClientID)
		}
	}
	return append(checks, verdict(area, "role on the zone", "", err, remedy))
}

func (v *verification) checkServicePrincipal(ctx context.Context) error {
	f, err := dns.ReadCredentials(v.h.DNS.CredentialsPath)
	if err != nil {
		return err
	}
	as, err := v.s.WithSecret(f.ClientID, f.ClientSecret)
	if err != nil {
		return err
	}
	_, err = as.Get(ctx, v.h.DNS.ZoneID, node.APIDNS)
	return err
}
