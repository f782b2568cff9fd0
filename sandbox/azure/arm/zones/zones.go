// Package zones is DNS of the embedded Azure: public and private zones, their links and record sets.
package zones

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Resource types of DNS.
const (
	TypePublic  = "Microsoft.Network/dnszones"
	TypePrivate = "Microsoft.Network/privateDnsZones"
	TypeLink    = TypePrivate + "/virtualNetworkLinks"
)

var (
	recordTypes = []string{"A", "AAAA", "CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TXT", "CAA"}
	nameServers = []any{"ns1-01.azure-dns.com.", "ns2-01.azure-dns.net.", "ns3-01.azure-dns.org.", "ns4-01.azure-dns.info."}
)

var zoneName = &provider.NameRule{Pattern: provider.Pattern(`^(?i)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)+$`), Code: "BadRequest", Demand: "A zone name has at least two labels of up to 63 letters, digits, hyphens and underscores."}

const zonePath = "subscriptions/*/resourcegroups/*/providers/microsoft.network/"

// Spec is what the gateway serves of DNS.
var Spec = provider.Spec{Namespace: "Microsoft.Network", Kinds: kinds(),
	Routes: []provider.Route{
		{Method: "GET", Pattern: zonePath + "dnszones/*/recordsets", Handle: recordSets},
		{Method: "GET", Pattern: zonePath + "dnszones/*/all", Handle: recordSets},
		{Method: "GET", Pattern: zonePath + "privatednszones/*/all", Handle: recordSets},
	}}

func kinds() []*provider.Kind {
	out := []*provider.Kind{
		{Type: TypePublic, AsyncDelete: true, NoState: true, Name: zoneName, Keep: []string{"nameServers"}, Put: putPublicZone, View: viewZone},
		{Type: TypePrivate, Async: true, Name: zoneName, Put: putPrivateZone, Guard: guardPrivateZone, View: viewZone},
		{Type: TypeLink, Async: true, Put: putZoneLink, Links: []provider.Link{{Field: "properties.virtualNetwork.id", Action: provider.JoinNetwork}}},
	}
	for _, zone := range []string{TypePublic, TypePrivate} {
		for _, t := range recordTypes {
			out = append(out, &provider.Kind{Type: zone + "/" + t, NoState: zone == TypePrivate, Put: putRecords, Guard: guardRecords, Lists: nameFits})
		}
	}
	return out
}

func putPublicZone(c *provider.Call, r *provider.Resource, old wire.Doc) error {
	p := wire.EnsureProps(r.Body)
	r.Body["location"] = "global"
	wire.Default(p, "nameServers", nameServers)
	wire.Default(p, "zoneType", "Public")
	p["maxNumberOfRecordSets"] = 10000
	if old != nil {
		return nil
	}
	var records []any
	for _, n := range nameServers {
		records = append(records, wire.Doc{"nsdname": n})
	}
	seedRecord(c, r, "NS", wire.Doc{"TTL": 172800, "NSRecords": records})
	seedRecord(c, r, "SOA", wire.Doc{"TTL": 3600, "SOARecord": wire.Doc{"email": "azuredns-hostmaster.microsoft.com", "expireTime": 2419200, "host": nameServers[0],
		"minimumTTL": 300, "refreshTime": 3600, "retryTime": 300, "serialNumber": 1}})
	return nil
}

func putPrivateZone(c *provider.Call, r *provider.Resource, old wire.Doc) error {
	r.Body["location"] = "global"
	p := wire.EnsureProps(r.Body)
	p["maxNumberOfRecordSets"] = 25000
	p["maxNumberOfVirtualNetworkLinks"] = 1000
	if old == nil {
		seedRecord(c, r, "SOA", wire.Doc{"ttl": 3600, "soaRecord": wire.Doc{"email": "azureprivatedns-host.microsoft.com", "host": "azureprivatedns.net",
			"expireTime": 2419200, "minimumTtl": 10, "refreshTime": 3600, "retryTime": 300, "serialNumber": 1}})
	}
	return nil
}

func seedRecord(c *provider.Call, zone *provider.Resource, typ string, props wire.Doc) {
	props["fqdn"] = zone.Name + "."
	if zone.Type == TypePublic {
		props["provisioningState"] = "Succeeded"
	}
	c.Save(zone.ID+"/"+typ+"/@", zone.Type+"/"+typ, wire.Doc{"etag": uuid.NewString(), "properties": props})
}

func guardPrivateZone(c *provider.Call, r *provider.Resource) error {
	if links := c.Within(r.ID, TypeLink); len(links) > 0 {
		return provider.Conflict("CannotDeleteResource",
			"Cannot delete resource while nested resources exist. Some existing nested resource IDs include: '%s'. Please delete all nested resources "+
				"before deleting this resource.", links[0].ID)
	}
	return nil
}

func putZoneLink(c *provider.Call, r *provider.Resource, _ wire.Doc) error {
	p := wire.EnsureProps(r.Body)
	r.Body["location"] = "global"
	vnet := wire.Ref(p, "virtualNetwork")
	if c.Get(vnet) == nil {
		return provider.MissingReference(vnet, r)
	}
	zone := r.ID[:strings.LastIndex(r.ID, "/virtualNetworkLinks/")]
	if err := oneZoneOfName(c, zone, vnet); err != nil {
		return err
	}
	for _, o := range c.Within(zone, TypeLink) {
		if o.ID != r.ID && strings.EqualFold(wire.Ref(wire.Props(o.Body), "virtualNetwork"), vnet) {
			return provider.Conflict("Conflict", "A virtual network cannot be linked to multiple zones with overlapping namespaces or twice to one: it is linked as '%s'.", o.Name)
		}
	}
	wire.Default(p, "registrationEnabled", false)
	p["virtualNetworkLinkState"] = "Completed"
	return nil
}

