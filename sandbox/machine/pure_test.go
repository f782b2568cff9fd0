package machine

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

func TestMetadata(t *testing.T) {
	m := feed.Machine{
		ID: "/subscriptions/s/resourceGroups/RG/providers/Microsoft.Compute/virtualMachines/w-1", Name: "w-1", ComputerName: "w-1", ResourceGroup: "RG", SubscriptionID: "s",
		Location: "eastus", Zone: "2", Size: "Standard_D4s_v5", VMID: "id", Tags: map[string]string{"b": "2", "a": "1"},
		NICs: []feed.NIC{{PrivateIP: "10.0.0.4", MAC: "00:0d:3a:00:00:04"}},
	}
	handler := metadataHandler(func(a string) (feed.Machine, feed.Subnet, bool) {
		return m, feed.Subnet{Prefix: "10.0.0.0/24"}, a == "10.0.0.4"
	})
	get := func(path, source string, header bool) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.RemoteAddr = source + ":1"
		if header {
			r.Header.Set("Metadata", "true")
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	for _, c := range []struct {
		path, source string
		header       bool
		code         int
		body         string
	}{
		{"/metadata/instance?api-version=2021-02-01", "10.0.0.4", false, 400, ""},
		{"/metadata/instance", "10.0.0.4", true, 400, ""},
		{"/metadata/instance?api-version=2021-02-01", "10.0.0.9", true, 404, ""},
		{"/metadata/loadbalancer?api-version=2021-02-01", "10.0.0.4", true, 404, ""},
		{"/metadata/instance/compute/zone?api-version=2021-02-01&format=text", "10.0.0.4", true, 200, "2"},
		{"/metadata/instance/compute/tags?api-version=2021-02-01&format=text", "10.0.0.4", true, 200, "a:1;b:2"},
		{"/metadata/instance/network/interface/0/macAddress?api-version=2021-02-01&format=text", "10.0.0.4", true, 200, "000D3A000004"},
		{"/metadata/instance/compute/nothing?api-version=2021-02-01&format=text", "10.0.0.4", true, 404, ""},
		{"/metadata/instance/compute/zone?api-version=2021-02-01", "10.0.0.4", true, 400, ""},
		{"/metadata/identity/oauth2/token?api-version=2018-02-01", "10.0.0.4", true, 400, ""},
	} {
		w := get(c.path, c.source, c.header)
		if w.Code != c.code || (c.body != "" && w.Body.String() != c.body) {
			t.Errorf("%s from %s: %d %s", c.path, c.source, w.Code, w.Body)
		}
	}
	var doc struct {
		Compute struct{ ResourceID, SubscriptionID, ResourceGroupName, VMSize, Location string }
		Network struct {
			Interface []struct {
				IPv4 struct {
					IPAddress []struct{ PrivateIPAddress string }
					Subnet    []struct{ Address, Prefix string }
				}
			}
		}
	}
	if err := json.Unmarshal(get("/metadata/instance?api-version=2021-02-01", "10.0.0.4", true).Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	nic := doc.Network.Interface[0].IPv4
	if doc.Compute.ResourceID != m.ID || doc.Compute.VMSize != m.Size || nic.IPAddress[0].PrivateIPAddress != "10.0.0.4" || nic.Subnet[0].Prefix != "24" {
		t.Errorf("%+v", doc)
	}
}

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
