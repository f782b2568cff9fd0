package machine

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

func TestBalancing(t *testing.T) {
	backend := func(ip, network, machine string) feed.Backend {
		return feed.Backend{PrivateIP: ip, NetworkID: network, MachineID: machine}
	}
	snap := feed.Snapshot{
		Machines: []feed.Machine{{ID: "/vm/1", Running: true}, {ID: "/vm/2"}, {ID: "/vm/3", Running: true}, {ID: "/vm/host", Running: true, Host: true}},
		LoadBalancers: []feed.LoadBalancer{{
			Frontends: []feed.Frontend{{Name: "F", IP: "198.18.16.1", Public: true}, {Name: "inside", IP: "10.0.0.9"}, {Name: "host", IP: "198.18.16.2", Public: true}},
			Probes:    []feed.Probe{{Name: "p", Protocol: "Http", Port: 10256, Path: "/healthz"}},
			Rules: []feed.Rule{
				{Frontend: "f", Protocol: "Tcp", FrontendPort: 80, BackendPort: 80, FloatingIP: true, ProbeName: "P", Backends: []feed.Backend{
					backend("10.0.0.4", "/N/a", "/VM/1"), backend("10.0.0.5", "/n/a", "/vm/2"), backend("10.0.0.6", "/n/a", "/vm/3"), backend("10.0.0.4", "/n/b", "/vm/3")}},
				{Frontend: "inside", Protocol: "All", Backends: []feed.Backend{backend("10.0.0.4", "/n/a", "/vm/1")}},
				{Frontend: "host", Protocol: "Tcp", FrontendPort: 80, Backends: []feed.Backend{backend("198.18.0.1", "/n/mgmt", "/vm/host")}},
			},
		}},
	}
	b := balancingFor(snap, "/n/A")
	sick := netip.MustParseAddr("10.0.0.6")
	got := b.healthyServices("/n/A", func(k probeKey) bool { return k.Backend != sick && k.Path == "/healthz" })
	well := []netip.Addr{netip.MustParseAddr("10.0.0.4")}
	want := []service{
		{Frontend: netip.MustParseAddr("198.18.16.1"), Protocol: "tcp", FrontendPort: 80, BackendPort: 80, FloatingIP: true, Backends: well},
		{Frontend: netip.MustParseAddr("10.0.0.9"), FloatingIP: true, Backends: well},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("services %+v", got)
	}
	if len(b.public) != 1 || len(b.probes) != 2 {
		t.Errorf("public %v, probes %v", b.public, b.probes)
	}
	if left := balancingFor(snap, "/n/mgmt"); len(left.services) > 0 || len(left.public) > 0 {
		t.Errorf("the management node needs nothing: %+v", left)
	}
}

func TestInhabited(t *testing.T) {
	nic := func(n string) []feed.NIC { return []feed.NIC{{NetworkID: n}} }
	snap := feed.Snapshot{
		Networks: []feed.Network{{ID: "/n/a"}, {ID: "/n/empty"}, {ID: "/n/mgmt"}},
		Machines: []feed.Machine{{NICs: nic("/N/A")}, {NICs: nic("/n/mgmt"), Host: true}},
	}
	if got := inhabited(snap); len(got) != 1 || got[0].ID != "/n/a" || len(snap.Networks) != 3 {
		t.Errorf("%+v", got)
	}
}

func TestUplinks(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), FirstUplink: 254, Prefix: "hstx"}
	u, err := loadUplinks(cfg)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := u.number("/a")
	b, _ := u.number("/b")
	if _, err := u.number("/c"); err == nil {
		t.Error("more networks than numbers")
	}
	if err := u.keep(map[string]bool{"/b": true}); err != nil {
		t.Fatal(err)
	}
	u, err = loadUplinks(cfg)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := u.number("/b")
	c, err := u.number("/c")
	if err != nil || a != 254 || b != 255 || again != b || c != a {
		t.Error(a, b, again, c, err)
	}
}
