package arm

import (
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const (
	publicZone  = networkIn + "dnsZones/example.com"
	privateZone = networkIn + "privateDnsZones/hc.local"
)

func aRecord(address string) string {
	return `{"properties":{"TTL":60,"ARecords":[{"ipv4Address":"` + address + `"}]}}`
}

// Records by the rules of https://learn.microsoft.com/azure/dns/dns-zones-records.
func TestRecordsThatAzureRefuses(t *testing.T) {
	s := gateway(t)
	have(t, s, publicZone, `{"location":"global"}`, privateZone, `{"location":"global"}`, publicZone+"/A/www", aRecord("192.0.2.1"))
	cname := `{"properties":{"TTL":60,"CNAMERecord":{"cname":"www.example.com"}}}`
	aaaa := func(address string) string {
		return `{"properties":{"TTL":60,"AAAARecords":[{"ipv6Address":"` + address + `"}]}}`
	}
	play(t, s, step{put, publicZone + "/A/x", aRecord("192.0.2"), 400, "BadRequest"}, step{put, publicZone + "/A/x", aRecord("fd00::1"), 400, "BadRequest"},
		step{put, publicZone + "/A/x", aRecord(""), 400, "BadRequest"},
		step{put, publicZone + "/AAAA/x", aaaa("192.0.2.1"), 400, "BadRequest"}, step{put, publicZone + "/AAAA/x", aaaa("fe80::1%eth0"), 400, "BadRequest"},
		step{put, publicZone + "/AAAA/www", aaaa("fd00::1"), 201, ""},
		step{put, privateZone + "/A/x", `{"properties":{"ttl":60,"aRecords":[{"ipv4Address":"no"}]}}`, 400, "BadRequest"},
		step{put, publicZone + "/CNAME/www", cname, 409, "Conflict"}, step{put, publicZone + "/CNAME/WWW", cname, 409, "Conflict"},
		step{put, publicZone + "/CNAME/@", cname, 400, "BadRequest"},
		step{put, publicZone + "/CNAME/alias", cname, 201, ""}, step{put, publicZone + "/CNAME/alias", cname, 200, ""},
		step{put, publicZone + "/A/alias", aRecord("192.0.2.1"), 409, "Conflict"},
		step{put, publicZone + "/TXT/alias", `{"properties":{"TTL":60,"TXTRecords":[{"value":["x"]}]}}`, 409, "Conflict"},
		step{put, publicZone + "/TXT/www", `{"properties":{"TTL":60,"TXTRecords":[{"value":["x"]}]}}`, 201, ""},
		step{remove, publicZone + "/SOA/@", "", 400, "BadRequest"}, step{remove, publicZone + "/NS/@", "", 400, "BadRequest"},
		step{remove, privateZone + "/SOA/@", "", 400, "BadRequest"},
		step{put, publicZone + "/NS/sub", `{"properties":{"TTL":60,"NSRecords":[{"nsdname":"ns1.example.org."}]}}`, 201, ""},
		step{remove, publicZone + "/NS/sub", "", 200, ""}, // a delegation may go
		step{remove, publicZone + "/CNAME/alias", "", 200, ""}, step{put, publicZone + "/A/alias", aRecord("192.0.2.1"), 201, ""},
		step{put, networkIn + "dnsZones/none.com/A/www", aRecord("192.0.2.1"), 404, "ParentResourceNotFound"},
		step{get, publicZone + "/A/none", "", 404, "NotFound"})
}

func TestZones(t *testing.T) {
	s := gateway(t)
	for _, name := range []string{"com", "-a.com", "a-.com", "a..com", strings.Repeat("a", 64) + ".com"} {
		play(t, s, step{put, networkIn + "dnsZones/" + name, `{"location":"global"}`, 400, "BadRequest"})
	}
	play(t, s, step{put, networkIn + "dnsZones/" + strings.Repeat("a", 63) + ".com", `{"location":"global"}`, 201, ""})
	have(t, s, publicZone, `{"location":"global"}`, privateZone, `{"location":"global"}`)
	if d := shown(t, s, publicZone); len(wire.List(wire.Props(d), "nameServers")) != 4 || wire.Number(wire.Props(d), "numberOfRecordSets") != 2 ||
		d["location"] != "global" {
		t.Errorf("a new public zone: %v", d)
	}
	if d := shown(t, s, privateZone); wire.Number(wire.Props(d), "numberOfRecordSets") != 1 || wire.Number(wire.Props(d), "numberOfVirtualNetworkLinks") != 0 {
		t.Errorf("a new private zone: %v", d)
	}
	have(t, s, publicZone+"/A/www", aRecord("192.0.2.1"), publicZone+"/A/@", aRecord("192.0.2.2"), publicZone, `{"location":"global"}`)
	for record, name := range map[string]string{"/A/www": "www.example.com.", "/A/@": "example.com.", "/SOA/@": "example.com."} {
		if got := at(shown(t, s, publicZone+record), "properties.fqdn"); got != name {
			t.Errorf("%s is of %v, want %s", record, got, name)
		}
	}
	if p := wire.Props(shown(t, s, publicZone+"/A/www")); p["provisioningState"] != "Succeeded" || p["targetResource"] == nil {
		t.Errorf("a public record: %v", p)
	}
	have(t, s, privateZone+"/A/api", `{"properties":{"ttl":60,"aRecords":[{"ipv4Address":"10.0.0.9"}]}}`)
	if p := wire.Props(shown(t, s, privateZone+"/A/api")); p["provisioningState"] != nil || p["fqdn"] != "api.hc.local." {
		t.Errorf("a private record: %v", p)
	}
	play(t, s, step{remove, publicZone, "", 202, ""}, step{get, publicZone + "/A/www", "", 404, "ResourceNotFound"}) // its records go with it
}

// Links of private zones: https://learn.microsoft.com/azure/dns/private-dns-virtual-network-links.
func TestLinksOfPrivateZones(t *testing.T) {
	s := gateway(t)
	second := networkIn + "virtualNetworks/second"
	have(t, s, vnetID, vnetOf(), second, vnetOf(), privateZone, `{"location":"global"}`, networkIn+"privateDnsZones/other.local", `{"location":"global"}`,
		inSubscription+"/resourceGroups/rg2", `{"location":"westeurope"}`)
	twin := strings.Replace(privateZone, "/rg/", "/rg2/", 1)
	have(t, s, twin, `{"location":"global"}`)
	link := func(vnet string) string {
		return `{"location":"global","properties":{"virtualNetwork":{"id":"` + vnet + `"}}}`
	}
	play(t, s, step{put, privateZone + "/virtualNetworkLinks/l", link(networkIn + "virtualNetworks/none"), 400, "InvalidResourceReference"},
		step{put, privateZone + "/virtualNetworkLinks/l", link(vnetID), 201, ""}, step{put, privateZone + "/virtualNetworkLinks/l", link(vnetID), 200, ""},
		step{put, privateZone + "/virtualNetworkLinks/again", link(strings.ToUpper(vnetID)), 409, "Conflict"},
		step{put, twin + "/virtualNetworkLinks/l", link(vnetID), 400, "BadRequest"}, // two zones of one name
		step{put, twin + "/virtualNetworkLinks/l", link(second), 201, ""},
		step{put, networkIn + "privateDnsZones/other.local/virtualNetworkLinks/l", link(vnetID), 201, ""})
	if d := shown(t, s, privateZone+"/virtualNetworkLinks/l"); at(d, "properties.virtualNetworkLinkState") != "Completed" ||
		at(d, "properties.registrationEnabled") != false {
		t.Errorf("a link: %v", d)
	}
	play(t, s, step{remove, privateZone, "", 409, "CannotDeleteResource"}, step{remove, privateZone + "/virtualNetworkLinks/l", "", 202, ""},
		step{remove, privateZone, "", 202, ""},
		step{put, twin + "/virtualNetworkLinks/more", link(vnetID), 201, ""})
}
