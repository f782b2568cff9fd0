package dns

import (
	"net/netip"
	"strings"

	"github.com/miekg/dns"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/zones"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// zone is a DNS zone and its record sets.
type zone struct {
	tx        *store.Tx
	key, name string
	hides     bool // all public zones, from a client in a network that it is linked to
}

// answer looks for the exact name, then for wildcards from the closest parent up, as RFC 4592 says.
func (z *zone) answer(name string, qtype uint16) answer {
	host := strings.TrimSuffix(name, ".")
	label := strings.TrimSuffix(strings.TrimSuffix(host, z.name), ".")
	if label == "" {
		label = "@"
	}
	out := answer{authoritative: true}
	for _, candidate := range candidates(label) {
		sets := z.sets(candidate)
		if len(sets) == 0 {
			if z.exists(strings.TrimPrefix(candidate, "*.")) {
				break // the name itself, or its closest encloser, exists: no wildcard further up applies
			}
			continue
		}
		out.records = z.render(sets, name, qtype)
		if len(out.records) == 0 {
			out.authority = z.soa()
		}
		return out
	}
	out.authority = z.soa()
	if !z.exists(label) {
		out.rcode = dns.RcodeNameError
	}
	return out
}

// candidates of "a.b": "a.b", "*.b", "*".
func candidates(label string) []string {
	out := []string{label}
	if label == "@" {
		return out
	}
	for rest := label; rest != ""; {
		_, after, more := strings.Cut(rest, ".")
		if !more {
			return append(out, "*")
		}
		out = append(out, "*."+after)
		rest = after
	}
	return out
}

// sets returns the record sets of a label by lower-cased type.
func (z *zone) sets(label string) map[string]store.Doc {
	out := map[string]store.Doc{}
	for _, t := range []string{"a", "aaaa", "cname", "txt", "ns", "soa"} {
		if d := z.tx.Get(store.ARM, z.key+"/"+t+"/"+label); d != nil {
			out[t] = d
		}
	}
	return out
}

// exists tells whether a label, or one beneath it, has records.
func (z *zone) exists(label string) bool {
	if label == "@" || label == "*" {
		return true
	}
	for _, rec := range z.tx.Scan(store.ARM, z.key+"/") {
		name := strings.ToLower(wire.Text(rec.Doc, "name"))
		if !zones.IsRecord(wire.Text(rec.Doc, "type")) {
			continue
		}
		if name == label || strings.HasSuffix(name, "."+label) {
			return true
		}
	}
	return false
}

func (z *zone) render(sets map[string]store.Doc, name string, qtype uint16) []dns.RR {
	if d := sets["cname"]; d != nil {
		return records(d, name, dns.TypeCNAME)
	}
	for t, number := range map[string]uint16{"a": dns.TypeA, "aaaa": dns.TypeAAAA, "txt": dns.TypeTXT, "ns": dns.TypeNS, "soa": dns.TypeSOA} {
		if d := sets[t]; d != nil && number == qtype {
			return records(d, name, number)
		}
	}
	return nil
}

func (z *zone) soa() []dns.RR {
	if d := z.tx.Get(store.ARM, z.key+"/soa/@"); d != nil {
		return records(d, z.name+".", dns.TypeSOA)
	}
	return nil
}

// records reads a record set. API versions spell its members differently: ARecords and aRecords, TTL and ttl.
func records(d store.Doc, name string, rrtype uint16) []dns.RR {
	p := store.Doc{}
	for k, v := range wire.Props(d) {
		p[strings.ToLower(k)] = v
	}
	seconds := uint32(wire.Number(p, "ttl"))
	h := header(name, rrtype, seconds)
	var out []dns.RR
	switch rrtype {
	case dns.TypeA:
		for _, e := range wire.Docs(p, "arecords") {
			if ip, err := netip.ParseAddr(wire.Text(e, "ipv4Address")); err == nil {
				out = append(out, &dns.A{Hdr: h, A: ip.AsSlice()})
			}
		}
	case dns.TypeAAAA:
		for _, e := range wire.Docs(p, "aaaarecords") {
			if ip, err := netip.ParseAddr(wire.Text(e, "ipv6Address")); err == nil {
				out = append(out, &dns.AAAA{Hdr: h, AAAA: ip.AsSlice()})
			}
		}
	case dns.TypeTXT:
		for _, e := range wire.Docs(p, "txtrecords") {
			out = append(out, &dns.TXT{Hdr: h, Txt: wire.Texts(e, "value")})
		}
	case dns.TypeNS:
		for _, e := range wire.Docs(p, "nsrecords") {
			out = append(out, &dns.NS{Hdr: h, Ns: dns.Fqdn(wire.Text(e, "nsdname"))})
		}
	case dns.TypeCNAME:
		if target := wire.Text(wire.Sub(p, "cnamerecord"), "cname"); target != "" {
			out = append(out, &dns.CNAME{Hdr: h, Target: dns.Fqdn(target)})
		}
	case dns.TypeSOA:
		e := wire.Sub(p, "soarecord")
		out = append(out, &dns.SOA{Hdr: h, Ns: dns.Fqdn(wire.Text(e, "host")), Mbox: dns.Fqdn(wire.Text(e, "email")),
			Serial: 1, Refresh: 3600, Retry: 300, Expire: 2419200, Minttl: ttl})
	}
	return out
}
