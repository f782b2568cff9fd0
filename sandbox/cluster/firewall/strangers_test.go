package firewall

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
)

// host is a network namespace that plays a machine.
type host struct {
	t  *testing.T
	ns netns.NsHandle
}

func newHost(t *testing.T) host {
	t.Helper()
	ns, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ns.Close() })
	h := host{t, ns}
	h.up("lo")
	return h
}

func (h host) enter() {
	h.t.Helper()
	if err := netns.Set(h.ns); err != nil {
		h.t.Fatal(err)
	}
}

func (h host) up(name string) netlink.Link {
	h.t.Helper()
	h.enter()
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetUp(link)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return link
}

// address gives a link an address, and brings it up.
func (h host) address(name, address string) {
	h.t.Helper()
	parsed, err := netlink.ParseAddr(address)
	if err == nil {
		err = netlink.AddrAdd(h.up(name), parsed)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h host) route(prefix, by string) {
	h.t.Helper()
	h.enter()
	_, network, err := net.ParseCIDR(prefix)
	if err == nil {
		err = netlink.RouteAdd(&netlink.Route{Dst: network, Gw: net.ParseIP(by)})
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h host) link(name string, other host, otherName string) {
	h.t.Helper()
	h.enter()
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: otherName, PeerNamespace: netlink.NsFd(other.ns)}); err != nil {
		h.t.Fatal(err)
	}
}

// serve accepts connections at an address until the test ends.
func (h host) serve(address string) {
	h.t.Helper()
	h.enter()
	l, err := net.Listen("tcp", address)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
}

// reaches tells whether a process of the user in this machine gets a connection. The test's own program is that process: a shell that
// can connect is not everywhere.
func (h host) reaches(address string, user uint32) bool {
	h.t.Helper()
	h.enter()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestDialForStrangers$")
	cmd.Env = []string{dialVariable + "=" + address}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), dialFailed) {
		h.t.Fatalf("dial %s: %v: %s", address, err, out)
	}
	return err == nil
}

const (
	dialVariable = "STRANGERS_TEST_DIAL"
	dialFailed   = "no connection: "
)

// TestDialForStrangers is the process that reaches starts.
func TestDialForStrangers(t *testing.T) {
	address := os.Getenv(dialVariable)
	if address == "" {
		t.Skip("a part of TestStrangersStayOut")
	}
	c, err := net.DialTimeout("tcp", address, 2*time.Second)
	if err != nil {
		t.Fatal(dialFailed, err)
	}
	_ = c.Close()
}

// TestStrangersStayOut: another host, which sends packets for the sandbox's addresses to this machine, and another user of the machine get
// no connection; root of the machine, its pods and what asks outside do. The other host is a second network namespace.
func TestStrangersStayOut(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
	runtime.LockOSThread() // never unlocked: the thread ends with its namespace
	machine, other, third, pod := newHost(t), newHost(t), newHost(t), newHost(t)
	machine.link("eth0", other, "eth0")
	machine.address("eth0", "192.0.2.2/24")
	other.address("eth0", "192.0.2.3/24")
	machine.link("eth1", third, "eth0")
	machine.address("eth1", "203.0.113.2/24")
	third.address("eth0", "203.0.113.3/24")
	third.route("192.0.2.0/24", "203.0.113.2")
	machine.link("hspods", pod, "eth0")
	machine.address("hspods", "10.200.0.1/16")
	pod.address("eth0", "10.200.0.2/16")
	pod.route("0.0.0.0/0", "10.200.0.1")
	other.route("10.200.0.0/15", "192.0.2.2")
	other.route("198.18.0.0/15", "192.0.2.2")
	other.route("203.0.113.0/24", "192.0.2.2")
	machine.enter()
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: names.EdgeBridge}}); err != nil {
		t.Fatal(err)
	}
	machine.address(names.EdgeBridge, names.EdgeIP+names.EdgePrefix)
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	edge, inPod, front, local := names.EdgeIP+":443", "10.200.0.2:8080", "192.0.2.2:22", "127.0.0.1:"+names.ProxyPort
	machine.serve(edge)
	machine.serve(front)
	machine.serve(local)
	pod.serve(inPod)
	other.serve("192.0.2.3:80")
	third.serve("203.0.113.3:80")
	const root, nobody = 0, 65534
	attempts := []struct {
		title   string
		from    host
		user    uint32
		to      string
		refused bool
	}{
		{"another host, to the edge", other, root, edge, true},
		{"another host, to a pod", other, root, inPod, true},
		{"another host, by way of the machine", other, root, "203.0.113.3:80", true},
		{"another user, to the edge", machine, nobody, edge, true},
		{"another user, to a pod", machine, nobody, inPod, true},
		{"another user, to the proxy", machine, nobody, local, true},
		{"another host, to the machine itself", other, root, front, false},
		{"another user, to the outside", machine, nobody, "192.0.2.3:80", false},
		{"root, to the edge", machine, root, edge, false},
		{"root, to a pod", machine, root, inPod, false},
		{"root, to the proxy", machine, root, local, false},
		{"a pod, to the edge", pod, root, edge, false},
		{"a pod's user, to the edge", pod, nobody, edge, false},
	}
	before, during := map[string]bool{}, map[string]bool{}
	for _, a := range attempts {
		before[a.title] = a.from.reaches(a.to, a.user)
	}
	machine.enter()
	if err := KeepStrangersOut(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	for _, a := range attempts {
		during[a.title] = a.from.reaches(a.to, a.user)
	}
	for _, a := range attempts {
		if !before[a.title] || during[a.title] == a.refused {
			t.Errorf("%s: reached before: %t, then: %t, want %t", a.title, before[a.title], during[a.title], !a.refused)
		}
	}
	machine.enter()
	if err := KeepStrangersOut(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if !other.reaches("203.0.113.3:80", root) {
		t.Error("a machine that routed before does not any more")
	}
	machine.enter()
	for range 2 {
		if err := LetStrangersIn(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if tables := Tables(t.Context()); slices.Contains(tables, strangersTable) {
		t.Error(fmt.Sprint("left: ", tables))
	}
}
