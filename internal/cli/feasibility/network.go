package feasibility

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/provision/delegation"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
)

// groups whose names the cluster takes: there is none of them yet, or it is this cluster's own of an earlier run.
func (e *examination) groups(ctx context.Context) []preflight.Check {
	const name = "names of resource groups"
	switch {
	case e.Output != nil:
		return one(preflight.Verdict(name, preflight.Warn, true, "the infrastructure is there", ""))
	case e.Infra.Name == "" || e.Infra.InfraID == "":
		return one(preflight.Verdict(name, preflight.Warn, true, "an infrastructure id is made up, and no group has it", ""))
	}
	var taken []string
	for _, group := range infra.OwnGroups(e.s, e.Infra) {
		found, err := e.s.Get(ctx, e.s.GroupID(group), node.APIGroups)
		switch {
		case failure.IsNotFound(err):
		case err != nil:
			return unanswered(name, err)
		case !infra.IsOwned(found, e.Infra.InfraID):
			taken = append(taken, group)
		}
	}
	detail := "are free, or of an earlier run of this cluster"
	if len(taken) > 0 {
		detail = "are there, and not of this cluster: " + strings.Join(taken, ", ")
	}
	return one(preflight.Verdict(name, preflight.Warn, len(taken) == 0, detail, "choose another --name or --infra-id: a destroy keeps what others have in these groups, and the cluster's parts lie among it"))
}

// shadows are private zones that hide the cluster's names from its own network.
func (e *examination) shadows(ctx context.Context) []preflight.Check {
	const name = "private DNS zones of the network"
	vnet := e.network().vnet
	switch {
	case vnet == "" && e.Output == nil:
		return one(preflight.Verdict(name, preflight.Fail, true, "the network is new: no other zone is linked to it", ""))
	case vnet == "" || e.Infra.BaseDomain == "" || e.Infra.Name == "":
		return one(preflight.Skipped(name, "the network, the name or the base domain is not named", "give --name and --base-domain, and the whole file of the infrastructure"))
	}
	ownID := e.Infra.PrivateZoneID
	if e.Output != nil {
		ownID = e.Output.PrivateZoneID
	}
	zones, err := e.s.List(ctx, "/subscriptions/"+e.s.SubscriptionID+"/providers/"+node.TypePrivateDNS, node.APIPrivateDNS, "")
	if err != nil {
		return unanswered(name, err)
	}
	for i := range zones {
		zone := &zones[i]
		if !e.hides(zone.Name) || infra.IsOwned(zone, e.Infra.InfraID) || strings.EqualFold(zone.ID, ownID) {
			continue
		}
		linked, err := e.isLinked(ctx, zone.ID, vnet)
		if err != nil {
			return unanswered(name, err)
		}
		if linked {
			return one(preflight.Verdict(name, preflight.Fail, false, fmt.Sprintf("%s is linked to the virtual network and hides the cluster's names beneath %s", zone.ID, zone.Name),
				"unlink it, take another --name or domain, or give it by --private-dns-zone-id where it is meant for this cluster"))
		}
	}
	return one(preflight.Verdict(name, preflight.Fail, true, "none hides the cluster's names", ""))
}

// hides tells whether a zone of this name answers for names of the cluster.
func (e *examination) hides(zone string) bool {
	return strings.EqualFold(zone, e.Infra.ClusterDomain()) || e.ExternalDNSDomain != "" && isWithin(e.ExternalDNSDomain, zone)
}

// isLinked tells whether names of a private zone are those of a virtual network.
func (e *examination) isLinked(ctx context.Context, zone, vnet string) (bool, error) {
	links, err := e.s.List(ctx, zone+"/virtualNetworkLinks", node.APIPrivateDNS, "")
	return slices.ContainsFunc(links, func(l azure.Resource) bool { return strings.EqualFold(l.Property("virtualNetwork", "id"), vnet) }), err
}

// isWithin tells whether a domain is the zone's or lies beneath it, however Azure spells either.
func isWithin(domain, zone string) bool {
	domain, zone = strings.ToLower(domain), strings.ToLower(zone)
	return domain == zone || strings.HasSuffix(domain, "."+zone)
}

// ranges of pods and Services against the virtual network's.
func (e *examination) ranges(ctx context.Context) []preflight.Check {
	const name, remedy = "ranges of pods and Services", "choose another --cluster-cidr or --service-cidr"
	o := e.Infra
	if e.Output != nil {
		o.VNetID = e.Output.VNetID
	}
	err := infra.CheckRanges(ctx, e.s, o)
	switch {
	case failure.CodeOf(err) != "" && !failure.IsNotFound(err):
		return unanswered(name, err)
	case err != nil:
		return one(preflight.OfError(name, preflight.Fail, err, remedy))
	}
	return one(preflight.Verdict(name, preflight.Fail, true, "none overlaps the virtual network", ""))
}

