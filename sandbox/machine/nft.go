package machine

import (
	"bytes"
	"cmp"
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

const (
	metadataAddress = "169.254.169.254"
	azureAddress    = "168.63.129.16" // DNS, and where health probes come from
	routerBridge    = "br0"
	routerUplink    = "up0"
)

// hostRules is the host's table: machines reach the edge and published addresses and nothing else; nothing reaches machines but by
// a published address. It tells by the address that a connection was first made to, so it does not matter who translates it later.
func hostRules(c Config) string {
	var allowed strings.Builder
	for _, e := range c.EdgeAllowed {
		fmt.Fprintf(&allowed, "    meta l4proto %s ct original ip daddr %s ct original proto-dst %d accept\n", e.Protocol, e.Address, e.Port)
	}
	return fmt.Sprintf(`table inet %[1]s {}
delete table inet %[1]s
table inet %[1]s {
  chain from_machines {
    ct state established,related accept
    ct original ip daddr %[3]s accept
%[4]s    reject with icmpx admin-prohibited
  }
  chain to_machines {
    ct state established,related accept
    ct original ip daddr %[3]s accept
    reject with icmpx admin-prohibited
  }
  chain input {
    type filter hook input priority filter - 5; policy accept;
    iifname "%[2]s*" jump from_machines
  }
  chain forward {
    type filter hook forward priority filter - 5; policy accept;
    iifname "%[2]s*" jump from_machines
    oifname "%[2]s*" jump to_machines
  }
  chain output {
    type filter hook output priority filter - 5; policy accept;
    oifname "%[2]s*" jump to_machines
  }
  chain postrouting {
    type nat hook postrouting priority srcnat - 5; policy accept;
    oifname "%[2]s*" ip saddr != 198.18.0.0/15 masquerade
  }
}
`, c.table(), c.uplinkPattern(), c.PublicIPs, allowed.String())
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
func routerRules(t traffic) string {
	var b strings.Builder
	b.WriteString("table inet vnet {}\ndelete table inet vnet\ntable inet vnet {\n")
	writeBalancing(&b, t)
	writeSecurity(&b, t)
	writeEgress(&b, t.ways)
	b.WriteString("}\n")
	return b.String()
}

// backendMark is the mark of connections to a backend, and the routing table that leads there: its address, so that both
// stay what they are when other backends come and go.
func backendMark(a netip.Addr) uint32 {
	raw := a.As4()
	return uint32(raw[0])<<24 | uint32(raw[1])<<16 | uint32(raw[2])<<8 | uint32(raw[3])
}

// writeBalancing chooses a backend for each new connection. With a floating address the packet is only steered, by its mark;
// otherwise its destination is rewritten.
func writeBalancing(b *strings.Builder, t traffic) {
	services := slices.Clone(t.services)
	slices.SortFunc(services, func(x, y service) int {
		return cmp.Or(x.Frontend.Compare(y.Frontend), cmp.Compare(x.Protocol, y.Protocol), cmp.Compare(x.FrontendPort, y.FrontendPort))
	})
	b.WriteString("  chain steer {\n    type filter hook prerouting priority mangle; policy accept;\n")
	for _, s := range services {
		if !s.FloatingIP || len(s.Backends) == 0 {
			continue
		}
		choice := make([]string, len(s.Backends))
		for i, a := range s.Backends {
			choice[i] = fmt.Sprintf("%d : 0x%08x", i, backendMark(a))
		}
		fmt.Fprintf(b, "    ct state new %s ct mark set numgen inc mod %d map { %s }\n", s.match(), len(choice), strings.Join(choice, ", "))
	}
	b.WriteString("    ct direction original ct mark != 0 meta mark set ct mark\n")
	writeRouteMarks(b, t)
	b.WriteString("  }\n")
	b.WriteString("  chain translate {\n    type nat hook prerouting priority dstnat; policy accept;\n")
	for _, s := range services {
		if s.FloatingIP || len(s.Backends) == 0 {
			continue
		}
		if s.Protocol == "" { // a machine's own public address
			fmt.Fprintf(b, "    %s dnat ip to %s\n", s.match(), s.Backends[0])
			continue
		}
		choice := make([]string, len(s.Backends))
		for i, a := range s.Backends {
			choice[i] = fmt.Sprintf("%d : %s . %d", i, a, s.BackendPort)
		}
		fmt.Fprintf(b, "    %s dnat ip addr . port to numgen inc mod %d map { %s }\n", s.match(), len(choice), strings.Join(choice, ", "))
	}
	b.WriteString("  }\n")
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

// writeSecurity renders the security groups of subnets and interfaces; both have to let a packet pass, the interface's first on the way out,
// the subnet's first on the way in. A machine behind a floating address is found by the mark, as the packet carries the frontend's address.
// Where no group is, all may leave, and nothing comes in from outside of the network: addresses and balancers of SKU Standard are closed.
func writeSecurity(b *strings.Builder, t traffic) {
	subnets, nics := t.guards()
	var chains, in, out strings.Builder
	vnet := "{ " + strings.Join(disjoint(t.network.Prefixes), ", ") + " }"
	for _, g := range append(slices.Clone(nics), subnets...) {
		if g.group == nil {
			continue
		}
		fmt.Fprintf(&chains, "  chain in_%s {\n", g.name)
		t.writeRules(&chains, g.group, "Inbound")
		fmt.Fprintf(&chains, "    ip saddr %s ip daddr %s return\n    ip saddr %s return\n    drop\n  }\n", vnet, vnet, azureAddress)
		fmt.Fprintf(&chains, "  chain out_%s {\n", g.name)
		t.writeRules(&chains, g.group, "Outbound")
		fmt.Fprintf(&chains, "    ip saddr %s ip daddr %s return\n    ip daddr != %s return\n    drop\n  }\n", vnet, vnet, vnet)
		fmt.Fprintf(&out, "    ip saddr %s jump out_%s\n", g.prefix, g.name)
	}
	for _, g := range append(slices.Clone(subnets), nics...) {
		if g.group != nil {
			fmt.Fprintf(&in, "    %s jump in_%s\n    ip daddr %s jump in_%s\n", marked(g.prefix), g.name, g.prefix, g.name)
		} else if closed(g, subnets) {
			fmt.Fprintf(&in, "    iifname \"%s\" %s drop\n    iifname \"%s\" ip daddr %s drop\n", routerUplink, marked(g.prefix), routerUplink, g.prefix)
		}
	}
	b.WriteString(chains.String())
	fmt.Fprintf(b, "  chain outbound {\n%s  }\n  chain inbound {\n%s  }\n", out.String(), in.String())
	fmt.Fprintf(b, "  chain forward {\n    type filter hook forward priority filter; policy accept;\n"+
		"    ct state established,related accept\n    iifname \"%s\" oifname \"%s\" drop\n", routerUplink, routerUplink)
	fmt.Fprintf(b, "    iifname \"%s\" jump outbound\n    iifname \"%s\" oifname \"%s\" jump leave\n", routerBridge, routerBridge, routerUplink)
	if own := t.publicFrontends(); len(own) > 0 { // it leads out of the network and back; here it does not leave the router
		fmt.Fprintf(b, "    iifname \"%s\" ct original ip daddr { %s } jump leave\n", routerBridge, strings.Join(own, ", "))
	}
	fmt.Fprintf(b, "    iifname \"%s\" meta mark > 0x%08x accept\n    jump inbound\n  }\n", routerBridge, lastRouteMark)
	// the router itself answers metadata, agents, DNS and pings, and nothing from outside; what it sends are probes of balancers
	fmt.Fprintf(b, "  chain input {\n    type filter hook input priority filter; policy accept;\n"+
		"    ct state established,related accept\n    iifname \"%s\" meta l4proto != icmp drop\n  }\n", routerUplink)
	fmt.Fprintf(b, "  chain output {\n    type filter hook output priority filter; policy accept;\n"+
		"    ct state established,related accept\n    ip saddr %s jump inbound\n  }\n", azureAddress)
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

func (t traffic) writeRules(b *strings.Builder, group *feed.SecurityGroup, direction string) {
	for _, r := range group.Rules {
		if strings.EqualFold(r.Direction, direction) {
			t.writeRule(b, r)
		}
	}
}

func (t traffic) writeRule(b *strings.Builder, r feed.SecurityRule) {
	verdict := "return"
	if strings.EqualFold(r.Access, "Deny") {
		verdict = "drop"
	}
	source, ok := t.addresses("ip saddr", r.SourcePrefixes)
	destination, ok2 := t.addresses("ip daddr", r.DestinationPrefixes)
	if !ok || !ok2 {
		return // a service tag that no address here has
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
	fmt.Fprintf(b, "    %s\n", strings.Join(append(matches, verdict), " "))
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

// applyRules replaces a table as one transaction. in nil means the host's namespace.
func applyRules(in *namespace, rules string) error {
	run := func() error {
		cmd := exec.Command("nft", "-f", "-")
		cmd.Stdin = strings.NewReader(rules)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("nft: %w: %s", err, strings.TrimSpace(firstLine(stderr.String())))
		}
		return nil
	}
	if in == nil {
		return run()
	}
	return in.do(run)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strconv.Quote(line)
}
