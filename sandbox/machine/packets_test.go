package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

// packetBed is a router with machines and an outside, each a network namespace without a name. What a snapshot means to the router is
// seen by connections through it.
type packetBed struct {
	t       *testing.T
	router  *router
	places  map[string]*namespace
	passing func(probeKey) bool // which backends pass their probes
}

const (
	uplinkNumber = 200
	hostSide     = "198.19.200.1"
	routerSide   = "198.19.200.2"
	internetHost = "203.0.113.9"
	otherHost    = "203.0.113.10"
	publicOfB    = "198.18.16.20"
	frontend     = "198.18.16.30"
	otherFront   = "198.18.16.31"
	insideFront  = "10.0.0.200"
	ipA, ipB     = "10.0.0.4", "10.0.1.4"
	ipC          = "10.0.0.5"
	outsideName  = "outside"
)

// newPacketBed has machines a and c in subnet "one", b in subnet "two". Each answers at ports 22, 80 and 8080 with its name and who asks.
func newPacketBed(t *testing.T) *packetBed {
	t.Helper()
	needNamespaces(t)
	b := &packetBed{t: t, places: map[string]*namespace{}, passing: func(probeKey) bool { return true }}
	inside := b.place("router")
	b.router = &router{cfg: Config{Uplinks: "198.19"}, number: uplinkNumber, ns: inside, steered: map[netip.Addr]bool{}, proxied: map[netip.Addr]bool{}}
	nl := b.netlink(inside)
	must(t, inside.do(routerSysctls))
	must(t, ensureBridge(nl))
	outside := b.place(outsideName)
	must(t, nl.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: routerUplink}, PeerName: "eth0", PeerNamespace: netlink.NsFd(outside.handle)}))
	b.address(inside, "lo", azureAddress+"/32")
	b.address(inside, routerUplink, routerSide+"/30")
	must(t, linkUp(nl, routerBridge))
	must(t, inside.do(bridgeSysctls))
	must(t, nl.RouteReplace(&netlink.Route{Gw: net.ParseIP(hostSide)}))
	b.address(outside, "eth0", hostSide+"/30")
	for _, a := range []string{testEdgeOfPackets, internetHost, otherHost} {
		b.address(outside, "lo", a+"/32")
	}
	_, public, _ := net.ParseCIDR("198.18.16.0/20")
	must(t, b.netlink(outside).RouteReplace(&netlink.Route{Dst: public, Gw: net.ParseIP(routerSide)}))
	b.serve(outsideName, outside)
	for name, ip := range map[string]string{"a": ipA, "b": ipB, "c": ipC} {
		machine, subnet := b.place(name), feed.Subnet{Prefix: netip.PrefixFrom(netip.MustParseAddr(ip), 24).Masked().String()}
		must(t, (&vm{record: record{ID: name}}).plugHollow(b.router, machine, feed.NIC{PrivateIP: ip}, subnet))
		b.serve(name, machine)
	}
	return b
}

const testEdgeOfPackets = "198.18.0.1"

func needNamespaces(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("nft"); err != nil || os.Geteuid() != 0 || !hasCapability(unix.CAP_NET_ADMIN) || !hasCapability(unix.CAP_SYS_ADMIN) {
		t.Skip("skipped: network namespaces need root, and the rules nft")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place makes a namespace on a thread that ends at once.
func (b *packetBed) place(name string) *namespace {
	b.t.Helper()
	made := make(chan error, 1)
	ns := &namespace{name: name}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread is in the new namespace
		var err error
		ns.handle, err = netns.New()
		made <- err
	}()
	must(b.t, <-made)
	b.t.Cleanup(ns.close)
	b.places[name] = ns
	must(b.t, linkUp(b.netlink(ns), "lo"))
	return ns
}

func (b *packetBed) netlink(ns *namespace) *netlink.Handle {
	b.t.Helper()
	nl, err := ns.netlink()
	must(b.t, err)
	b.t.Cleanup(nl.Close)
	return nl
}

func (b *packetBed) address(ns *namespace, link, address string) {
	b.t.Helper()
	nl := b.netlink(ns)
	l, err := nl.LinkByName(link)
	must(b.t, err)
	must(b.t, addAddress(nl, l, address))
	must(b.t, linkUp(nl, link))
}

func (b *packetBed) serve(name string, ns *namespace) {
	b.t.Helper()
	for _, port := range []string{"22", "80", "8080"} {
		l, err := ns.listen(":" + port)
		must(b.t, err)
		b.t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				from, _, _ := net.SplitHostPort(c.RemoteAddr().String())
				fmt.Fprintf(c, "%s:%s sees %s", name, port, from)
				c.Close()
			}
		}()
	}
}

