package dns

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/zones"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
)

const at = "/subscriptions/s/resourcegroups/rg/providers/microsoft.network/"

// records are those of a zone by type and name: "a/www".
type recordsOf map[string]store.Doc

func a(addresses ...string) store.Doc {
	list := []any{}
	for _, ip := range addresses {
		list = append(list, store.Doc{"ipv4Address": ip})
	}
	return store.Doc{"TTL": 60, "ARecords": list}
}

func cname(target string) store.Doc {
	return store.Doc{"TTL": 60, "CNAMERecord": store.Doc{"cname": target}}
}

// resolver knows a public zone example.com, a private one hc.local that a network is linked to, and an edge for the hosts of cloud.test.
func resolver(t *testing.T, public, private recordsOf) *Resolver {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	err = s.Update(func(tx *store.Tx) error {
		zone := func(typ, folder, name string, records recordsOf) {
			key := at + folder + "/" + name
			tx.Put(store.ARM, key, store.Doc{"type": typ, "name": name})
			tx.Put(store.ARM, key+"/soa/@", store.Doc{"type": typ + "/SOA", "name": "@",
				"properties": store.Doc{"TTL": 3600, "SOARecord": store.Doc{"host": "ns.", "email": "m."}}})
			for k, props := range records {
				kind, label, _ := strings.Cut(k, "/")
				tx.Put(store.ARM, key+"/"+k, store.Doc{"type": typ + "/" + strings.ToUpper(kind), "name": label, "properties": props})
			}
		}
		zone(zones.TypePublic, "dnszones", "example.com", public)
		zone(zones.TypePublic, "dnszones", "zone.example.com", recordsOf{"a/own": a("192.0.2.30")})
		zone(zones.TypePublic, "dnszones", "api.hc.local", recordsOf{"a/@": a("192.0.2.31")})
		zone(zones.TypePrivate, "privatednszones", "hc.local", private)
		tx.Put(store.ARM, at+"privatednszones/hc.local/virtualnetworklinks/linkname",
			store.Doc{"type": zones.TypeLink, "name": "linkname", "properties": store.Doc{"virtualNetwork": store.Doc{"id": "/VNET"}}})
		tx.Put(store.ARM, at+"publicipaddresses/pip",
			store.Doc{"type": "Microsoft.Network/publicIPAddresses",
				"properties": store.Doc{"ipAddress": "203.0.113.9", "dnsSettings": store.Doc{"fqdn": "Label.eastus.cloudapp.azure.com"}}})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return New(s, func(host string) bool { return strings.HasSuffix(host, ".cloud.test") }, netip.MustParseAddr("192.0.2.1"))
}

// ask answers the code, the values of the records in order, and how many there are in the authority.
func ask(r *Resolver, name string, qtype uint16, vnet string) string {
	got := r.lookup(dns.Question{Name: name, Qtype: qtype, Qclass: dns.ClassINET}, vnet)
	var values []string
	for _, rr := range got.records {
		values = append(values, strings.TrimPrefix(rr.String(), rr.Header().String()))
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", dns.RcodeToString[got.rcode], strings.Join(values, " ")))
}

// Wildcards as RFC 4592 has them, which Azure DNS follows: https://learn.microsoft.com/azure/dns/dns-zones-records#wildcard-records.
func TestNames(t *testing.T) {
	r := resolver(t, recordsOf{
		"a/@": a("192.0.2.10"), "a/www": a("192.0.2.11", "192.0.2.12"), "a/*": a("192.0.2.13"), "a/*.apps": a("192.0.2.14"),
		"a/deep.er.apps": a("192.0.2.15"), "mx/mail": {"TTL": 60},
		"txt/note":    {"TTL": 60, "TXTRecords": []any{store.Doc{"value": []any{"hello", "world"}}}},
		"cname/alias": cname("www.example.com"), "cname/far": cname("elsewhere.test."), "cname/one": cname("two.example.com"),
		"cname/two": cname("one.example.com"), "cname/*.wild": cname("www.example.com"),
		"aaaa/www": {"TTL": 60, "AAAARecords": []any{store.Doc{"ipv6Address": "2001:db8::1"}}},
		"ns/sub":   {"TTL": 60, "NSRecords": []any{store.Doc{"nsdname": "ns1.example.org"}}},
	}, nil)
	for question, want := range map[string]string{
		"A example.com.": "NOERROR 192.0.2.10", "A www.example.com.": "NOERROR 192.0.2.11 192.0.2.12",
		"A WWW.Example.COM.": "NOERROR 192.0.2.11 192.0.2.12", "AAAA www.example.com.": "NOERROR 2001:db8::1",
		"A any.example.com.": "NOERROR 192.0.2.13", "A a.b.example.com.": "NOERROR 192.0.2.13", "A x.apps.example.com.": "NOERROR 192.0.2.14",
		"A x.y.apps.example.com.": "NOERROR 192.0.2.14",
		"AAAA any.example.com.":   "NOERROR", "A apps.example.com.": "NOERROR", "A er.apps.example.com.": "NOERROR",
		"A deep.er.apps.example.com.": "NOERROR 192.0.2.15", "A x.er.apps.example.com.": "NXDOMAIN",
		"A mail.example.com.": "NOERROR", "A note.example.com.": "NOERROR", `TXT note.example.com.`: `NOERROR "hello" "world"`,
		"A alias.example.com.": "NOERROR www.example.com. 192.0.2.11 192.0.2.12", "CNAME alias.example.com.": "NOERROR www.example.com.",
		"A x.wild.example.com.": "NOERROR www.example.com. 192.0.2.11 192.0.2.12",
		"A far.example.com.":    "NOERROR elsewhere.test.", "A one.example.com.": "SERVFAIL" + strings.Repeat(" two.example.com. one.example.com.", maxChain/2),
		"NS sub.example.com.": "NOERROR ns1.example.org.", "A notexample.com.": "NXDOMAIN", "A com.": "NXDOMAIN",
		"A own.zone.example.com.": "NOERROR 192.0.2.30", "A www.zone.example.com.": "NXDOMAIN", // the zone with the longest name answers
		"A label.EASTUS.cloudapp.azure.com.": "NOERROR 203.0.113.9", "AAAA label.eastus.cloudapp.azure.com.": "NOERROR",
		"A x.cloud.test.": "NOERROR 192.0.2.1", "TXT x.cloud.test.": "NOERROR",
	} {
		typ, name, _ := strings.Cut(question, " ")
		if got := ask(r, name, dns.StringToType[typ], ""); got != want {
			t.Errorf("%s: %s, want %s", question, got, want)
		}
	}
	// What is not there is told by the zone, which says for how long.
	if got := r.lookup(dns.Question{Name: "any.example.com.", Qtype: dns.TypeTXT, Qclass: dns.ClassINET}, ""); len(got.authority) != 1 || !got.authoritative {
		t.Errorf("the authority of what is not there: %v", got.authority)
	}
}

// A private zone counts in the networks it is linked to: https://learn.microsoft.com/azure/dns/private-dns-privatednszone.
func TestPrivateZones(t *testing.T) {
	r := resolver(t, nil, recordsOf{"a/api": {"ttl": 60, "aRecords": []any{store.Doc{"ipv4Address": "10.0.0.9"}}},
		"a/*": {"ttl": 60, "aRecords": []any{store.Doc{"ipv4Address": "10.0.0.8"}}}})
	for _, c := range []struct{ name, vnet, want string }{
		{"api.hc.local.", "/vnet", "NOERROR 10.0.0.9"}, {"api.hc.local.", "/other", "NOERROR 192.0.2.31"}, {"api.hc.local.", "", "NOERROR 192.0.2.31"},
		{"www.hc.local.", "", "NOERROR 10.0.0.8"}, {"www.hc.local.", "/other", "NXDOMAIN"},
		{"linkname.hc.local.", "/vnet", "NOERROR 10.0.0.8"}, // the name of a link is none of the zone's
		{"www.example.com.", "/vnet", "NXDOMAIN"},
	} {
		if got := ask(r, c.name, dns.TypeA, c.vnet); got != c.want {
			t.Errorf("%s from %q: %s, want %s", c.name, c.vnet, got, c.want)
		}
	}
	if got := r.Addresses("www.hc.local"); !slices.Equal(got, []netip.Addr{netip.MustParseAddr("10.0.0.8")}) {
		t.Errorf("for the proxy: %v", got)
	}
	if got := r.Addresses("none.test"); len(got) != 0 {
		t.Errorf("for the proxy, what is not there: %v", got)
	}
}

func TestCandidates(t *testing.T) {
	for label, want := range map[string]string{"@": "@", "a": "a *", "a.b": "a.b *.b *", "a.b.c": "a.b.c *.b.c *.c *"} {
		if got := strings.Join(candidates(label), " "); got != want {
			t.Errorf("%s: %s, want %s", label, got, want)
		}
	}
}
