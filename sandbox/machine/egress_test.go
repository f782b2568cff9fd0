package machine

import (
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

func outboundBalancer(name, frontend, protocol string, snat bool, members ...string) feed.LoadBalancer {
	lb := feed.LoadBalancer{ID: name, Frontends: []feed.Frontend{{Name: "F", IP: frontend, Public: true}, {Name: "inside", IP: "10.0.0.200"}}, Pools: []feed.Pool{{Name: "P"}}}
	for _, m := range members {
		lb.Pools[0].Backends = append(lb.Pools[0].Backends, feed.Backend{PrivateIP: m, NetworkID: netA})
	}
	if protocol != "" {
		lb.OutboundRules = []feed.OutboundRule{{Frontends: []string{"f"}, Pool: "p", Protocol: protocol}}
	}
	lb.Rules = []feed.Rule{{Frontend: "f", Pool: "p", Protocol: "Tcp", SNAT: snat}, {Frontend: "inside", Pool: "p", Protocol: "Tcp", SNAT: true}}
	return lb
}

func TestWaysOut(t *testing.T) {
	both := func(a string) way { return wayBy(parsed(a), protocolTCP, protocolUDP) }
	nat := &feed.NATGateway{PublicIPs: []string{"198.18.241.20"}}
	for name, c := range map[string]struct {
		subnet    feed.Subnet
		public    string
		balancers []feed.LoadBalancer
		want      way
	}{
		"nothing":                         {feed.Subnet{}, "", nil, nil},
		"default access":                  {feed.Subnet{Outbound: true}, "", nil, wayBy([]netip.Addr{azuresOwn}, protocolTCP, protocolUDP)},
		"no default access in a pool":     {feed.Subnet{Outbound: true}, "", []feed.LoadBalancer{outboundBalancer("lb", "198.18.241.10", "", false, "10.0.0.4")}, nil},
		"an outbound rule":                {feed.Subnet{Outbound: true}, "", []feed.LoadBalancer{outboundBalancer("lb", "198.18.241.10", "All", true, "10.0.0.4")}, both("198.18.241.10")},
		"of one protocol":                 {feed.Subnet{}, "", []feed.LoadBalancer{outboundBalancer("lb", "198.18.241.10", "Tcp", false, "10.0.0.4")}, wayBy(parsed("198.18.241.10"), protocolTCP)},
		"of two balancers":                {feed.Subnet{}, "", []feed.LoadBalancer{outboundBalancer("1", "198.18.241.10", "Tcp", false, "10.0.0.4"), outboundBalancer("2", "198.18.241.11", "Udp", false, "10.0.0.4")}, way{protocolTCP: parsed("198.18.241.10"), protocolUDP: parsed("198.18.241.11")}},
		"of another's pool":               {feed.Subnet{}, "", []feed.LoadBalancer{outboundBalancer("lb", "198.18.241.10", "All", true, "10.0.0.5")}, nil},
		"a rule for what comes in":        {feed.Subnet{}, "", []feed.LoadBalancer{outboundBalancer("lb", "198.18.241.10", "", true, "10.0.0.4")}, wayBy(parsed("198.18.241.10"), protocolTCP)},
		"its own address before those":    {feed.Subnet{}, "198.18.241.12", []feed.LoadBalancer{outboundBalancer("lb", "198.18.241.10", "All", true, "10.0.0.4")}, wayBy(parsed("198.18.241.12"), protocolTCP, protocolUDP, protocolICMP)},
		"a NAT gateway before all":        {feed.Subnet{NATGateway: nat}, "198.18.241.12", []feed.LoadBalancer{outboundBalancer("lb", "198.18.241.10", "All", true, "10.0.0.4")}, both("198.18.241.20")},
		"a NAT gateway without addresses": {feed.Subnet{NATGateway: &feed.NATGateway{}, Outbound: true}, "198.18.241.12", nil, way{}},
	} {
		c.subnet.ID = netA + "/subnets/s"
		n := feed.Network{ID: netA, Subnets: []feed.Subnet{c.subnet}}
		snap := feed.Snapshot{LoadBalancers: c.balancers, Machines: []feed.Machine{{NICs: []feed.NIC{{ID: "nic", NetworkID: netA, SubnetID: c.subnet.ID, PrivateIP: "10.0.0.4", PublicIP: c.public}}}}}
		if got := waysOut(snap, n)[netip.MustParseAddr("10.0.0.4")]; len(got) != len(c.want) || len(got) > 0 && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		snap.Machines[0].Host = true
		if got := waysOut(snap, n); len(got) > 0 {
			t.Errorf("%s: the management node, which is on the host, has ways %v", name, got)
		}
	}
}

func TestHops(t *testing.T) {
	appliance, deaf := "10.0.0.9", "10.0.0.8"
	traffic := traffic{network: feed.Network{Prefixes: []string{"10.0.0.0/16", "fd00::/48"}}, nics: []feed.NIC{{PrivateIP: appliance, Forwards: true}, {PrivateIP: deaf}}}
	prefix := netip.MustParsePrefix
	got := hopsOf(traffic, feed.Subnet{Routes: []feed.Route{
		{Prefix: "0.0.0.0/0", NextHop: "VirtualAppliance", Address: appliance}, {Prefix: "10.1.0.0/16", NextHop: "VirtualAppliance", Address: deaf},
		{Prefix: "10.2.0.0/16", NextHop: "None"}, {Prefix: "198.18.0.1/32", NextHop: "Internet"}, {Prefix: "10.3.0.0/16", NextHop: "VnetLocal"}, {Prefix: "fd00::/64", NextHop: "None"},
	}})
	want := map[netip.Prefix]hop{
		prefix("0.0.0.0/0"): {appliance: netip.MustParseAddr(appliance)}, prefix("10.0.0.0/16"): {}, prefix("10.1.0.0/16"): {drop: true}, prefix("10.2.0.0/16"): {drop: true},
		prefix("198.18.0.1/32"): {out: true}, prefix("10.3.0.0/16"): {},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant\n%v", got, want)
	}
}

// serveWho answers with the address from which it is asked.
func (b *bed) serveWho() string {
	if err := ensureEdge(mustDefaults(b.T, b.cfg)); err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp4", testEdge+":0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			from, _, _ := net.SplitHostPort(c.RemoteAddr().String())
			fmt.Fprint(c, from)
			c.Close()
		}
	}()
	port := l.Addr().(*net.TCPAddr).Port
	b.cfg.EdgeAllowed = []EdgeEndpoint{{netip.MustParseAddr(testEdge), "tcp", uint16(port)}}
	return at(testEdge, port)
}

