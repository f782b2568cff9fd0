package machine

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/knftables"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/nftable"
)

const (
	metadataAddress = "169.254.169.254"
	azureAddress    = "168.63.129.16" // DNS, and where health probes come from
	routerBridge    = "br0"
	routerUplink    = "up0"

	fromBridge = `iifname "` + routerBridge + `" `
	fromUplink = `iifname "` + routerUplink + `" `
	toUplink   = `oifname "` + routerUplink + `" `

	alreadyAccepted = "ct state established,related accept"
)

// hook is where a chain of filters or translations is asked.
func hook(kind knftables.BaseChainType, at knftables.BaseChainHook, priority knftables.BaseChainPriority) nftable.Hook {
	return nftable.Hook{Type: kind, At: at, Priority: priority}
}

// hostRules is the host's table: machines reach the edge and published addresses and nothing else; nothing reaches machines but by
// a published address. It tells by the address that a connection was first made to, so it does not matter who translates it later.
func hostRules(c Config) *nftable.Table {
	const priority = knftables.FilterPriority + "-5"
	t := nftable.New(knftables.InetFamily, c.table())
	from, to := fmt.Sprintf("iifname %q", c.uplinkPattern()+"*"), fmt.Sprintf("oifname %q", c.uplinkPattern()+"*")
	published, others := "ct original ip daddr "+c.PublicIPs+" accept", "reject with icmpx admin-prohibited"
	t.Chain("from_machines", alreadyAccepted, published)
	for _, e := range c.EdgeAllowed {
		t.Rules("from_machines", fmt.Sprintf("meta l4proto %s ct original ip daddr %s ct original proto-dst %d accept", e.Protocol, e.Address, e.Port))
	}
	t.Rules("from_machines", others)
	t.Chain("to_machines", alreadyAccepted, published, others)
	t.Base("input", hook(knftables.FilterType, knftables.InputHook, priority), from+" jump from_machines")
	t.Base("forward", hook(knftables.FilterType, knftables.ForwardHook, priority), from+" jump from_machines", to+" jump to_machines")
	t.Base("output", hook(knftables.FilterType, knftables.OutputHook, priority), to+" jump to_machines")
	t.Base("postrouting", hook(knftables.NATType, knftables.PostroutingHook, knftables.SNATPriority+"-5"), to+" ip saddr != 198.18.0.0/15 masquerade")
	return t
}

// service is a frontend port with the backends that are healthy.
type service struct {
	Frontend     netip.Addr
	Protocol     string // tcp, udp, "" is every protocol and port
	FrontendPort int
	BackendPort  int
	FloatingIP   bool
	Backends     []netip.Addr
}

// traffic is all that a VNet's router goes by.
type traffic struct {
	network  feed.Network
	nics     []feed.NIC
	services []service
	ways     map[netip.Addr]way
	azure    []string // addresses that stand for Azure's services
	public   string   // prefix of all public addresses
}

// routerRules is the table of a VNet's router: load balancing, security rules, who may leave and how.
func routerRules(t traffic) *nftable.Table {
	rules := nftable.New(knftables.InetFamily, "vnet")
	addBalancing(rules, t)
	addSecurity(rules, t)
	addEgress(rules, t.ways)
	return rules
}

// backendMark is the mark of connections to a backend, and the routing table that leads there: its address, so that both
// stay what they are when other backends come and go.
func backendMark(a netip.Addr) uint32 {
	raw := a.As4()
	return uint32(raw[0])<<24 | uint32(raw[1])<<16 | uint32(raw[2])<<8 | uint32(raw[3])
}

// addBalancing chooses a backend for each new connection. With a floating address the packet is only steered, by its mark;
// otherwise its destination is rewritten.
func addBalancing(rules *nftable.Table, t traffic) {
	services := slices.Clone(t.services)
	slices.SortFunc(services, func(x, y service) int {
		return cmp.Or(x.Frontend.Compare(y.Frontend), cmp.Compare(x.Protocol, y.Protocol), cmp.Compare(x.FrontendPort, y.FrontendPort))
	})
	rules.Base("steer", hook(knftables.FilterType, knftables.PreroutingHook, knftables.ManglePriority))
	rules.Base("translate", hook(knftables.NATType, knftables.PreroutingHook, knftables.DNATPriority))
	for _, s := range services {
		switch {
		case len(s.Backends) == 0:
		case s.FloatingIP:
			by := choice(s.Backends, func(a netip.Addr) string { return fmt.Sprintf("0x%08x", backendMark(a)) })
			rules.Rules("steer", "ct state new "+s.match()+" ct mark set "+by)
		case s.Protocol == "": // a machine's own public address
			rules.Rules("translate", s.match()+" dnat ip to "+s.Backends[0].String())
		default:
			by := choice(s.Backends, func(a netip.Addr) string { return fmt.Sprintf("%s . %d", a, s.BackendPort) })
			rules.Rules("translate", s.match()+" dnat ip addr . port to "+by)
		}
	}
	rules.Rules("steer", "ct direction original ct mark != 0 meta mark set ct mark")
	rules.Rules("steer", routeMarks(t)...)
}

