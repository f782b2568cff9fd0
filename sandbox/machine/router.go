package machine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/nftable"
)

// router is the network namespace of a VNet.
type router struct {
	cfg     Config
	number  int // of its uplink
	ns      *namespace
	found   bool // made by an earlier run
	network feed.Network
	rules   nftable.Loader
	serving []io.Closer
	steered map[netip.Addr]bool // backends that have a rule and a routing table
	proxied map[netip.Addr]bool // private frontends that the router answers ARP for
}

// short is a name of 8 digits for a resource id; ids are case-insensitive.
func short(id string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(id)))
	return hex.EncodeToString(sum[:4])
}

func (c Config) namespaceName(networkID string) string { return c.Prefix + "-" + short(networkID) }

// openRouter makes the namespace of a VNet with its bridge and uplink, or opens the one that is there.
func openRouter(cfg Config, n feed.Network, number int) (*router, error) {
	ns, found, err := openNamespace(cfg.namespaceName(n.ID))
	if err != nil {
		return nil, err
	}
	r := &router{cfg: cfg, number: number, ns: ns, found: found, network: n, steered: map[netip.Addr]bool{}, proxied: map[netip.Addr]bool{}}
	if err := r.connect(); err != nil {
		ns.close()
		return nil, fmt.Errorf("router of %s: %w", n.Name, err)
	}
	return r, nil
}

func (r *router) connect() error {
	nl, err := r.ns.netlink()
	if err != nil {
		return err
	}
	defer nl.Close()
	if err := r.ns.do(routerSysctls); err != nil {
		return err
	}
	lo, err := nl.LinkByName("lo")
	if err != nil {
		return err
	}
	for _, a := range []string{metadataAddress, azureAddress} {
		if err := addAddress(nl, lo, a+"/32"); err != nil {
			return err
		}
	}
	if err := ensureBridge(nl); err != nil {
		return fmt.Errorf("bridge: %w", err)
	}
	if err := r.ensureUplink(nl); err != nil {
		return fmt.Errorf("uplink: %w", err)
	}
	for _, name := range []string{"lo", routerBridge, routerUplink} {
		if err := linkUp(nl, name); err != nil {
			return err
		}
	}
	if err := r.ns.do(bridgeSysctls); err != nil {
		return err
	}
	return nl.RouteReplace(&netlink.Route{Gw: r.cfg.hostEnd(r.number).AsSlice()})
}

// gatewayMAC is what machines see in Azure as the hardware address of every other address.
const gatewayMAC = "12:34:56:78:9a:bc"

// ensureBridge gives the bridge a fixed hardware address. Otherwise it takes that of a port, which changes as machines come and go, and
// machines go on sending to the former.
func ensureBridge(nl *netlink.Handle) error {
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: routerBridge}}
	if err := nl.LinkAdd(bridge); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	found, err := nl.LinkByName(routerBridge)
	if err != nil {
		return err
	}
	mac, err := net.ParseMAC(gatewayMAC)
	if err != nil {
		return err
	}
	return nl.LinkSetHardwareAddr(found, mac)
}

func routerSysctls() error {
	for name, value := range map[string]string{
		"net/ipv4/ip_forward": "1", "net/ipv4/conf/all/rp_filter": "0", "net/ipv4/conf/default/rp_filter": "0",
		"net/ipv4/conf/all/send_redirects": "0", "net/ipv4/conf/default/send_redirects": "0", "net/ipv6/conf/all/disable_ipv6": "1",
	} {
		if err := setSysctl(name, value); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
	}
	return nil
}

// bridgeSysctls: the bridge sees frontends as source addresses, and answers at once for every address, as Azure does: machines of one subnet meet
// in the router, which has their security rules. What a machine sends is the router's to filter and not the bridge's, which would pass on what is
// translated to an address of the same subnet from port to port, where nothing passes.
func bridgeSysctls() error {
	for name, value := range map[string]string{
		"net/ipv4/conf/" + routerBridge + "/rp_filter": "0", "net/ipv4/conf/" + routerBridge + "/proxy_arp_pvlan": "1",
		"net/ipv4/neigh/" + routerBridge + "/proxy_delay": "0", "net/bridge/bridge-nf-call-iptables": "0",
	} {
		if err := setSysctl(name, value); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
	}
	return nil
}

// ensureUplink makes the link pair between router and host. A pair whose other end is gone goes with it, so one look is enough.
func (r *router) ensureUplink(nl *netlink.Handle) error {
	name := r.cfg.uplink(r.number)
	if _, err := nl.LinkByName(routerUplink); err != nil {
		if old, err := netlink.LinkByName(name); err == nil {
			if err := netlink.LinkDel(old); err != nil {
				return err
			}
		}
		veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: routerUplink, PeerNamespace: netlink.NsFd(r.ns.handle)}
		if err := netlink.LinkAdd(veth); err != nil {
			return err
		}
	}
	inner, err := nl.LinkByName(routerUplink)
	if err != nil {
		return err
	}
	if err := addAddress(nl, inner, r.cfg.routerEnd(r.number).String()+"/30"); err != nil {
		return err
	}
	outer, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	host := &netlink.Handle{}
	if err := addAddress(host, outer, r.cfg.hostEnd(r.number).String()+"/30"); err != nil {
		return err
	}
	if err := setSysctl("net/ipv4/conf/"+name+"/rp_filter", "0"); err != nil {
		return err
	}
	return netlink.LinkSetUp(outer)
}