// apply makes the router what a snapshot says of the network.
func (b *packetBed) apply(snap feed.Snapshot) {
	b.t.Helper()
	n := snap.Networks[0]
	balancing := balancingFor(snap, n.ID)
	must(b.t, b.router.update(traffic{network: n, nics: nicsOf(snap, n.ID), services: balancing.healthyServices(n.ID, b.passing), ways: waysOut(snap, n),
		azure: []string{testEdgeOfPackets}, public: "198.18.16.0/20"}))
}

// get is what a connection brings: "" where there is none. The wait for one that shall not come is short.
func (b *packetBed) get(from, source, address string, expected bool) string {
	b.t.Helper()
	wait := 250 * time.Millisecond
	if expected {
		wait = 5 * time.Second
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), wait)
	defer cancel()
	var local net.Addr
	if source != "" {
		local = &net.TCPAddr{IP: net.ParseIP(source)}
	}
	c, err := b.places[from].dial(ctx, "tcp4", address, local)
	if err != nil {
		return ""
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(wait))
	text, _ := io.ReadAll(c)
	return string(text)
}

// want looks at a connection, written as "from [source] > address = answer".
func (b *packetBed) want(name, connection string) {
	b.t.Helper()
	how, answer, _ := strings.Cut(connection, " = ")
	from, source, address, _ := split(how)
	if got := b.get(from, source, address, answer != ""); got != answer {
		b.t.Errorf("%s: %s is answered %q, want %q", name, how, got, answer)
	}
}

// split reads "from [source] > address", of a connection that shall come about.
func split(how string) (from, source, address string, expected bool) {
	from, address, _ = strings.Cut(how, " > ")
	from, source, _ = strings.Cut(from, " ")
	return from, source, address, true
}

// packetNet has b with a public address, which nothing but security groups closes.
func packetNet() feed.Snapshot {
	nic := func(name, subnet, ip string) feed.Machine {
		return feed.Machine{ID: "/vm/" + name, Running: true,
			NICs: []feed.NIC{{ID: name, NetworkID: netA, SubnetID: netA + "/subnets/" + subnet, PrivateIP: ip}}}
	}
	snap := feed.Snapshot{
		Networks: []feed.Network{{ID: netA, Name: "n", Prefixes: []string{"10.0.0.0/16"}, Subnets: []feed.Subnet{
			{ID: netA + "/subnets/one", Name: "one", Prefix: "10.0.0.0/24"}, {ID: netA + "/subnets/two", Name: "two", Prefix: "10.0.1.0/24"}}}},
		Machines: []feed.Machine{nic("a", "one", ipA), nic("b", "two", ipB), nic("c", "one", ipC)},
	}
	snap.Machines[1].NICs[0].PublicIP = publicOfB
	return snap
}

func group(rules ...feed.SecurityRule) *feed.SecurityGroup { return &feed.SecurityGroup{Rules: rules} }

// secure reads a rule from "Inbound Allow Tcp Internet > * 80".
func secure(text string) feed.SecurityRule {
	f := strings.Fields(text)
	return feed.SecurityRule{Direction: f[0], Access: f[1], Protocol: f[2], SourcePrefixes: strings.Split(f[3], ","), SourcePorts: []string{"*"},
		DestinationPrefixes: strings.Split(f[5], ","), DestinationPorts: strings.Split(f[6], ",")}
}