// choice takes one address after the other.
func choice(addresses []netip.Addr, render func(netip.Addr) string) string {
	elements := make([]string, len(addresses))
	for i, a := range addresses {
		elements[i] = fmt.Sprintf("%d : %s", i, render(a))
	}
	return fmt.Sprintf("numgen inc mod %d map { %s }", len(elements), strings.Join(elements, ", "))
}

func (s service) match() string {
	if s.Protocol == "" {
		return "ip daddr " + s.Frontend.String()
	}
	return fmt.Sprintf("ip daddr %s %s dport %d", s.Frontend, s.Protocol, s.FrontendPort)
}

// guarded is who a security group stands before: a subnet, or one interface.
type guarded struct {
	name   string
	prefix netip.Prefix
	group  *feed.SecurityGroup
}

func (t traffic) guards() (subnets, nics []guarded) {
	for i, s := range t.network.Subnets {
		prefix, err := netip.ParsePrefix(s.Prefix)
		if err == nil && prefix.Addr().Is4() { // no machine has an address of IPv6
			subnets = append(subnets, guarded{fmt.Sprintf("subnet_%d", i), prefix.Masked(), s.SecurityGroup})
		}
	}
	for i, nic := range t.nics {
		if a, err := netip.ParseAddr(nic.PrivateIP); err == nil && a.Is4() {
			nics = append(nics, guarded{fmt.Sprintf("nic_%d", i), netip.PrefixFrom(a, 32), nic.SecurityGroup})
		}
	}
	return subnets, nics
}

// addSecurity adds the security groups of subnets and interfaces; both have to let a packet pass, the interface's first on the way out,
// the subnet's first on the way in. A machine behind a floating address is found by the mark, as the packet carries the frontend's address.
// Where no group is, all may leave, and nothing comes in from outside of the network: addresses and balancers of SKU Standard are closed.
func addSecurity(rules *nftable.Table, t traffic) {
	subnets, nics := t.guards()
	vnet := "{ " + strings.Join(disjoint(t.network.Prefixes), ", ") + " }"
	within := "ip saddr " + vnet + " ip daddr " + vnet + " return"
	rules.Chain("outbound")
	rules.Chain("inbound")
	for _, g := range append(slices.Clone(nics), subnets...) {
		if g.group == nil {
			continue
		}
		rules.Chain("in_"+g.name, t.groupRules(g.group, "Inbound")...)
		rules.Rules("in_"+g.name, within, "ip saddr "+azureAddress+" return", "drop")
		rules.Chain("out_"+g.name, t.groupRules(g.group, "Outbound")...)
		rules.Rules("out_"+g.name, within, "ip daddr != "+vnet+" return", "drop")
		rules.Rules("outbound", fmt.Sprintf("ip saddr %s jump out_%s", g.prefix, g.name))
	}
	for _, g := range append(slices.Clone(subnets), nics...) {
		byMark, byAddress := marked(g.prefix), "ip daddr "+g.prefix.String()
		if g.group != nil {
			rules.Rules("inbound", byMark+" jump in_"+g.name, byAddress+" jump in_"+g.name)
		} else if closed(g, subnets) {
			rules.Rules("inbound", fromUplink+byMark+" drop", fromUplink+byAddress+" drop")
		}
	}
	rules.Base("forward", hook(knftables.FilterType, knftables.ForwardHook, knftables.FilterPriority), alreadyAccepted,
		fromUplink+toUplink+"drop", fromBridge+"jump outbound", fromBridge+toUplink+"jump leave")
	if own := t.publicFrontends(); len(own) > 0 { // it leads out of the network and back; here it does not leave the router
		rules.Rules("forward", fmt.Sprintf("%sct original ip daddr { %s } jump leave", fromBridge, strings.Join(own, ", ")))
	}
	rules.Rules("forward", fmt.Sprintf("%smeta mark > 0x%08x accept", fromBridge, lastRouteMark), "jump inbound")
	// the router itself answers metadata, agents, DNS and pings, and nothing from outside; what it sends are probes of balancers
	rules.Base("input", hook(knftables.FilterType, knftables.InputHook, knftables.FilterPriority), alreadyAccepted, fromUplink+"meta l4proto != icmp drop")
	rules.Base("output", hook(knftables.FilterType, knftables.OutputHook, knftables.FilterPriority), alreadyAccepted, "ip saddr "+azureAddress+" jump inbound")
}

// closed tells of an interface whether its subnet has no group either. Subnets themselves are judged by their interfaces.
func closed(g guarded, subnets []guarded) bool {
	for _, s := range subnets {
		if s.name == g.name {
			return false
		}
		if s.prefix.Contains(g.prefix.Addr()) && s.group != nil {
			return false
		}
	}
	return true
}

// marked matches the marks of backends in a prefix.
func marked(p netip.Prefix) string {
	low := backendMark(p.Addr())
	if p.Bits() == 32 {
		return fmt.Sprintf("meta mark 0x%08x", low)
	}
	return fmt.Sprintf("meta mark 0x%08x-0x%08x", low, low|uint32(uint64(1)<<(32-p.Bits())-1))
}

