package arm

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Resource types of DNS.
const (
	TypePublicZone  = "Microsoft.Network/dnszones"
	TypePrivateZone = "Microsoft.Network/privateDnsZones"
	TypeZoneLink    = TypePrivateZone + "/virtualNetworkLinks"
)

var (
	recordTypes = []string{"A", "AAAA", "CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TXT", "CAA"}
	nameServers = []any{"ns1-01.azure-dns.com.", "ns2-01.azure-dns.net.", "ns3-01.azure-dns.org.", "ns4-01.azure-dns.info."}
)

func dnsKinds() []*Kind {
	out := []*Kind{
		{Type: TypePublicZone, asyncDelete: true, noState: true, keep: []string{"nameServers"}, put: putPublicZone, view: viewZone},
		{Type: TypePrivateZone, async: true, put: putPrivateZone, guard: guardPrivateZone, view: viewZone},
		{Type: TypeZoneLink, async: true, put: putZoneLink},
	}
	for _, zone := range []string{TypePublicZone, TypePrivateZone} {
		for _, t := range recordTypes {
			out = append(out, &Kind{Type: zone + "/" + t, put: putRecords, guard: guardRecords})
		}
	}
	return out
}

func putPublicZone(c *call, r *Resource, old Doc) error {
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
		records = append(records, Doc{"nsdname": n})
	}
	c.seedRecord(r, "NS", Doc{"TTL": 172800, "NSRecords": records})
	c.seedRecord(r, "SOA", Doc{"TTL": 3600, "SOARecord": Doc{"email": "azuredns-hostmaster.microsoft.com", "expireTime": 2419200, "host": nameServers[0],
		"minimumTTL": 300, "refreshTime": 3600, "retryTime": 300, "serialNumber": 1}})
	return nil
}

func putPrivateZone(c *call, r *Resource, old Doc) error {
	r.Body["location"] = "global"
	p := wire.EnsureProps(r.Body)
	p["maxNumberOfRecordSets"] = 25000
	p["maxNumberOfVirtualNetworkLinks"] = 1000
	if old == nil {
		c.seedRecord(r, "SOA", Doc{"ttl": 3600, "soaRecord": Doc{"email": "azureprivatedns-host.microsoft.com", "host": "azureprivatedns.net",
			"expireTime": 2419200, "minimumTtl": 10, "refreshTime": 3600, "retryTime": 300, "serialNumber": 1}})
	}
	return nil
}

func (c *call) seedRecord(zone *Resource, typ string, props Doc) {
	props["fqdn"], props["provisioningState"] = zone.Name+".", "Succeeded"
	c.save(zone.ID+"/"+typ+"/@", zone.Type+"/"+typ, Doc{"etag": uuid.NewString(), "properties": props})
}

func guardPrivateZone(c *call, r *Resource) error {
	if links := c.within(r.ID, TypeZoneLink); len(links) > 0 {
		return badRequest("CannotDeleteResource", "Cannot delete resource while nested resources exist. Some existing nested resource IDs include: '%s'. Please delete all nested resources before deleting this resource.", links[0].ID)
	}
	return nil
}

func putZoneLink(c *call, r *Resource, _ Doc) error {
	p := wire.EnsureProps(r.Body)
	r.Body["location"] = "global"
	vnet := wire.Ref(p, "virtualNetwork")
	if c.get(vnet) == nil {
		return missingReference(vnet, r)
	}
	zone := r.ID[:strings.LastIndex(r.ID, "/virtualNetworkLinks/")]
	for _, o := range c.within(zone, TypeZoneLink) {
		if o.ID != r.ID && strings.EqualFold(wire.Ref(wire.Props(o.Body), "virtualNetwork"), vnet) {
			return conflict("Conflict", "A virtual network cannot be linked to multiple zones with overlapping namespaces or twice to one: it is linked as '%s'.", o.Name)
		}
	}
	wire.Default(p, "registrationEnabled", false)
	p["virtualNetworkLinkState"] = "Completed"
	return nil
}