// TestSecurityGroupsOnPackets: of machine b and its subnet. Connections that no group forbids are those of packetNet.
func TestSecurityGroupsOnPackets(t *testing.T) {
	b := newPacketBed(t)
	const (
		fromInternet = "outside " + internetHost + " > " + publicOfB + ":80"
		fromOther    = "outside " + otherHost + " > " + publicOfB + ":80"
		toShell      = "outside " + internetHost + " > " + publicOfB + ":22"
		fromA        = "a > " + ipB + ":80"
		toInternet   = "b > " + internetHost + ":80"
		toA          = "b > " + ipA + ":80"
		toEdge       = "b > " + testEdgeOfPackets + ":80"

		passInternet = fromInternet + " = b:80 sees " + internetHost
		passOther    = fromOther + " = b:80 sees " + otherHost
		passShell    = toShell + " = b:22 sees " + internetHost
		passA        = fromA + " = b:80 sees " + ipA
		passOut      = toInternet + " = outside:80 sees " + publicOfB
		passToA      = toA + " = a:80 sees " + ipB
		passEdge     = toEdge + " = outside:80 sees " + publicOfB
	)
	for name, c := range map[string]struct {
		subnet, nic []string // rules; nil: there is no group
		want        []string
	}{
		"no group at all":            {nil, nil, []string{fromInternet, passA, passOut, passToA}},
		"a group without rules":      {[]string{}, nil, []string{fromInternet, passA, passOut, passToA}},
		"one port from anywhere":     {[]string{"Inbound Allow Tcp Internet > * 80"}, nil, []string{passInternet, passOther, toShell, passA}},
		"a range of ports":           {[]string{"Inbound Allow Tcp * > * 20-30,443"}, nil, []string{passShell, fromInternet}},
		"one source":                 {nil, []string{"Inbound Allow Tcp " + internetHost + " > * *"}, []string{passInternet, passShell, fromOther}},
		"one destination":            {[]string{"Inbound Allow Tcp * > " + ipA + " *"}, nil, []string{fromInternet}},
		"another protocol":           {[]string{"Inbound Allow Udp * > * *"}, nil, []string{fromInternet}},
		"every protocol":             {[]string{"Inbound Allow * * > * 80"}, nil, []string{passInternet, toShell}},
		"a tag that nobody here has": {[]string{"Inbound Allow Tcp Sql > * *"}, nil, []string{fromInternet, passA}},
		"the first rule that fits": {[]string{"Inbound Deny Tcp " + otherHost + " > * *", "Inbound Allow Tcp * > * *"}, nil,
			[]string{passInternet, fromOther}},
		"and no later one": {[]string{"Inbound Allow Tcp * > * *", "Inbound Deny Tcp " + otherHost + " > * *"}, nil,
			[]string{passInternet, passOther}},
		"the subnet's alone allows":     {[]string{"Inbound Allow * * > * *"}, []string{}, []string{fromInternet, passA}},
		"the interface's alone allows":  {[]string{}, []string{"Inbound Allow * * > * *"}, []string{fromInternet, passA}},
		"both allow":                    {[]string{"Inbound Allow * * > * *"}, []string{"Inbound Allow Tcp * > * 80"}, []string{passInternet, toShell}},
		"the network itself is shut":    {nil, []string{"Inbound Deny * VirtualNetwork > * *"}, []string{fromA, passToA, passOut}},
		"nothing leaves to the outside": {[]string{"Outbound Deny * * > Internet *"}, nil, []string{toInternet, passToA, passA}},
		"nothing leaves at all":         {nil, []string{"Outbound Deny * * > * *"}, []string{toInternet, toA, passA}},
		"answers leave": {[]string{"Inbound Allow * * > * *"}, []string{"Inbound Allow Tcp * > * *", "Outbound Deny * * > * *"},
			[]string{passInternet, toInternet}},
		"only Azure's services": {nil, []string{"Outbound Allow Tcp * > Storage *", "Outbound Deny * * > * *"}, []string{passEdge, toInternet, toA}},
	} {
		snap := packetNet()
		rules := func(list []string) *feed.SecurityGroup {
			if list == nil {
				return nil
			}
			g := group()
			for _, text := range list {
				g.Rules = append(g.Rules, secure(text))
			}
			return g
		}
		snap.Networks[0].Subnets[1].SecurityGroup, snap.Machines[1].NICs[0].SecurityGroup = rules(c.subnet), rules(c.nic)
		b.apply(snap)
		for _, connection := range c.want {
			b.want(name, connection)
		}
	}
}

