package machine

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// routeProtocol marks the routes that are the hypervisor's.
const routeProtocol = 198

// ensureEdge makes the host able to forward between uplinks and itself. The bridge is normally there already, made by the management cluster; the
// route of the public addresses leads to it so that host and pods have a way out: the Service proxy rewrites what it knows before the route
// matters, and what nobody answers fails.
func ensureEdge(cfg Config) error {
	if err := setSysctl("net/ipv4/ip_forward", "1"); err != nil {
		return fmt.Errorf("forwarding on the host: %w", err)
	}
	link, err := netlink.LinkByName(cfg.EdgeBridge)
	var missing netlink.LinkNotFoundError
	if errors.As(err, &missing) {
		bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: cfg.EdgeBridge}}
		if err := netlink.LinkAdd(bridge); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("bridge %s: %w", cfg.EdgeBridge, err)
		}
		if link, err = netlink.LinkByName(cfg.EdgeBridge); err == nil {
			err = addAddress(&netlink.Handle{}, link, cfg.EdgeAddress)
		}
	}
	if err != nil {
		return fmt.Errorf("bridge %s: %w", cfg.EdgeBridge, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("bridge %s: %w", cfg.EdgeBridge, err)
	}
	_, public, err := net.ParseCIDR(cfg.PublicIPs)
	if err != nil {
		return fmt.Errorf("public addresses: %w", err)
	}
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: public, Scope: netlink.SCOPE_LINK, Protocol: routeProtocol}
	if err := netlink.RouteReplace(route); err != nil {
		return fmt.Errorf("route of the public addresses: %w", err)
	}
	return nil
}

// routePublic makes the host send these frontends, and no others, to a router.
func (r *router) routePublic(frontends map[netip.Addr]bool) error {
	link, err := netlink.LinkByName(r.cfg.uplink(r.number))
	if err != nil {
		return err
	}
	routes, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{LinkIndex: link.Attrs().Index, Protocol: routeProtocol},
		netlink.RT_FILTER_OIF|netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return err
	}
	have := map[netip.Addr]bool{}
	for _, old := range routes {
		a, ok := netip.AddrFromSlice(old.Dst.IP.To4())
		if ok && frontends[a] {
			have[a] = true
			continue
		}
		if err := netlink.RouteDel(&old); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("route of %s: %w", old.Dst, err)
		}
	}
	for a := range frontends {
		if have[a] {
			continue
		}
		route := &netlink.Route{
			LinkIndex: link.Attrs().Index, Dst: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(32, 32)}, Gw: r.cfg.routerEnd(r.number).AsSlice(), Protocol: routeProtocol,
		}
		if err := netlink.RouteReplace(route); err != nil {
			return fmt.Errorf("route of %s: %w", a, err)
		}
	}
	return nil
}