// oneZoneOfName keeps a network from two zones of one name: nobody could tell whose records it sees.
func oneZoneOfName(c *provider.Call, zone, vnet string) error {
	name := provider.LastSegment(zone)
	for _, o := range c.Within("", TypeLink) {
		other, _, _ := strings.Cut(o.ID, "/virtualNetworkLinks/")
		if strings.EqualFold(provider.LastSegment(other), name) && !strings.EqualFold(other, zone) &&
			strings.EqualFold(wire.Ref(wire.Props(o.Body), "virtualNetwork"), vnet) {
			return provider.BadRequest("BadRequest",
				"A virtual network cannot be linked to multiple zones with overlapping namespaces. You tried to link virtual network with '%s' and '%s' zones.",
				name, provider.LastSegment(other))
		}
	}
	return nil
}

func putRecords(c *provider.Call, r *provider.Resource, _ wire.Doc) error {
	p := wire.EnsureProps(r.Body)
	zone := provider.SegmentAfter(r.ID, TypePublic[strings.LastIndex(TypePublic, "/")+1:])
	if zone == "" {
		zone = provider.SegmentAfter(r.ID, "privateDnsZones")
	}
	if err := checkRecords(p); err != nil {
		return err
	}
	if err := aloneIfAlias(c, r); err != nil {
		return err
	}
	p["fqdn"] = r.Name + "." + zone + "."
	if r.Name == "@" {
		p["fqdn"] = zone + "."
	}
	if strings.HasPrefix(r.Type, TypePublic) {
		wire.Default(p, "targetResource", wire.Doc{})
	}
	return nil
}

// aloneIfAlias keeps a CNAME off other records of its name, and off the apex, which always has some.
func aloneIfAlias(c *provider.Call, r *provider.Resource) error {
	typ := provider.LastSegment(r.Type)
	if typ == "CNAME" && r.Name == "@" {
		return provider.BadRequest("BadRequest", "A CNAME record set cannot be created at the zone apex: its name '@' has the records SOA and NS.")
	}
	zone := r.ID[:strings.LastIndex(r.ID, "/"+typ+"/")]
	for _, o := range records(c, zone) {
		other := provider.LastSegment(o.Type)
		if !strings.EqualFold(o.Name, r.Name) || other == typ {
			continue
		}
		if typ == "CNAME" {
			return provider.Conflict("Conflict", "The CNAME record could not be created because another record with the same name already exists in this zone.")
		}
		if other == "CNAME" {
			return provider.Conflict("Conflict", "The record could not be created because a CNAME record with the same name already exists in this zone.")
		}
	}
	return nil
}

// checkRecords wants addresses to be addresses. Public and private zones spell their members differently.
func checkRecords(p wire.Doc) error {
	for field, list := range p {
		four := strings.EqualFold(field, "ARecords")
		if _, isList := list.([]any); !isList || !four && !strings.EqualFold(field, "AAAARecords") {
			continue
		}
		for _, d := range wire.Docs(p, field) {
			text, family := wire.Text(d, "ipv4Address"), "IPv4"
			if !four {
				text, family = wire.Text(d, "ipv6Address"), "IPv6"
			}
			if ip, err := netip.ParseAddr(text); err != nil || ip.Zone() != "" || ip.Is4() != four {
				return provider.BadRequest("BadRequest", "The value '%s' is not a valid %s address.", text, family)
			}
		}
	}
	return nil
}

func guardRecords(_ *provider.Call, r *provider.Resource) error {
	if r.Name == "@" && (strings.HasSuffix(r.Type, "/SOA") || strings.HasSuffix(r.Type, "/NS")) {
		return provider.BadRequest("BadRequest", "The record set of type '%s' at the zone apex cannot be deleted.", provider.LastSegment(r.Type))
	}
	return nil
}

func viewZone(c *provider.Call, r *provider.Resource, d wire.Doc) {
	p := wire.EnsureProps(d)
	p["numberOfRecordSets"] = len(records(c, r.ID))
	if r.Type == TypePrivate {
		p["numberOfVirtualNetworkLinks"] = len(c.Within(r.ID, TypeLink))
	}
}

func records(c *provider.Call, zoneID string) []*provider.Resource {
	var out []*provider.Resource
	for _, r := range c.Within(zoneID, "") {
		if IsRecord(r.Type) { // links and role assignments live beneath a zone as well
			out = append(out, r)
		}
	}
	return out
}

// IsRecord tells whether a type is one of record sets.
func IsRecord(typ string) bool {
	for _, zone := range []string{TypePublic, TypePrivate} {
		if record, ok := strings.CutPrefix(typ, zone+"/"); ok {
			return slices.Contains(recordTypes, record)
		}
	}
	return false
}

// recordSets lists all records of a zone, whatever their type.
func recordSets(c *provider.Call) (*provider.Reply, error) {
	zone, err := c.Parent()
	if err != nil {
		return nil, err
	}
	out := []any{}
	for _, r := range records(c, zone.ID) {
		if nameFits(c, r) {
			out = append(out, c.View(r))
		}
	}
	return provider.Answer(http.StatusOK, wire.Doc{"value": out}), nil
}

// nameFits compares the end of the name of a record set with what a list asks for.
func nameFits(c *provider.Call, r *provider.Resource) bool {
	suffix := c.Req.URL.Query().Get("$recordsetnamesuffix")
	return suffix == "" || strings.HasSuffix(strings.ToLower(r.Name), strings.ToLower(suffix))
}