// A group of the subnet stands between two machines of the subnet, too: they meet in the router.
func TestNeighboursMeetInTheRouter(t *testing.T) {
	b := newPacketBed(t)
	snap := packetNet()
	b.apply(snap)
	b.want("without a group", "a > "+ipC+":80 = c:80 sees "+ipA)
	snap.Networks[0].Subnets[0].SecurityGroup = group(secure("Inbound Deny * " + ipA + " > * *"))
	b.apply(snap)
	b.want("one neighbour is shut out", "a > "+ipC+":80")
	b.want("and no other machine", "b > "+ipC+":80 = c:80 sees "+ipB)
}

// TestEgressOnPackets: who a machine is outside, by what its network gives it. Inside, nothing of that matters.
func TestEgressOnPackets(t *testing.T) {
	b := newPacketBed(t)
	const out, inside = "a > " + internetHost + ":80", "a > " + ipC + ":80 = c:80 sees " + ipA
	balanced := func(protocol string, snat bool) feed.LoadBalancer {
		lb := outboundBalancer("lb", frontend, protocol, snat, ipA)
		lb.Pools[0].Backends[0].MachineID = "/vm/a"
		return lb
	}
	for name, c := range map[string]struct {
		change func(*feed.Snapshot)
		seen   string
	}{
		"nothing is given": {func(*feed.Snapshot) {}, ""},
		"default access":   {func(s *feed.Snapshot) { s.Networks[0].Subnets[0].Outbound = true }, routerSide},
		"its own address":  {func(s *feed.Snapshot) { s.Machines[0].NICs[0].PublicIP = "198.18.16.21" }, "198.18.16.21"},
		"a NAT gateway before its own one": {func(s *feed.Snapshot) {
			s.Machines[0].NICs[0].PublicIP, s.Networks[0].Subnets[0].NATGateway = "198.18.16.21", &feed.NATGateway{PublicIPs: []string{"198.18.16.22"}}
		}, "198.18.16.22"},
		"an outbound rule": {func(s *feed.Snapshot) { s.LoadBalancers = []feed.LoadBalancer{balanced("All", false)} }, frontend},
		"an outbound rule of UDP": {func(s *feed.Snapshot) {
			s.Networks[0].Subnets[0].Outbound, s.LoadBalancers = true, []feed.LoadBalancer{balanced("Udp", false)}
		}, ""},
		"a pool without a way": {func(s *feed.Snapshot) {
			s.Networks[0].Subnets[0].Outbound, s.LoadBalancers = true, []feed.LoadBalancer{balanced("", false)}
		}, ""},
		"a rule that also leads out": {func(s *feed.Snapshot) { s.LoadBalancers = []feed.LoadBalancer{balanced("", true)} }, frontend},
		"a route to nowhere": {func(s *feed.Snapshot) {
			s.Machines[0].NICs[0].PublicIP, s.Machines[0].NICs[0].MAC = "198.18.16.21", b.mac("a")
			s.Networks[0].Subnets[0].Routes = []feed.Route{{Prefix: "0.0.0.0/0", NextHop: "None"}}
		}, ""},
	} {
		snap := packetNet()
		c.change(&snap)
		b.apply(snap)
		want := out
		if c.seen != "" {
			want += " = outside:80 sees " + c.seen
		}
		b.want(name, want)
		b.want(name, inside)
	}

	snap := packetNet()
	snap.Networks[0].Subnets[0].NATGateway = &feed.NATGateway{PublicIPs: []string{"198.18.16.22", "198.18.16.23"}}
	b.apply(snap)
	seen := map[string]int{}
	for range 4 {
		seen[b.get("a", "", internetHost+":80", true)]++
	}
	if seen["outside:80 sees 198.18.16.22"] != 2 || seen["outside:80 sees 198.18.16.23"] != 2 {
		t.Errorf("two addresses of a gateway are not taken in turns: %v", seen)
	}
}