// publicFrontends are the addresses outside of the network that its own balancers answer.
func (t traffic) publicFrontends() []string {
	var out []string
	for _, s := range t.services {
		if len(s.Backends) > 0 && !slices.ContainsFunc(t.network.Prefixes, func(p string) bool {
			prefix, err := netip.ParsePrefix(p)
			return err == nil && prefix.Contains(s.Frontend)
		}) {
			out = append(out, s.Frontend.String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (t traffic) groupRules(group *feed.SecurityGroup, direction string) []string {
	var out []string
	for _, r := range group.Rules {
		if rule := t.groupRule(r); rule != "" && strings.EqualFold(r.Direction, direction) {
			out = append(out, rule)
		}
	}
	return out
}

// groupRule is "" when it can match nothing here.
func (t traffic) groupRule(r feed.SecurityRule) string {
	verdict := "return"
	if strings.EqualFold(r.Access, "Deny") {
		verdict = "drop"
	}
	source, ok := t.addresses("ip saddr", r.SourcePrefixes)
	destination, ok2 := t.addresses("ip daddr", r.DestinationPrefixes)
	if !ok || !ok2 {
		return "" // a service tag that no address here has
	}
	var matches []string
	matches = append(matches, source, destination)
	protocol := strings.ToLower(r.Protocol)
	ports := portSet("dport", r.DestinationPorts) != "" || portSet("sport", r.SourcePorts) != ""
	switch {
	case protocol == "*" && ports:
		matches = append(matches, "meta l4proto { tcp, udp }", portSet("th dport", r.DestinationPorts), portSet("th sport", r.SourcePorts))
	case protocol == "*":
	case protocol != "tcp" && protocol != "udp" || !ports: // others have no ports
		matches = append(matches, "meta l4proto "+protocol)
	default:
		matches = append(matches, portSet(protocol+" dport", r.DestinationPorts), portSet(protocol+" sport", r.SourcePorts))
	}
	matches = slices.DeleteFunc(matches, func(m string) bool { return m == "" })
	return strings.Join(append(matches, verdict), " ")
}

func portSet(match string, ports []string) string {
	if len(ports) == 0 || slices.Contains(ports, "*") {
		return ""
	}
	return match + " { " + strings.Join(ports, ", ") + " }"
}

// servedTags are the service tags of what the sandbox serves. One address stands for all of them; another tag is that of no address here.
var servedTags = []string{"azurecloud", "azureresourcemanager", "azureactivedirectory", "storage", "azurekeyvault"}

// addresses renders prefixes and service tags; false when they can match no address here.
func (t traffic) addresses(match string, prefixes []string) (string, bool) {
	var set []string
	vnet := t.network.Prefixes
	for _, p := range prefixes {
		switch strings.ToLower(p) {
		case "*", "any", "0.0.0.0/0":
			return "", true
		case "internet":
			return match + " != { " + strings.Join(disjoint(append(slices.Clone(vnet), azureAddress)), ", ") + " }", true
		case "virtualnetwork":
			set = append(set, vnet...)
		case "azureloadbalancer":
			set = append(set, azureAddress)
		default:
			if prefix, ok := ipv4Prefix(p); ok {
				set = append(set, prefix)
			}
			if tag, _, _ := strings.Cut(strings.ToLower(p), "."); slices.Contains(servedTags, tag) { // Storage.EastUS is of a region
				set = append(set, t.azure...)
				if tag == "azurecloud" {
					set = append(set, t.public)
				}
			}
		}
	}
	if set = disjoint(set); len(set) == 0 {
		return "", false
	}
	return match + " { " + strings.Join(set, ", ") + " }", true
}

// disjoint drops what another entry contains: nftables refuses sets that overlap. It drops addresses of IPv6 too, which no machine has and no
// match of IPv4 takes.
func disjoint(set []string) []string {
	var kept []netip.Prefix
	var parsed []netip.Prefix
	for _, s := range set {
		if a, err := netip.ParseAddr(s); err == nil && a.Is4() {
			parsed = append(parsed, netip.PrefixFrom(a, 32))
		} else if p, err := netip.ParsePrefix(s); err == nil && p.Addr().Is4() {
			parsed = append(parsed, p.Masked())
		}
	}
	slices.SortStableFunc(parsed, func(a, b netip.Prefix) int { return cmp.Compare(a.Bits(), b.Bits()) })
	var out []string
	for _, p := range parsed {
		if slices.ContainsFunc(kept, func(k netip.Prefix) bool { return k.Overlaps(p) }) {
			continue
		}
		kept = append(kept, p)
		out = append(out, p.String())
	}
	return out
}

func ipv4Prefix(s string) (string, bool) {
	if a, err := netip.ParseAddr(s); err == nil && a.Is4() {
		return a.String(), true
	}
	p, err := netip.ParsePrefix(s)
	if err != nil || !p.Addr().Is4() {
		return "", false
	}
	return p.Masked().String(), true
}
