// Package dns answers from the zones of the embedded Azure, over the network and in process for the proxy.
package dns

import (
	"net/netip"
	"strings"

	"github.com/miekg/dns"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/zones"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// ttl of answers that have none of their own.
const ttl = 10

// maxChain bounds CNAME chains.
const maxChain = 8

// Resolver answers questions. Nothing outside the zones and the given hosts exists.
type Resolver struct {
	store *store.Store
	// edge tells whether a host is served at the edge address.
	edge     func(host string) bool
	edgeAddr netip.Addr // invalid: there is no edge
}

// New makes a resolver.
func New(s *store.Store, edge func(string) bool, edgeAddr netip.Addr) *Resolver {
	return &Resolver{store: s, edge: edge, edgeAddr: edgeAddr}
}

// answer to one question.
type answer struct {
	rcode         int
	records       []dns.RR
	authority     []dns.RR
	authoritative bool
}

// lookup resolves a question as seen from a VNet, "" for anywhere else.
func (r *Resolver) lookup(q dns.Question, vnet string) answer {
	out := answer{rcode: dns.RcodeNameError}
	name := strings.ToLower(dns.Fqdn(q.Name))
	r.store.View(func(tx *store.Tx) {
		view := zonesSeenBy(tx, vnet)
		for range maxChain {
			step := r.step(view, name, q.Qtype)
			out.records = append(out.records, step.records...)
			out.rcode, out.authority, out.authoritative = step.rcode, step.authority, step.authoritative
			cname := aliasOf(step.records, q.Qtype)
			if cname == "" {
				return
			}
			name = strings.ToLower(cname)
		}
		out.rcode = dns.RcodeServerFailure
	})
	if len(out.records) > 0 && out.rcode == dns.RcodeNameError {
		out.rcode = dns.RcodeSuccess // an alias that leads out of our zones
	}
	return out
}

func aliasOf(records []dns.RR, qtype uint16) string {
	if len(records) == 1 && qtype != dns.TypeCNAME {
		if c, ok := records[0].(*dns.CNAME); ok {
			return c.Target
		}
	}
	return ""
}

// step answers one name without following aliases.
func (r *Resolver) step(view *zoneView, name string, qtype uint16) answer {
	host := strings.TrimSuffix(name, ".")
	if r.edgeAddr.IsValid() && r.edge(host) {
		return addressAnswer(name, qtype, r.edgeAddr)
	}
	if ip, ok := view.labels[host]; ok {
		return addressAnswer(name, qtype, ip)
	}
	if z := view.zoneOf(host); z != nil {
		return z.answer(name, qtype)
	}
	return answer{rcode: dns.RcodeNameError}
}

func addressAnswer(name string, qtype uint16, ip netip.Addr) answer {
	out := answer{rcode: dns.RcodeSuccess, authoritative: true}
	if qtype == dns.TypeA && ip.Is4() {
		out.records = []dns.RR{&dns.A{Hdr: header(name, dns.TypeA, ttl), A: ip.AsSlice()}}
	}
	return out
}

func header(name string, rrtype uint16, seconds uint32) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: rrtype, Class: dns.ClassINET, Ttl: seconds}
}

// Addresses resolves a host for the proxy: from outside any VNet.
func (r *Resolver) Addresses(host string) []netip.Addr {
	var out []netip.Addr
	a := r.lookup(dns.Question{Name: dns.Fqdn(host), Qtype: dns.TypeA, Qclass: dns.ClassINET}, "")
	for _, rr := range a.records {
		if rec, ok := rr.(*dns.A); ok {
			if ip, ok := netip.AddrFromSlice(rec.A.To4()); ok {
				out = append(out, ip)
			}
		}
	}
	return out
}

// zoneView is what one client can see.
type zoneView struct {
	zones  []*zone // private ones first when the client is in a linked VNet, else last
	labels map[string]netip.Addr
}

// zonesSeenBy collects the zones. Clients that do not say where they are see private zones after the public ones.
func zonesSeenBy(tx *store.Tx, vnet string) *zoneView {
	v := &zoneView{labels: map[string]netip.Addr{}}
	var public, private []*zone
	for _, rec := range tx.Scan(store.ARM, "") {
		switch rec.Doc["type"] {
		case zones.TypePublic:
			public = append(public, &zone{tx: tx, key: rec.Key, name: strings.ToLower(wire.Text(rec.Doc, "name"))})
		case zones.TypePrivate:
			if vnet == "" || linked(tx, rec.Key, vnet) {
				private = append(private, &zone{tx: tx, key: rec.Key, name: strings.ToLower(wire.Text(rec.Doc, "name")), hides: vnet != ""})
			}
		default:
			p := wire.Props(rec.Doc)
			fqdn := wire.Text(wire.Sub(p, "dnsSettings"), "fqdn")
			if ip, err := netip.ParseAddr(wire.Text(p, "ipAddress")); err == nil && fqdn != "" {
				v.labels[strings.ToLower(fqdn)] = ip
			}
		}
	}
	if vnet == "" {
		v.zones = append(public, private...)
	} else {
		v.zones = append(private, public...)
	}
	return v
}

func linked(tx *store.Tx, zoneKey, vnet string) bool {
	for _, rec := range tx.Scan(store.ARM, zoneKey+"/") {
		if rec.Doc["type"] == zones.TypeLink && strings.EqualFold(wire.Ref(wire.Props(rec.Doc), "virtualNetwork"), vnet) {
			return true
		}
	}
	return false
}

// zoneOf finds the zone with the longest matching name, the first of equals. A zone that is linked to the client's network hides all public ones
// above and below it.
func (v *zoneView) zoneOf(host string) *zone {
	var best *zone
	for _, z := range v.zones {
		if host != z.name && !strings.HasSuffix(host, "."+z.name) || best != nil && best.hides && !z.hides {
			continue
		}
		if best == nil || len(z.name) > len(best.name) {
			best = z
		}
	}
	return best
}