// mac is the hardware address of a machine.
func (b *packetBed) mac(name string) string {
	link, err := b.netlink(b.places[name]).LinkByName("eth0")
	must(b.t, err)
	return link.Attrs().HardwareAddr.String()
}

// balancedNet has a and b behind the frontends, open to all.
func balancedNet(rules ...feed.Rule) feed.Snapshot {
	snap := packetNet()
	for i := range snap.Networks[0].Subnets {
		snap.Networks[0].Subnets[i].SecurityGroup = group(secure("Inbound Allow Tcp * > * *"))
	}
	pool := []feed.Backend{{PrivateIP: ipA, NetworkID: netA, MachineID: "/vm/a"}, {PrivateIP: ipB, NetworkID: netA, MachineID: "/vm/b"}}
	for i := range rules {
		rules[i].Protocol, rules[i].Backends = "Tcp", pool
	}
	snap.LoadBalancers = []feed.LoadBalancer{{
		Frontends: []feed.Frontend{{Name: "public", IP: frontend, Public: true}, {Name: "second", IP: otherFront, Public: true},
			{Name: "inside", IP: insideFront}},
		Probes: []feed.Probe{{Name: "p", Protocol: "Tcp", Port: 80}}, Rules: rules,
		NATRules: []feed.NATRule{{Frontend: "second", Protocol: "Tcp", FrontendPort: 2201, BackendPort: 22, Backend: pool[1]}},
	}}
	return snap
}

// TestBalancersOnPackets: new connections go to the backends that pass their probe, in turns, and see who asks.
func TestBalancersOnPackets(t *testing.T) {
	for name, c := range map[string]struct {
		rule          feed.Rule
		from, address string
		source        string // whom the backends see
		port          string // at which they are asked
	}{
		"translated": {feed.Rule{Frontend: "public", FrontendPort: 80, BackendPort: 8080}, outsideName, frontend + ":80", hostSide, "8080"},
		"floating": {feed.Rule{Frontend: "public", FrontendPort: 80, BackendPort: 80, FloatingIP: true}, outsideName, frontend + ":80",
			hostSide, "80"},
		"inside, translated":   {feed.Rule{Frontend: "inside", FrontendPort: 80, BackendPort: 22}, "c", insideFront + ":80", ipC, "22"},
		"inside to the public": {feed.Rule{Frontend: "public", FrontendPort: 80, BackendPort: 8080}, "c", frontend + ":80", ipC, "8080"},
		"with a probe, and alive": {feed.Rule{Frontend: "public", FrontendPort: 80, BackendPort: 8080, ProbeName: "P"}, outsideName, frontend + ":80",
			hostSide, "8080"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newPacketBed(t)
			snap := balancedNet(c.rule)
			snap.Machines[2].NICs[0].PublicIP = "198.18.16.25" // or c may not ask for a public address
			if c.rule.FloatingIP {
				b.float("a", "b")
			}
			b.apply(snap)
			seen := func() string {
				found := map[string]int{}
				for range 4 {
					found[b.get(c.from, "", c.address, true)]++
				}
				text, _ := json.Marshal(found)
				return string(text)
			}
			if want := fmt.Sprintf(`{"a:%[1]s sees %[2]s":2,"b:%[1]s sees %[2]s":2}`, c.port, c.source); seen() != want {
				t.Errorf("answers %s, want %s", seen(), want)
			}
			b.want("a port without a rule", c.from+" > "+strings.TrimSuffix(c.address, ":80")+":8080")
			if c.rule.ProbeName != "" {
				b.passing = func(k probeKey) bool { return k.Backend.String() == ipB }
				b.apply(snap)
				if want := fmt.Sprintf(`{"b:%s sees %s":4}`, c.port, c.source); seen() != want {
					t.Errorf("one backend fails its probe: answers %s, want %s", seen(), want)
				}
				b.passing = func(probeKey) bool { return false }
				b.apply(snap)
				b.want("all fail their probe", c.from+" > "+c.address)
			}
		})
	}
}

