package machine

import (
	"net"
	"testing"

	"github.com/vishvananda/netlink"
)

// TestGatewayKeepsItsAddress: machines remember the hardware address of their gateway, which stays whatever is plugged into its bridge.
func TestGatewayKeepsItsAddress(t *testing.T) {
	requireHost(t)
	cfg := Config{Prefix: "hst", Uplinks: testUplinks, FirstUplink: firstUplink, PublicIPs: testPublic}
	r, err := openRouter(cfg, network(netA), firstUplink)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.remove(); err != nil {
			t.Error(err)
		}
	})
	nl, err := r.ns.netlink()
	if err != nil {
		t.Fatal(err)
	}
	defer nl.Close()
	look := func(when string) {
		t.Helper()
		if bridge, err := nl.LinkByName(routerBridge); err != nil || bridge.Attrs().HardwareAddr.String() != gatewayMAC {
			t.Errorf("%s the bridge is %+v: %v; want the address %s", when, bridge, err, gatewayMAC)
		}
	}
	look("when it is new")
	bridge, err := nl.LinkByName(routerBridge)
	if err != nil {
		t.Fatal(err)
	}
	lower := netlink.NewLinkAttrs()
	lower.Name, lower.MasterIndex, lower.HardwareAddr = "lower", bridge.Attrs().Index, net.HardwareAddr{0x02, 0, 0, 0, 0, 1}
	port := &netlink.Veth{LinkAttrs: lower, PeerName: "other"}
	if err := nl.LinkAdd(port); err != nil {
		t.Fatal(err)
	}
	look("with a port of a lower address")
	if err := nl.LinkDel(port); err != nil {
		t.Fatal(err)
	}
	look("when that is gone")
}
