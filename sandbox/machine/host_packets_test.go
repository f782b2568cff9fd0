package machine

import (
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	"sigs.k8s.io/knftables"

	"github.com/hypershift-on-azure/hypershift/sandbox/nftable"
)

// TestHostRulesOnPackets: a host with two virtual networks and a world beside it. Machines reach what is published and the edge's
// endpoints; nobody reaches machines but by a published address.
func TestHostRulesOnPackets(t *testing.T) {
	b := newBedOfPlaces(t)
	host := b.place("host")
	must(t, host.do(routerSysctls))
	join := func(place, link, hostAddress, address string, more ...string) {
		other := b.place(place)
		must(t, b.netlink(host).LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: link}, PeerName: "eth0", PeerNamespace: netlink.NsFd(other.handle)}))
		b.address(host, link, hostAddress)
		b.address(other, "eth0", address)
		gateway, _, err := net.ParseCIDR(hostAddress)
		must(t, err)
		must(t, b.netlink(other).RouteReplace(&netlink.Route{Gw: gateway}))
		own, _, err := net.ParseCIDR(address)
		must(t, err)
		for _, published := range more {
			b.address(other, "lo", published+"/32")
			_, to, _ := net.ParseCIDR(published + "/32")
			must(t, b.netlink(host).RouteReplace(&netlink.Route{Dst: to, Gw: own}))
		}
		b.serve(place, other)
	}
	join("one", "hsu1", "198.19.1.1/30", "198.19.1.2/30", "198.18.16.9")
	join("two", "hsu2", "198.19.2.1/30", "198.19.2.2/30", "198.18.16.10")
	join("world", "eth0", "192.0.2.2/24", "192.0.2.3/24")
	b.address(host, "lo", testEdgeOfPackets+"/32")
	b.serve("host", host)
	cfg, err := Config{Dir: "/d", EdgeAllowed: []EdgeEndpoint{{netip.MustParseAddr(testEdgeOfPackets), "tcp", 80}}}.withDefaults()
	must(t, err)

	open := []string{
		"one > 198.18.0.1:80 = host:80 sees 198.19.1.2",
		"one 198.18.16.9 > 198.18.0.1:80 = host:80 sees 198.18.16.9",
		"one 198.18.16.9 > 198.18.16.10:22 = two:22 sees 198.18.16.9", // by the address that is published: its own rules are its router's
		"world > 198.18.16.9:80 = one:80 sees 198.19.1.1",             // others than the sandbox's are hidden, since no way leads back to them
		"host 198.18.0.1 > 198.18.16.9:80 = one:80 sees 198.18.0.1",
		"world > 192.0.2.2:22 = host:22 sees 192.0.2.3", // the host itself is not the table's
		"host > 192.0.2.3:80 = world:80 sees 192.0.2.2",
	}
	shut := []string{
		"one > 198.18.0.1:22", // no endpoint
		"one > 198.18.0.1:8080",
		"one > 192.0.2.2:80",
		"one > 198.19.1.1:80",
		"one > 192.0.2.3:80",
		"one > 198.19.2.2:80", // another network, past its published address
		"world > 198.19.1.2:80",
		"host > 198.19.1.2:80",
	}
	for _, connection := range shut {
		if got := b.get(split(connection)); got == "" {
			t.Errorf("without the table: %s has no answer, so that the test shows nothing", connection)
		}
	}
	load := func(t *nftable.Table) error {
		return host.do(func() error { return new(nftable.Loader).Replace(b.t.Context(), t) })
	}
	must(t, load(hostRules(cfg)))
	for _, connection := range append(open, shut...) {
		b.want("with the table", connection)
	}
	// Whatever translates before it: what counts is where a connection was first made to.
	translated := nftable.New(knftables.IPv4Family, "other")
	translated.Base("pre", hook(knftables.NATType, knftables.PreroutingHook, knftables.DNATPriority),
		"ip daddr 198.18.16.77 tcp dport 80 dnat to 192.0.2.3:8080", "ip daddr 192.0.2.77 tcp dport 80 dnat to 198.18.0.1:80")
	must(t, load(translated))
	b.want("a published address of a Service", "one > 198.18.16.77:80 = world:8080 sees 198.19.1.2")
	b.want("an endpoint of the edge by another address", "one > 192.0.2.77:80")
}

// newBedOfPlaces has no places yet.
func newBedOfPlaces(t *testing.T) *packetBed {
	t.Helper()
	needNamespaces(t)
	return &packetBed{t: t, places: map[string]*namespace{}}
}