// float gives machines the address that packets to a floating frontend carry.
func (b *packetBed) float(names ...string) {
	b.t.Helper()
	for _, name := range names {
		b.address(b.places[name], "lo", frontend+"/32")
	}
}

// Security groups stand behind balancers: a floating address is that of the packet, and the group is that of the machine.
func TestBalancersDoNotOpenGroups(t *testing.T) {
	b := newPacketBed(t)
	b.float("b")
	for _, floating := range []bool{false, true} {
		name := fmt.Sprintf("floating %v", floating)
		snap := balancedNet(feed.Rule{Frontend: "public", FrontendPort: 80, BackendPort: 80, FloatingIP: floating})
		snap.LoadBalancers[0].Rules[0].Backends = snap.LoadBalancers[0].Rules[0].Backends[1:]
		b.apply(snap)
		b.want(name, "outside > "+frontend+":80 = b:80 sees "+hostSide)
		b.want(name, "outside > "+otherFront+":2201 = b:22 sees "+hostSide)
		snap.Networks[0].Subnets[1].SecurityGroup = group(secure("Inbound Allow Tcp * > * 22"))
		b.apply(snap)
		b.want(name+", shut for its port", "outside > "+frontend+":80")
		b.want(name+", open for the other", "outside > "+otherFront+":2201 = b:22 sees "+hostSide)
		snap.Networks[0].Subnets[1].SecurityGroup = nil
		b.apply(snap)
		b.want(name+", without any group", "outside > "+frontend+":80")
		b.want(name+", without any group", "outside > "+otherFront+":2201")
	}
}

// What stays is not interrupted by a change of the rules: the table is replaced, and connections are not.
func TestConnectionsSurviveAChangeOfTheRules(t *testing.T) {
	b := newPacketBed(t)
	snap := balancedNet(feed.Rule{Frontend: "public", FrontendPort: 80, BackendPort: 8080})
	b.apply(snap)
	l, err := b.places["a"].listen(":9000")
	must(t, err)
	defer l.Close()
	snap.LoadBalancers[0].Rules[0].BackendPort = 9000
	snap.LoadBalancers[0].Rules[0].Backends = slices.Clone(snap.LoadBalancers[0].Rules[0].Backends[:1])
	b.apply(snap)
	client, err := b.places[outsideName].dial(t.Context(), "tcp4", frontend+":80", nil)
	must(t, err)
	defer client.Close()
	server, err := l.Accept()
	must(t, err)
	defer server.Close()
	snap.LoadBalancers[0].Rules = nil // the backend leaves the pool, and nobody new is let in
	snap.Networks[0].Subnets[0].SecurityGroup = group()
	b.apply(snap)
	b.want("a new connection", "outside > "+frontend+":80")
	_ = client.SetDeadline(time.Now().Add(5 * time.Second))
	_ = server.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := client.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 4)
	if _, err := io.ReadFull(server, text); err != nil || string(text) != "ping" {
		t.Errorf("a connection that was there hears %q: %v", text, err)
	}
}
