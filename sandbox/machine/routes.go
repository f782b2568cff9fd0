package machine

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

// Routing tables of subnets with a route table of their own have these numbers, which are also the marks of packets that machines there
// send. Marks of backends are addresses, and larger.
const (
	firstRouteMark = 0x100
	lastRouteMark  = 0xffff
)

// routeMark is the number of a subnet's routing table, by its place in the network.
func routeMark(subnet int) int { return firstRouteMark + subnet }

// routeMarks mark what the machines of a subnet with routes send. Azure routes by the interface that sends, whatever address is in the
// packet: an appliance passes on what others have sent.
func routeMarks(t traffic) []string {
	var out []string
	for i, s := range t.network.Subnets {
		var senders []string
		for _, nic := range t.nics {
			if mac, err := net.ParseMAC(nic.MAC); err == nil && strings.EqualFold(nic.SubnetID, s.ID) {
				senders = append(senders, mac.String())
			}
		}
		if len(s.Routes) > 0 && len(senders) > 0 {
			out = append(out, fmt.Sprintf("%smeta mark 0 ether saddr { %s } meta mark set 0x%08x", fromBridge, strings.Join(senders, ", "), routeMark(i)))
		}
	}
	return out
}

// hop is where a packet goes next: nowhere, to the machines of the network, to an appliance, or out.
type hop struct {
	out, drop bool
	appliance netip.Addr
}

// hopsOf are the routes of a subnet: those of its route table over those that Azure has for every network.
func hopsOf(t traffic, s feed.Subnet) map[netip.Prefix]hop {
	out := map[netip.Prefix]hop{netip.MustParsePrefix("0.0.0.0/0"): {out: true}}
	for _, p := range t.network.Prefixes {
		if prefix, err := netip.ParsePrefix(p); err == nil && prefix.Addr().Is4() {
			out[prefix.Masked()] = hop{}
		}
	}
	for _, r := range s.Routes {
		prefix, err := netip.ParsePrefix(r.Prefix)
		if err != nil || !prefix.Addr().Is4() {
			continue
		}
		h := hop{drop: true}
		switch strings.ToLower(r.NextHop) {
		case "internet":
			h = hop{out: true}
		case "vnetlocal":
			h = hop{}
		case "virtualappliance":
			if a, err := netip.ParseAddr(r.Address); err == nil && t.forwards(a) {
				h = hop{appliance: a}
			}
		}
		out[prefix.Masked()] = h
	}
	return out
}

// forwards tells whether an address is in the network and of no machine that takes only what is for itself.
func (t traffic) forwards(a netip.Addr) bool {
	for _, nic := range t.nics {
		if nic.PrivateIP == a.String() {
			return nic.Forwards
		}
	}
	return false
}

// route brings the routing tables of subnets with routes of their own up to date.
func (r *router) route(nl *netlink.Handle, bridge netlink.Link, t traffic) error {
	uplink, err := nl.LinkByName(routerUplink)
	if err != nil {
		return err
	}
	for i, s := range t.network.Subnets {
		if i > lastRouteMark-firstRouteMark {
			return fmt.Errorf("network %s: no more than %d subnets can have routes", t.network.Name, i)
		}
		table, want := routeMark(i), map[netip.Prefix]hop{}
		if len(s.Routes) > 0 {
			want = hopsOf(t, s)
			rule := netlink.NewRule()
			rule.Mark, rule.Table, rule.Priority, rule.Family = uint32(table), table, 90, netlink.FAMILY_V4
			if err := nl.RuleAdd(rule); err != nil && !isThere(err) {
				return fmt.Errorf("rule for subnet %s: %w", s.Name, err)
			}
		}
		for prefix, h := range want {
			if err := nl.RouteReplace(h.route(table, prefix, bridge, uplink, r.cfg.hostEnd(r.number))); err != nil {
				return fmt.Errorf("route of subnet %s to %s: %w", s.Name, prefix, err)
			}
		}
		if err := forget(nl, table, want); err != nil {
			return fmt.Errorf("routes of subnet %s: %w", s.Name, err)
		}
	}
	return nil
}

func (h hop) route(table int, prefix netip.Prefix, bridge, uplink netlink.Link, host netip.Addr) *netlink.Route {
	out := &netlink.Route{Table: table, Dst: &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), 32)}}
	switch {
	case h.drop:
		out.Type = unix.RTN_BLACKHOLE
	case h.out:
		out.LinkIndex, out.Gw = uplink.Attrs().Index, host.AsSlice()
	case h.appliance.IsValid():
		out.LinkIndex, out.Gw, out.Flags = bridge.Attrs().Index, h.appliance.AsSlice(), int(netlink.FLAG_ONLINK)
	default:
		out.LinkIndex, out.Scope = bridge.Attrs().Index, netlink.SCOPE_LINK
	}
	return out
}

// forget removes the routes of a table that are not wanted.
func forget(nl *netlink.Handle, table int, want map[netip.Prefix]hop) error {
	have, err := nl.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Table: table}, netlink.RT_FILTER_TABLE)
	if err != nil {
		return err
	}
	for _, old := range have {
		prefix := netip.MustParsePrefix("0.0.0.0/0")
		if old.Dst != nil {
			bits, _ := old.Dst.Mask.Size()
			a, _ := netip.AddrFromSlice(old.Dst.IP.To4())
			prefix = netip.PrefixFrom(a, bits)
		}
		if _, wanted := want[prefix]; wanted {
			continue
		}
		if err := nl.RouteDel(&old); err != nil && !isGone(err) {
			return err
		}
	}
	return nil
}