func putRecords(c *call, r *Resource, _ Doc) error {
	p := wire.EnsureProps(r.Body)
	zone := segmentAfter(r.ID, TypePublicZone[strings.LastIndex(TypePublicZone, "/")+1:])
	if zone == "" {
		zone = segmentAfter(r.ID, "privateDnsZones")
	}
	if err := checkRecords(p); err != nil {
		return err
	}
	if err := c.aloneIfAlias(r); err != nil {
		return err
	}
	p["fqdn"] = r.Name + "." + zone + "."
	if r.Name == "@" {
		p["fqdn"] = zone + "."
	}
	wire.Default(p, "targetResource", Doc{})
	return nil
}

// aloneIfAlias keeps a CNAME off other records of its name, and off the apex, which always has some.
func (c *call) aloneIfAlias(r *Resource) error {
	typ := lastSegment(r.Type)
	if typ == "CNAME" && r.Name == "@" {
		return badRequest("BadRequest", "A CNAME record set cannot be created at the zone apex: its name '@' has the records SOA and NS.")
	}
	zone := r.ID[:strings.LastIndex(r.ID, "/"+typ+"/")]
	for _, o := range c.records(zone) {
		other := lastSegment(o.Type)
		if !strings.EqualFold(o.Name, r.Name) || other == typ {
			continue
		}
		if typ == "CNAME" {
			return conflict("Conflict", "The CNAME record could not be created because another record with the same name already exists in this zone.")
		}
		if other == "CNAME" {
			return conflict("Conflict", "The record could not be created because a CNAME record with the same name already exists in this zone.")
		}
	}
	return nil
}

// checkRecords wants addresses to be addresses. Public and private zones spell their members differently.
func checkRecords(p Doc) error {
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
				return badRequest("BadRequest", "The value '%s' is not a valid %s address.", text, family)
			}
		}
	}
	return nil
}

func guardRecords(_ *call, r *Resource) error {
	if r.Name == "@" && (strings.HasSuffix(r.Type, "/SOA") || strings.HasSuffix(r.Type, "/NS")) {
		return badRequest("BadRequest", "The record set of type '%s' at the zone apex cannot be deleted.", lastSegment(r.Type))
	}
	return nil
}

func viewZone(c *call, r *Resource, d Doc) {
	p := wire.EnsureProps(d)
	p["numberOfRecordSets"] = len(c.records(r.ID))
	if r.Type == TypePrivateZone {
		p["numberOfVirtualNetworkLinks"] = len(c.within(r.ID, TypeZoneLink))
	}
}

func (c *call) records(zoneID string) []*Resource {
	var out []*Resource
	for _, r := range c.within(zoneID, "") {
		if isRecordType(r.Type) { // links and role assignments live beneath a zone as well
			out = append(out, r)
		}
	}
	return out
}

func isRecordType(typ string) bool {
	for _, zone := range []string{TypePublicZone, TypePrivateZone} {
		if record, ok := strings.CutPrefix(typ, zone+"/"); ok {
			return slices.Contains(recordTypes, record)
		}
	}
	return false
}

// recordSets lists all records of a zone, whatever their type.
func (c *call) recordSets() (*reply, error) {
	zone, err := c.parent()
	if err != nil {
		return nil, err
	}
	out := []any{}
	for _, r := range c.records(zone.ID) {
		if c.nameFits(r) {
			out = append(out, c.view(r))
		}
	}
	return answer(http.StatusOK, Doc{"value": out}), nil
}

// nameFits compares the end of the name of a record set with what a list asks for.
func (c *call) nameFits(r *Resource) bool {
	suffix := c.req.URL.Query().Get("$recordsetnamesuffix")
	return suffix == "" || !isRecordType(r.Type) || strings.HasSuffix(strings.ToLower(r.Name), strings.ToLower(suffix))
}