// baseZone is the public zone of the base domain, the group in which the cluster may write it, and its delegation.
func (e *examination) baseZone(ctx context.Context) []preflight.Check {
	domain := e.Infra.BaseDomain
	if domain == "" {
		return one(preflight.Skipped("DNS zone of the base domain", "no base domain is named", "give --base-domain"))
	}
	name := "DNS zone " + domain
	bad := preflight.Fail
	if e.Infra.PublicZoneOptional {
		bad = preflight.Warn
	}
	zone, err := e.zoneOf(ctx, func(z string) bool { return z == domain })
	switch {
	case err != nil:
		return unanswered(name, err)
	case zone == nil:
		return one(preflight.Verdict(name, bad, false, "the subscription has no public zone of this name: nobody publishes the names of the cluster's applications", "make it (`az network dns zone create`), name one that there is by --base-domain, or publish *.apps of the cluster yourself"))
	}
	checks := one(preflight.Verdict(name, bad, true, zone.ID, ""))
	id, err := azure.ParseID(zone.ID)
	if group := e.Infra.DNSZoneGroup; group != "" && !e.Infra.OwnsAppsZone() && err == nil && !strings.EqualFold(group, id.ResourceGroup) {
		checks = append(checks, preflight.Verdict("resource group of the DNS zone", preflight.Warn, false, fmt.Sprintf("--dns-zone-rg-name is %s, and the zone lies in %s: the ingress identity may not write it", group, id.ResourceGroup), "give --dns-zone-rg-name "+id.ResourceGroup))
	}
	checks = append(checks, e.delegation(ctx, zone, bad)...)
	return append(checks, e.freeRecords(ctx, zone)...)
}

// freeRecords finds records that stand where the cluster's applications will be published.
func (e *examination) freeRecords(ctx context.Context, zone *azure.Resource) []preflight.Check {
	if e.Infra.Name == "" {
		return nil
	}
	record := strings.TrimSuffix("*.apps."+strings.TrimSuffix(e.Infra.ClusterDomain(), zone.Name), ".")
	name := "DNS name " + record + "." + zone.Name
	_, err := e.s.Get(ctx, zone.ID+"/A/"+record, node.APIDNS)
	switch {
	case failure.IsNotFound(err):
		return one(preflight.Verdict(name, preflight.Warn, true, "is free", ""))
	case err != nil:
		return unanswered(name, err)
	}
	return one(preflight.Verdict(name, preflight.Warn, false, "has a record already, which the cluster will overwrite", "choose another --name or --base-domain-prefix, or delete the record of a cluster that is gone"))
}

// externalZone is the zone into which ExternalDNS writes, and its delegation.
func (e *examination) externalZone(ctx context.Context) []preflight.Check {
	domain := e.ExternalDNSDomain
	if domain == "" || domain == e.Infra.BaseDomain {
		return nil
	}
	name := "DNS zone of " + domain
	zone, err := e.zoneOf(ctx, func(z string) bool { return isWithin(domain, z) })
	switch {
	case err != nil:
		return unanswered(name, err)
	case zone == nil:
		return one(preflight.Verdict(name, preflight.Warn, false, "the subscription has no public zone that covers it", "make it with `hypershift create dns azure`, or see to it that ExternalDNS may write it in another subscription"))
	}
	return append(one(preflight.Verdict(name, preflight.Warn, true, zone.ID, "")), e.delegation(ctx, zone, preflight.Fail)...)
}

// zoneOf is the public zone with the longest name that fits, nil when there is none.
func (e *examination) zoneOf(ctx context.Context, fits func(string) bool) (*azure.Resource, error) {
	zones, err := e.s.List(ctx, "/subscriptions/"+e.s.SubscriptionID+"/providers/"+node.TypeDNS, node.APIDNS, "")
	if err != nil {
		return nil, err
	}
	var found *azure.Resource
	for i := range zones {
		if fits(zones[i].Name) && (found == nil || len(zones[i].Name) > len(found.Name)) {
			found = &zones[i]
		}
	}
	return found, nil
}

// delegation compares the servers of a zone with what DNS itself answers.
func (e *examination) delegation(ctx context.Context, zone *azure.Resource, bad preflight.Status) []preflight.Check {
	name, servers := "delegation of "+zone.Name, delegation.ServersOf(zone)
	names, err := dns.AskNameServers(ctx, e.Resolver, zone.Name)
	var silent net.Error
	if errors.As(err, &silent) {
		return one(preflight.Skipped(name, err.Error(), "name a DNS server that answers by --dns-resolver HOST:PORT"))
	}
	detail := strings.Join(servers, ", ")
	if err != nil {
		detail = err.Error()
	} else if !slices.Equal(names, servers) {
		detail = fmt.Sprintf("DNS says %s, the zone's servers are %s", strings.Join(names, ", "), strings.Join(servers, ", "))
	}
	return one(preflight.Verdict(name, bad, err == nil && slices.Equal(names, servers), detail, "delegate the zone in its parent: `hypershift create dns azure --parent-zone-id ID` does; where this machine sees another DNS, ask the right server with --dns-resolver HOST:PORT"))
}
