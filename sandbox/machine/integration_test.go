package machine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/cgroup"
)

func TestMachines(t *testing.T) {
	b := newBed(t)
	open, err := net.Listen("tcp4", "0.0.0.0:0") // a port of the host that machines have no business with
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	hostPort := open.Addr().(*net.TCPAddr).Port

	a1 := b.serveIgnition(ignition(map[string]any{"version": "3.3.0"},
		map[string]string{"/etc/greeting": "hello"},
		map[string]string{
			"listen.service": listenUnit("ExecStartPre=/bin/ip address replace " + frontendA + "/32 dev lo\n"),
			"look.service": lookUnit(at("10.0.0.5", 8080), at(frontendB, floatPort), at(frontendB, translatedAt), // may
				at(testEdge, hostPort), at(b.cfg.hostEnd(firstUplink).String(), hostPort), at(b.cfg.routerEnd(firstUplink+1).String(), 53)), // must not
		}))
	b.feed.set(func(s *feed.Snapshot) {
		s.Networks = []feed.Network{network(netA), network(netB)}
		s.Machines = []feed.Machine{
			testMachine(vmA2, netA, "10.0.0.5", ignition(map[string]any{"version": "3.2.0"}, nil, map[string]string{"listen.service": listenUnit("")})),
			testMachine(vmB1, netB, "10.0.0.4", ignition(map[string]any{"version": "3.2.0"}, nil, map[string]string{
				"listen.service": listenUnit("ExecStartPre=/bin/ip address replace " + frontendB + "/32 dev lo\n"), "look.service": lookUnit()})),
		}
		s.LoadBalancers = []feed.LoadBalancer{balancer(frontendA, netA, vmA1), balancer(frontendB, netB, vmB1)}
	})
	b.start()
	b.eventually("b1 answers", func() bool { said, _ := ask(at(frontendB, floatPort)); return said == "b1" })
	b.eventually("a2 has booted", func() bool { return b.feed.state(vmA2) == feed.PowerRunning })

	appeared := time.Now()
	b.feed.set(func(s *feed.Snapshot) { s.Machines = append(s.Machines, testMachine(vmA1, netA, "10.0.0.4", a1)) })
	seen := b.findings("a1")
	b.eventually("a1's agent has reported", func() bool { return b.feed.provisioning(vmA1) == feed.ProvisioningSucceeded })
	t.Logf("a1 was provisioned and its units had run %s after it appeared", time.Since(appeared).Round(time.Millisecond))

	checkFindings(t, seen)
	if names := b.findings("b1").Names; !slices.Equal(names, []string{"192.0.2.2"}) {
		t.Errorf("b1 resolves to %v: not the zone of its own network", names)
	}
	greeting := filepath.Join(b.cfg.Dir, "a1/upper/etc/greeting")
	if info, err := os.Stat(greeting); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("file of the configuration: %v, %v", info, err)
	}
	for _, port := range []int{floatPort, translatedAt} {
		b.eventually(fmt.Sprintf("the load balancer answers on port %d", port), func() bool { said, _ := ask(at(frontendA, port)); return said == "a1" })
	}
	if _, err := ask(at(b.cfg.routerEnd(firstUplink).String(), 53)); err == nil {
		t.Error("the host reaches a router")
	}
	b.adoption()
	b.reboot()
	b.restart()
	b.halt()
	b.power()
	b.leaveNothing()
}

func checkFindings(t *testing.T, seen findings) {
	t.Helper()
	if seen.Hostname != "a1" || seen.Metadata != "a1" || !slices.Equal(seen.Names, []string{"192.0.2.1"}) || seen.MemTotalKB != strconv.Itoa(512*1024) {
		t.Errorf("a1 sees %+v", seen)
	}
	if got := seen.Reached[at("10.0.0.5", 8080)]; got != "a2" {
		t.Errorf("a1 does not reach its neighbour: %q %v", got, seen.Blocked)
	}
	for _, port := range []int{floatPort, translatedAt} {
		if got := seen.Reached[at(frontendB, port)]; got != "b1" {
			t.Errorf("a1 does not reach what b1 publishes: %q %v", got, seen.Blocked)
		}
	}
	if len(seen.Blocked) != 3 {
		t.Errorf("a1 reaches what it must not: %v; blocked: %v", seen.Reached, seen.Blocked)
	}
}