func addAddress(nl *netlink.Handle, link netlink.Link, cidr string) error {
	addr, err := netlink.ParseAddr(cidr)
	if err != nil {
		return err
	}
	if err := nl.AddrReplace(link, addr); err != nil {
		return fmt.Errorf("address %s on %s: %w", cidr, link.Attrs().Name, err)
	}
	return nil
}

func linkUp(nl *netlink.Handle, name string) error {
	link, err := nl.LinkByName(name)
	if err != nil {
		return fmt.Errorf("link %s: %w", name, err)
	}
	return nl.LinkSetUp(link)
}

// update brings gateways, security rules and load balancing of the network up to date.
func (r *router) update(t traffic) error {
	n, services := t.network, t.services
	r.network = n
	nl, err := r.ns.netlink()
	if err != nil {
		return err
	}
	defer nl.Close()
	bridge, err := nl.LinkByName(routerBridge)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range n.Subnets {
		prefix, err := netip.ParsePrefix(s.Prefix)
		if err != nil {
			errs = append(errs, fmt.Errorf("subnet %s: %w", s.Name, err))
			continue
		}
		errs = append(errs, addAddress(nl, bridge, netip.PrefixFrom(gateway(prefix), prefix.Bits()).String()))
	}
	errs = append(errs, r.steer(nl, bridge, services), r.answerARP(nl, bridge, services), r.route(nl, bridge, t))
	errs = append(errs, r.ns.do(func() error { return r.rules.Replace(context.Background(), routerRules(t)) }))
	return errors.Join(errs...)
}

// gateway is the first address of a subnet, as in Azure.
func gateway(subnet netip.Prefix) netip.Addr { return subnet.Masked().Addr().Next() }

// steer makes a routing table for each backend of a floating address: marked packets go to the machine unchanged.
func (r *router) steer(nl *netlink.Handle, bridge netlink.Link, services []service) error {
	want := map[netip.Addr]bool{}
	for _, s := range services {
		for _, b := range s.Backends {
			if s.FloatingIP {
				want[b] = true
			}
		}
	}
	for b := range want {
		if r.steered[b] {
			continue
		}
		table := int(backendMark(b))
		route := &netlink.Route{Table: table, LinkIndex: bridge.Attrs().Index, Gw: net.IP(b.AsSlice()), Flags: int(netlink.FLAG_ONLINK)}
		if err := nl.RouteReplace(route); err != nil {
			return fmt.Errorf("route to backend %s: %w", b, err)
		}
		rule := netlink.NewRule()
		rule.Mark, rule.Table, rule.Priority, rule.Family = backendMark(b), table, 100, netlink.FAMILY_V4
		if err := nl.RuleAdd(rule); err != nil && !isThere(err) {
			return fmt.Errorf("rule for backend %s: %w", b, err)
		}
		r.steered[b] = true
	}
	// an unused rule is harmless: nothing carries its mark
	return nil
}

// answerARP makes the router answer for private frontends, which no machine has.
func (r *router) answerARP(nl *netlink.Handle, bridge netlink.Link, services []service) error {
	want := map[netip.Addr]bool{}
	for _, s := range services {
		if slices.ContainsFunc(r.network.Prefixes, func(p string) bool {
			prefix, err := netip.ParsePrefix(p)
			return err == nil && prefix.Contains(s.Frontend)
		}) {
			want[s.Frontend] = true
		}
	}
	entry := func(a netip.Addr) *netlink.Neigh {
		return &netlink.Neigh{LinkIndex: bridge.Attrs().Index, Family: netlink.FAMILY_V4, Flags: netlink.NTF_PROXY, IP: a.AsSlice()}
	}
	for a := range want {
		if err := nl.NeighSet(entry(a)); err != nil {
			return fmt.Errorf("answering for %s: %w", a, err)
		}
	}
	for a := range r.proxied {
		if !want[a] {
			if err := nl.NeighDel(entry(a)); err != nil && !errors.Is(err, unix.ENOENT) {
				return err
			}
		}
	}
	r.proxied = want
	return nil
}

// close ends what the hypervisor serves in the namespace and leaves the namespace.
func (r *router) close() {
	for _, c := range r.serving {
		c.Close()
	}
	r.ns.close()
}

// remove takes the whole network away.
func (r *router) remove() error {
	r.close()
	return errors.Join(deleteLink(r.cfg.uplink(r.number)), deleteNamespace(r.ns.name))
}

func isThere(err error) bool { return errors.Is(err, unix.EEXIST) }
func isGone(err error) bool  { return errors.Is(err, unix.ESRCH) }

func deleteLink(name string) error {
	link, err := netlink.LinkByName(name)
	var missing netlink.LinkNotFoundError
	if errors.As(err, &missing) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := netlink.LinkDel(link); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("deleting link %s: %w", name, err)
	}
	return nil
}
