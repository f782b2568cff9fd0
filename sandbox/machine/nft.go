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

// routerRules is the table of a VNet's router: load balancing, security rules, translation at the uplink.
func routerRules(n feed.Network, services []service) string {
	var b strings.Builder
	b.WriteString("table inet vnet {}\ndelete table inet vnet\ntable inet vnet {\n")
	writeBalancing(&b, services)
	writeSecurity(&b, n)
	fmt.Fprintf(&b, `  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    oifname "%s" masquerade
  }
}
`, routerUplink)
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
func writeBalancing(b *strings.Builder, services []service) {
	services = slices.Clone(services)
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
	b.WriteString("    ct direction original ct mark != 0 meta mark set ct mark\n  }\n")
	b.WriteString("  chain translate {\n    type nat hook prerouting priority dstnat; policy accept;\n")
	for _, s := range services {
		if s.FloatingIP || len(s.Backends) == 0 {
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

// writeSecurity renders the security groups of the subnets. A machine behind a floating address is found by the mark, as the packet
// carries the frontend's address. A subnet without a group lets everything in.
func writeSecurity(b *strings.Builder, n feed.Network) {
	var dispatch, chains strings.Builder
	for i, s := range n.Subnets {
		prefix, err := netip.ParsePrefix(s.Prefix)
		if err != nil || !prefix.Addr().Is4() || s.SecurityGroup == nil { // no machine has an address of IPv6
			continue
		}
		chain := fmt.Sprintf("inbound_%d", i)
		low := backendMark(prefix.Masked().Addr())
		high := low | uint32(uint64(1)<<(32-prefix.Bits())-1)
		fmt.Fprintf(&dispatch, "    meta mark 0x%08x-0x%08x jump %s\n", low, high, chain)
		fmt.Fprintf(&dispatch, "    ip daddr %s jump %s\n", prefix.Masked(), chain)
		fmt.Fprintf(&chains, "  chain %s {\n", chain)
		for _, r := range s.SecurityGroup.Rules {
			if strings.EqualFold(r.Direction, "Inbound") {
				writeRule(&chains, r, n.Prefixes)
			}
		}
		vnet := "{ " + strings.Join(disjoint(n.Prefixes), ", ") + " }"
		fmt.Fprintf(&chains, "    ip saddr %s ip daddr %s accept\n    ip saddr %s accept\n    drop\n  }\n", vnet, vnet, azureAddress)
	}
	b.WriteString(chains.String())
	fmt.Fprintf(b, "  chain forward {\n    type filter hook forward priority filter; policy accept;\n"+
		"    ct state established,related accept\n    iifname \"%s\" oifname \"%s\" drop\n"+
		"    iifname \"%s\" meta mark != 0 accept\n%s  }\n", routerUplink, routerUplink, routerBridge, dispatch.String())
	// (a machine that asks for its own network's frontend comes from the internet in Azure; here it does not leave the router)
	// the router itself answers metadata, DNS and pings, and nothing from outside
	fmt.Fprintf(b, "  chain input {\n    type filter hook input priority filter; policy accept;\n"+
		"    ct state established,related accept\n    iifname \"%s\" meta l4proto != icmp drop\n  }\n", routerUplink)
}

func writeRule(b *strings.Builder, r feed.SecurityRule, vnet []string) {
	verdict := "accept"
	if strings.EqualFold(r.Access, "Deny") {
		verdict = "drop"
	}
	source, ok := addresses("ip saddr", r.SourcePrefixes, vnet)
	destination, ok2 := addresses("ip daddr", r.DestinationPrefixes, vnet)
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

// addresses renders prefixes and service tags; false when they can match no address here.
func addresses(match string, prefixes, vnet []string) (string, bool) {
	var set []string
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
