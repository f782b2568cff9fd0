package machine

import (
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

func drawPrefix(r *rapid.T) string {
	a := netip.AddrFrom4([4]byte{10, byte(rapid.IntRange(0, 1).Draw(r, "second")), byte(rapid.IntRange(0, 3).Draw(r, "third")), byte(rapid.IntRange(0, 3).Draw(r, "fourth"))})
	if bits := rapid.IntRange(7, 33).Draw(r, "bits"); bits < 33 {
		return netip.PrefixFrom(a, bits).String()
	}
	return a.String()
}

func contains(set []string, a netip.Addr) bool {
	for _, s := range set {
		if p, err := netip.ParsePrefix(s); err == nil && p.Contains(a) || s == a.String() {
			return true
		}
	}
	return false
}

// A set must cover what it was made of, nothing else, and nothing twice.
func TestDisjoint(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		given := rapid.SliceOfN(rapid.Custom(drawPrefix), 0, 6).Draw(r, "prefixes")
		got := disjoint(given)
		for i, x := range got {
			for _, y := range got[i+1:] {
				if netip.MustParsePrefix(x).Overlaps(netip.MustParsePrefix(y)) {
					r.Fatalf("%v overlap in %v", []string{x, y}, got)
				}
			}
		}
		for range 20 {
			a := netip.MustParseAddr(strings.Split(drawPrefix(r), "/")[0])
			if contains(got, a) != contains(given, a) {
				r.Fatalf("%v became %v, which differs at %s", given, got, a)
			}
		}
	})
}

// One security group must not cost a network all of its rules: nft takes or refuses the table as a whole.
func TestEveryNetworkHasRules(t *testing.T) {
	if _, err := exec.LookPath("nft"); err != nil || os.Geteuid() != 0 {
		t.Skip("skipped: nft checks rules only for root, and has to be installed")
	}
	prefixes := rapid.OneOf(rapid.Custom(drawPrefix), rapid.SampledFrom([]string{"*", "Internet", "VirtualNetwork", "AzureLoadBalancer", "Storage", "AzureCloud.EastUS", "Sql", "fd00::/8", "0.0.0.0/0"}))
	ports := rapid.SampledFrom([]string{"*", "80", "80-90", "85", "0-65535"})
	rule := rapid.Custom(func(r *rapid.T) feed.SecurityRule {
		return feed.SecurityRule{
			Direction: rapid.SampledFrom([]string{"Inbound", "Outbound"}).Draw(r, "direction"), Access: rapid.SampledFrom([]string{"Allow", "Deny"}).Draw(r, "access"),
			Protocol:       rapid.SampledFrom([]string{"*", "Tcp", "Udp", "Icmp", "Esp", "Ah"}).Draw(r, "protocol"),
			SourcePrefixes: rapid.SliceOfN(prefixes, 1, 4).Draw(r, "sources"), DestinationPrefixes: rapid.SliceOfN(prefixes, 1, 4).Draw(r, "destinations"),
			SourcePorts: rapid.SliceOfN(ports, 1, 2).Draw(r, "source ports"), DestinationPorts: rapid.SliceOfN(ports, 1, 3).Draw(r, "destination ports"),
		}
	})
	rapid.Check(t, func(r *rapid.T) {
		n := feed.Network{Prefixes: append([]string{"10.0.0.0/7"}, rapid.SliceOfN(prefixesOnly(), 0, 3).Draw(r, "more prefixes")...)}
		for range rapid.IntRange(1, 3).Draw(r, "subnets") {
			n.Subnets = append(n.Subnets, feed.Subnet{Prefix: rapid.SampledFrom([]string{"10.0.0.0/24", "10.0.1.0/31", "10.0.0.0/8", "fd00::/64", "10.0.2.7/32"}).Draw(r, "subnet"),
				SecurityGroup: &feed.SecurityGroup{Rules: rapid.SliceOfN(rule, 1, 8).Draw(r, "rules")}})
		}
		a, b := netip.MustParseAddr("10.0.0.4"), netip.MustParseAddr("10.0.0.5")
		nics := []feed.NIC{{PrivateIP: a.String(), MAC: "00:0d:3a:00:00:04", SecurityGroup: &feed.SecurityGroup{Rules: rapid.SliceOfN(rule, 0, 4).Draw(r, "rules of an interface")}}, {PrivateIP: b.String()}, {PrivateIP: "fd00::4"}, {}}
		addresses := rapid.SliceOfNDistinct(rapid.SampledFrom([]netip.Addr{a, b, azuresOwn}), 1, 2, rapid.ID[netip.Addr])
		ways := map[netip.Addr]way{}
		for _, machine := range []netip.Addr{a, b} {
			ways[machine] = rapid.MapOf(rapid.SampledFrom([]string{protocolTCP, protocolUDP, protocolICMP}), addresses).Draw(r, "ways")
			for protocol, by := range ways[machine] {
				if slices.Contains(by, azuresOwn) { // it is never one of several
					ways[machine][protocol] = []netip.Addr{azuresOwn}
				}
			}
		}
		rules := routerRules(traffic{network: n, nics: nics, ways: ways, azure: []string{"198.18.0.1"}, public: "198.18.16.0/20", services: []service{
			{Frontend: b, Protocol: "tcp", FrontendPort: 80, BackendPort: 8080, Backends: []netip.Addr{a}}, {Frontend: b, FloatingIP: true, Backends: []netip.Addr{a, b}}, {Frontend: b, Backends: []netip.Addr{a}}}}).String()
		check := exec.CommandContext(t.Context(), "nft", "--check", "--file", "-")
		check.Stdin = strings.NewReader(rules)
		if out, err := check.CombinedOutput(); err != nil {
			r.Fatalf("nft does not accept the rules: %s\n%s", out, rules)
		}
	})
}

func prefixesOnly() *rapid.Generator[string] {
	return rapid.OneOf(rapid.Map(rapid.Custom(drawPrefix), func(s string) string {
		address, _, _ := strings.Cut(s, "/")
		return address + "/24"
	}), rapid.Just("fd00::/48"))
}