// TestEgress boots machines that differ in what lets them out, and looks who they are outside.
func TestEgress(t *testing.T) {
	b := newBed(t)
	who := b.serveWho()
	everything := []string{"*"}
	rule := func(direction, access string, sources, destinations []string) feed.SecurityRule {
		return feed.SecurityRule{Direction: direction, Access: access, Protocol: "*", SourcePrefixes: sources, SourcePorts: everything, DestinationPrefixes: destinations, DestinationPorts: everything}
	}
	n := network(netA)
	n.Subnets[0].Outbound = false
	more := func(name, prefix string, change func(*feed.Subnet)) {
		s := feed.Subnet{ID: netA + "/subnets/" + name, Name: name, Prefix: prefix}
		change(&s)
		n.Subnets = append(n.Subnets, s)
	}
	more("nat", "10.0.1.0/24", func(s *feed.Subnet) { s.NATGateway = &feed.NATGateway{PublicIPs: []string{"198.18.241.20"}} })
	more("nowhere", "10.0.2.0/24", func(s *feed.Subnet) {
		s.Outbound, s.Routes = true, []feed.Route{{Prefix: "0.0.0.0/0", NextHop: "None"}}
	})
	more("behind", "10.0.3.0/24", func(s *feed.Subnet) {
		s.Routes = []feed.Route{{Prefix: "0.0.0.0/0", NextHop: "VirtualAppliance", Address: "10.0.0.9"}}
	})
	const reachable, shut = "10.0.0.5", "10.0.0.7"
	header := map[string]any{"version": "3.3.0"}
	machine := func(name, subnet, ip string, wait bool, units map[string]string, change func(*feed.NIC)) feed.Machine {
		look := lookUnit(who, at(reachable, 8080), at(shut, 8080))
		for _, peer := range []string{who, at(reachable, 8080)} {
			if wait || peer != who {
				look = strings.Replace(look, "ExecStart=", "ExecStartPre=/usr/bin/helper until "+peer+"\nExecStart=", 1)
			}
		}
		all := map[string]string{"listen.service": listenUnit(""), "look.service": look}
		for unit, text := range units {
			all[unit] = text
		}
		m := testMachine("/vm/"+name, netA, ip, ignition(header, nil, all))
		m.NICs[0].SubnetID, m.NICs[0].MAC = netA+"/subnets/"+subnet, "00:0d:3a:00:"+hexOf(ip)
		if change != nil {
			change(&m.NICs[0])
		}
		return m
	}
	forward := map[string]string{"forward.service": "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward && iptables -t nat -A POSTROUTING -o eth0 -j MASQUERADE'\n[Install]\nWantedBy=multi-user.target\n"}
	b.feed.set(func(s *feed.Snapshot) {
		s.Networks = []feed.Network{n}
		s.LoadBalancers = []feed.LoadBalancer{outboundBalancer("lb", "198.18.241.10", "All", false, "10.0.0.5")}
		s.Machines = []feed.Machine{
			machine("closed", "s", "10.0.0.4", false, nil, nil),
			machine("pooled", "s", reachable, false, nil, nil),
			machine("public", "s", "10.0.0.6", false, nil, func(nic *feed.NIC) { nic.PublicIP = "198.18.241.11" }),
			machine("denied", "s", shut, false, nil, func(nic *feed.NIC) {
				nic.PublicIP = "198.18.241.13"
				nic.SecurityGroup = &feed.SecurityGroup{Rules: []feed.SecurityRule{rule("Outbound", "Deny", everything, []string{"Internet"}), rule("Inbound", "Deny", everything, everything)}}
			}),
			machine("appliance", "s", "10.0.0.9", false, forward, func(nic *feed.NIC) { nic.PublicIP, nic.Forwards = "198.18.241.12", true }),
			machine("nat", "nat", "10.0.1.4", false, nil, func(nic *feed.NIC) { nic.PublicIP = "198.18.241.14" }),
			machine("nowhere", "nowhere", "10.0.2.4", false, nil, nil),
			machine("behind", "behind", "10.0.3.4", true, nil, nil),
		}
	})
	b.start()
	for name, want := range map[string]string{"closed": "", "pooled": "198.18.241.10", "public": "198.18.241.11", "denied": "", "appliance": "198.18.241.12", "nat": "198.18.241.20", "nowhere": "", "behind": "198.18.241.12"} {
		seen := b.findings(name)
		if got := seen.Reached[who]; got != want {
			t.Errorf("%s is %q outside of the network, want %q; blocked: %v", name, got, want, seen.Blocked)
		}
		if seen.Reached[at(reachable, 8080)] != "pooled" {
			t.Errorf("%s does not reach its neighbour: %v", name, seen.Blocked)
		}
		if got, ok := seen.Reached[at(shut, 8080)]; ok && name != "denied" {
			t.Errorf("%s reaches a machine whose own security group forbids it: %q", name, got)
		}
	}
	b.eventually("the machine answers at its public address", func() bool { said, _ := ask("198.18.241.11:8080"); return said == "public" })
	for name, address := range map[string]string{"its interface's group": "198.18.241.13:8080", "no group at all": "198.18.241.14:8080"} {
		if said, err := ask(address); err == nil {
			t.Errorf("a machine with %s answers from outside: %q", name, said)
		}
	}
}

// hexOf is the last two bytes of an address as those of a MAC address.
func hexOf(ip string) string {
	a := netip.MustParseAddr(ip).As4()
	return fmt.Sprintf("%02x:%02x", a[2], a[3])
}
