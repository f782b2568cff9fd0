package machine

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/knftables"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/nftable"
)

// azuresOwn stands for an address that is no resource of the user's: what default outbound access translates to.
var azuresOwn = netip.Addr{}

// way is how a machine's connections leave its network: by which addresses, for each protocol. A protocol without addresses has no way.
type way map[string][]netip.Addr

const (
	protocolTCP  = "tcp"
	protocolUDP  = "udp"
	protocolICMP = "icmp"
)

// waysOut decides as Azure does (https://learn.microsoft.com/azure/virtual-network/ip-services/default-outbound-access and
// https://learn.microsoft.com/azure/load-balancer/load-balancer-outbound-connections#scenarios): a NAT gateway of the subnet comes before the
// machine's own public address, that before the outbound rules of its load balancers and these before their other rules. Only a machine
// that is in no pool may have default outbound access.
func waysOut(snap feed.Snapshot, n feed.Network) map[netip.Addr]way {
	rules, others, pooled := balancedWays(snap, n.ID)
	out := map[netip.Addr]way{}
	for _, nic := range nicsOf(snap, n.ID) {
		address, err := netip.ParseAddr(nic.PrivateIP)
		if err != nil {
			continue
		}
		subnet := subnetOf(n, nic.SubnetID)
		switch {
		case subnet.NATGateway != nil:
			out[address] = wayBy(parsed(subnet.NATGateway.PublicIPs...), protocolTCP, protocolUDP)
		case nic.PublicIP != "":
			out[address] = wayBy(parsed(nic.PublicIP), protocolTCP, protocolUDP, protocolICMP)
		case len(rules[address]) > 0:
			out[address] = rules[address]
		case len(others[address]) > 0:
			out[address] = others[address]
		case subnet.Outbound && !pooled[address]:
			out[address] = wayBy([]netip.Addr{azuresOwn}, protocolTCP, protocolUDP)
		}
	}
	return out
}

// balancedWays are those that load balancers give to the members of their pools, and who is in any pool.
func balancedWays(snap feed.Snapshot, networkID string) (rules, others map[netip.Addr]way, pooled map[netip.Addr]bool) {
	rules, others, pooled = map[netip.Addr]way{}, map[netip.Addr]way{}, map[netip.Addr]bool{}
	for _, lb := range snap.LoadBalancers {
		members := map[string][]netip.Addr{}
		for _, p := range lb.Pools {
			for _, a := range membersIn(p.Backends, networkID) {
				members[strings.ToLower(p.Name)] = append(members[strings.ToLower(p.Name)], a)
				pooled[a] = true
			}
		}
		for _, r := range lb.OutboundRules {
			for _, frontend := range r.Frontends {
				give(rules, members[strings.ToLower(r.Pool)], publicFrontends(lb, frontend), r.Protocol)
			}
		}
		for _, r := range lb.Rules {
			if r.SNAT {
				give(others, members[strings.ToLower(r.Pool)], publicFrontends(lb, r.Frontend), r.Protocol)
			}
		}
	}
	return rules, others, pooled
}

func give(ways map[netip.Addr]way, members, addresses []netip.Addr, protocol string) {
	protocols := []string{protocolTCP, protocolUDP}
	if p := protocolOf(protocol); p != "" {
		protocols = []string{p}
	}
	for _, m := range members {
		if ways[m] == nil && len(addresses) > 0 {
			ways[m] = way{}
		}
		for _, p := range protocols {
			for _, a := range addresses {
				if !slices.Contains(ways[m][p], a) {
					ways[m][p] = append(ways[m][p], a)
				}
			}
		}
	}
}

func wayBy(addresses []netip.Addr, protocols ...string) way {
	out := way{}
	for _, p := range protocols {
		if len(addresses) > 0 {
			out[p] = addresses
		}
	}
	return out
}

func publicFrontends(lb feed.LoadBalancer, name string) []netip.Addr {
	var out []netip.Addr
	for _, f := range lb.Frontends {
		if f.Public && strings.EqualFold(f.Name, name) {
			out = append(out, parsed(f.IP)...)
		}
	}
	return out
}

func membersIn(backends []feed.Backend, networkID string) []netip.Addr {
	var out []netip.Addr
	for _, b := range backends {
		if strings.EqualFold(b.NetworkID, networkID) {
			out = append(out, parsed(b.PrivateIP)...)
		}
	}
	return out
}

func parsed(addresses ...string) []netip.Addr {
	var out []netip.Addr
	for _, text := range addresses {
		if a, err := netip.ParseAddr(text); err == nil && a.Is4() {
			out = append(out, a)
		}
	}
	return out
}

// nicsOf are the interfaces in a network, of machines that are booted here.
func nicsOf(snap feed.Snapshot, networkID string) []feed.NIC {
	var out []feed.NIC
	for _, m := range snap.Machines {
		for _, nic := range m.NICs {
			if !m.Host && strings.EqualFold(nic.NetworkID, networkID) {
				out = append(out, nic)
			}
		}
	}
	slices.SortFunc(out, func(a, b feed.NIC) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func subnetOf(n feed.Network, id string) feed.Subnet {
	for _, s := range n.Subnets {
		if strings.EqualFold(s.ID, id) {
			return s
		}
	}
	return feed.Subnet{}
}

// standIns are the public addresses that stand for machines towards the outside: what comes back to them belongs to the network.
func standIns(ways map[netip.Addr]way) map[netip.Addr]bool {
	out := map[netip.Addr]bool{}
	for _, w := range ways {
		for _, addresses := range w {
			for _, a := range addresses {
				if a != azuresOwn {
					out[a] = true
				}
			}
		}
	}
	return out
}

// exit is machines that leave by the same addresses with one protocol.
type exit struct {
	protocol string
	by       []netip.Addr
	machines []string
}

func exits(ways map[netip.Addr]way) []exit {
	found := map[string]*exit{}
	for _, machine := range slices.SortedFunc(maps.Keys(ways), netip.Addr.Compare) {
		for protocol, by := range ways[machine] {
			by = slices.SortedFunc(slices.Values(by), netip.Addr.Compare)
			key := fmt.Sprint(protocol, by)
			if found[key] == nil {
				found[key] = &exit{protocol: protocol, by: by}
			}
			found[key].machines = append(found[key].machines, machine.String())
		}
	}
	var out []exit
	for _, key := range slices.Sorted(maps.Keys(found)) {
		out = append(out, *found[key])
	}
	return out
}

func (e exit) match() string {
	return fmt.Sprintf("meta l4proto %s ip saddr { %s }", e.protocol, strings.Join(e.machines, ", "))
}

// addEgress decides who may leave the network, and as whom. Azure says nothing to who may not.
func addEgress(rules *nftable.Table, ways map[netip.Addr]way) {
	rules.Chain("leave")
	rules.Base("postrouting", hook(knftables.NATType, knftables.PostroutingHook, knftables.SNATPriority))
	for _, e := range exits(ways) {
		rules.Rules("leave", e.match()+" return")
		switch {
		case e.by[0] == azuresOwn:
		case len(e.by) == 1:
			rules.Rules("postrouting", toUplink+e.match()+" snat ip to "+e.by[0].String())
		default:
			rules.Rules("postrouting", toUplink+e.match()+" snat ip to "+choice(e.by, netip.Addr.String))
		}
	}
	rules.Rules("leave", "drop")
	rules.Rules("postrouting", toUplink+"masquerade")
}
