package machine

import (
	"flag"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it):\n%s", name, got)
	}
	if _, err := exec.LookPath("nft"); err != nil || os.Geteuid() != 0 {
		return // the golden file was checked where it was written
	}
	check := exec.Command("nft", "--check", "--file", "-")
	check.Stdin = strings.NewReader(got)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("nft does not accept %s: %s", name, out)
	}
}

func TestHostRules(t *testing.T) {
	cfg, err := Config{Dir: "/d"}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "host.nft", hostRules(cfg).String())
}

func TestRouterRules(t *testing.T) {
	rule := func(direction, access, protocol string, sources, destinations, ports []string) feed.SecurityRule {
		return feed.SecurityRule{
			Direction: direction, Access: access, Protocol: protocol, SourcePrefixes: sources, SourcePorts: []string{"*"}, DestinationPrefixes: destinations, DestinationPorts: ports,
		}
	}
	any := []string{"*"}
	n := feed.Network{Name: "n", Prefixes: []string{"10.0.0.0/16"}, Subnets: []feed.Subnet{
		{Name: "open", Prefix: "10.0.1.0/24"},
		{Name: "guarded", Prefix: "10.0.0.0/24", SecurityGroup: &feed.SecurityGroup{Rules: []feed.SecurityRule{
			rule("Inbound", "Deny", "*", []string{"203.0.113.0/24", "203.0.113.9", "fd00::/8"}, any, any),
			rule("Inbound", "Allow", "Tcp", []string{"Internet"}, []string{"198.18.16.9"}, []string{"80", "443", "8000-8100"}),
			rule("Inbound", "Allow", "*", []string{"VirtualNetwork", "10.0.0.0/24"}, []string{"VirtualNetwork"}, []string{"53"}),
			rule("Inbound", "Allow", "Icmp", any, any, any),
			rule("Inbound", "Allow", "Udp", []string{"AzureLoadBalancer"}, any, any),
			rule("Inbound", "Allow", "Tcp", []string{"Storage"}, any, any), // no address here has that tag
			rule("Outbound", "Allow", "Tcp", any, []string{"Storage.EastUS", "AzureCloud"}, []string{"443"}),
			rule("Outbound", "Deny", "*", any, []string{"Internet"}, any),
		}}, Routes: []feed.Route{{Prefix: "0.0.0.0/0", NextHop: "None"}}},
	}}
	nics := []feed.NIC{
		{PrivateIP: "10.0.1.4"}, // nothing guards it
		{PrivateIP: "10.0.1.5", SecurityGroup: &feed.SecurityGroup{Rules: []feed.SecurityRule{rule("Inbound", "Allow", "Tcp", []string{"Internet"}, any, []string{"22"}), rule("Outbound", "Deny", "Udp", any, any, any)}}},
		{PrivateIP: "10.0.0.4", SubnetID: "", MAC: "00:0d:3a:00:00:04"},
	}
	addr := netip.MustParseAddr
	own, shared := []netip.Addr{addr("198.18.16.30")}, []netip.Addr{addr("198.18.16.11"), addr("198.18.16.10")}
	ways := map[netip.Addr]way{
		addr("10.0.0.4"): {"tcp": shared, "udp": shared}, addr("10.0.0.5"): {"tcp": shared}, addr("10.0.1.4"): {"tcp": {azuresOwn}, "udp": {azuresOwn}},
		addr("10.0.1.5"): {"tcp": own, "udp": own, "icmp": own},
	}
	golden(t, "router.nft", routerRules(traffic{network: n, nics: nics, ways: ways, azure: []string{"198.18.0.1", "198.18.0.1", "198.18.0.2"}, public: "198.18.16.0/20", services: []service{
		{Frontend: addr("198.18.16.30"), Backends: []netip.Addr{addr("10.0.1.5")}},
		{Frontend: addr("198.18.16.9"), Protocol: "tcp", FrontendPort: 443, BackendPort: 443, FloatingIP: true, Backends: []netip.Addr{addr("10.0.0.4"), addr("10.0.0.5")}},
		{Frontend: addr("198.18.16.9"), Protocol: "tcp", FrontendPort: 80, BackendPort: 8080, Backends: []netip.Addr{addr("10.0.0.4")}},
		{Frontend: addr("198.18.16.9"), Protocol: "udp", FrontendPort: 53, BackendPort: 53, FloatingIP: true}, // nobody is healthy
		{Frontend: addr("10.0.0.200"), FloatingIP: true, Backends: []netip.Addr{addr("10.0.0.4")}},
	}}).String())
}

func TestBackendMark(t *testing.T) {
	if got := backendMark(netip.MustParseAddr("10.0.1.4")); got != 0x0a000104 {
		t.Errorf("%#x", got)
	}
}