// adoption: machines outlive the hypervisor, and the next one takes them over.
func (b *bed) adoption() {
	b.Helper()
	before := b.pid("a1")
	b.stop()
	if said, err := ask(at(frontendA, floatPort)); said != "a1" {
		b.Errorf("without a hypervisor the machine is gone: %q %v", said, err)
	}
	b.feed.states = map[string]string{}
	b.start()
	b.eventually("a1 is adopted", func() bool { return b.feed.state(vmA1) == feed.PowerRunning })
	b.eventually("a1 answers after adoption", func() bool { said, _ := ask(at(frontendA, floatPort)); return said == "a1" })
	if after := b.pid("a1"); after != before {
		b.Errorf("pid 1 changed from %d to %d", before, after)
	}
}

// reboot: a machine whose pid 1 dies comes back with its data, and is not provisioned twice.
func (b *bed) reboot() {
	b.Helper()
	b.bootsAgain("after the end of pid 1", 2, func() {
		if err := unix.Kill(b.pid("a1"), unix.SIGKILL); err != nil {
			b.Fatal(err)
		}
	})
}

// restart: a machine is booted anew when its generation grows.
func (b *bed) restart() {
	b.Helper()
	before, other := b.pid("a1"), b.pid("a2")
	b.bootsAgain("after a restart", 3, func() {
		b.feed.set(func(s *feed.Snapshot) { s.Machines[2].Generation++ })
	})
	if err := unix.Kill(before, 0); !errors.Is(err, unix.ESRCH) || b.pid("a2") != other {
		b.Errorf("old pid 1 of the restarted machine: %v; its neighbour had pid %d and has %d", err, other, b.pid("a2"))
	}
}

// halt: nothing runs, and what was on the disks is there at the next start.
func (b *bed) halt() {
	b.Helper()
	b.stop()
	b.bootsAgain("after the hypervisor was halted", 4, func() {
		pid := b.pid("a1")
		if err := Halt(context.Background(), b.cfg); err != nil {
			b.Fatal(err)
		}
		b.nothingRuns(pid)
		b.start()
	})
}

func (b *bed) bootsAgain(when string, boots int, how func()) {
	b.Helper()
	fetched := b.fetched.Load()
	how()
	b.eventually("a1 boots "+when, func() bool {
		counted, _ := os.ReadFile(filepath.Join(b.cfg.Dir, "a1/var/boots"))
		return string(counted) == strings.Repeat("boot\n", boots)
	})
	b.eventually("a1 answers "+when, func() bool { said, _ := ask(at(frontendA, floatPort)); return said == "a1" })
	if b.fetched.Load() != fetched {
		b.Errorf("%s the machine was provisioned again", when)
	}
}

func (b *bed) power() {
	b.Helper()
	pid := b.pid("a1")
	b.feed.set(func(s *feed.Snapshot) { s.Machines[2].Running = false })
	b.eventually("a1 is stopped", func() bool { return b.feed.state(vmA1) == feed.PowerStopped })
	if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
		b.Errorf("pid 1 of a stopped machine: %v", err)
	}
	b.feed.set(func(s *feed.Snapshot) { s.Machines[2].Running = true })
	b.eventually("a1 runs again", func() bool { return b.feed.state(vmA1) == feed.PowerRunning })
	b.feed.set(func(s *feed.Snapshot) { s.Machines = s.Machines[:2] })
	b.eventually("a1 is removed", func() bool { _, err := os.Stat(filepath.Join(b.cfg.Dir, "a1")); return os.IsNotExist(err) })
}

func (b *bed) leaveNothing() {
	b.Helper()
	pid := b.pid("b1")
	b.stop()
	if err := Cleanup(context.Background(), b.cfg); err != nil {
		b.Fatal(err)
	}
	b.nothingRuns(pid)
	if _, err := os.Stat(b.cfg.Dir); !os.IsNotExist(err) {
		b.Error("the directory is left")
	}
}

// nothingRuns looks for what a hypervisor leaves on a host.
func (b *bed) nothingRuns(pid int) {
	b.Helper()
	if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
		b.Errorf("process %d is left", pid)
	}
	links, _ := netlink.LinkList()
	for _, l := range links {
		if strings.HasPrefix(l.Attrs().Name, "hst") {
			b.Errorf("link %s is left", l.Attrs().Name)
		}
	}
	if names, _ := namespacesWith("hst-"); len(names) > 0 {
		b.Errorf("namespaces %v are left", names)
	}
	groups, _ := cgroup.Hierarchies()
	if left := cgroup.With(groups, "hst-"); len(left) > 0 {
		b.Errorf("cgroups %v are left", left)
	}
	if mounts, _ := os.ReadFile("/proc/self/mounts"); strings.Contains(string(mounts), b.cfg.Dir) {
		b.Error("mounts are left")
	}
	if tables, _ := exec.Command("nft", "list", "tables").Output(); strings.Contains(string(tables), "hst_sandbox") {
		b.Error("the nftables table is left")
	}
}
