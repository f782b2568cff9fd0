package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/mounts"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

const (
	nodeLink    = "eth0"
	startFile   = 3 // the file that says when a node's links and groups are there
	childPause  = time.Second
	socketPause = 50 * time.Millisecond
)

// nodeSysctls are those of a node's network.
var nodeSysctls = map[string]string{
	forwarding:                           "1",
	"net/ipv4/conf/all/rp_filter":        "0",
	"net/ipv4/conf/default/rp_filter":    "0",
	"net/bridge/bridge-nf-call-iptables": "1",
	// The bridge of the pods, which is made later, answers for pods of other nodes.
	"net/ipv4/conf/default/proxy_arp":    "1",
	"net/ipv4/neigh/default/proxy_delay": "0",
}

// RunNodeInit is the first process of a further node, in namespaces that are its alone: it mounts the node's disk, brings its network up
// and keeps its programs running. It does not return while the node has power.
func RunNodeInit(c Config, name string) error {
	n, err := c.findNode(name)
	if err != nil {
		return err
	}
	// Threads of the runtime that were there before see the same namespaces: these are the process's.
	start := os.NewFile(startFile, "start")
	if _, err := start.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("the node's machine has ended: %w", err)
	}
	_ = start.Close()
	if err := errors.Join(unix.Sethostname([]byte(n.name())), c.mountNode(n), c.connectNode(n)); err != nil {
		return fmt.Errorf("node %s: %w", n.name(), err)
	}
	all := newChildren()
	go c.startNode(n, all)
	return all.reap()
}

// mountNode gives the node its disk, its processes and the size that it advertises, and lets go of what the machine has mounted.
func (c Config) mountNode(n node) error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// A copy of a mount of node 0 would keep its pod's network and its volume from going.
	others := func(target string) bool { return c.owns(target) && target != c.volumes(n) }
	if err := errors.Join(mounts.UnmountIf(others), unmountBelow("/run/netns", "/run/containerd", "/var/lib/kubelet")); err != nil {
		return err
	}
	for _, dir := range []string{c.runDir(), "/run/netns", "/run/containerd"} {
		if err := mountAt("tmpfs", dir, "tmpfs", 0); err != nil {
			return err
		}
	}
	for from, to := range c.binds(n) {
		if err := os.MkdirAll(from, 0o755); err != nil {
			return err
		}
		if err := mountAt(from, to, "", unix.MS_BIND); err != nil {
			return err
		}
	}
	if err := mountAt("proc", "/proc", "proc", 0); err != nil {
		return err
	}
	// What containers and the kubelet mount must be seen by the node's containers.
	if err := unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("make the node's mounts shared: %w", err)
	}
	return c.hideMachine()
}

func mountAt(from, to, kind string, flags uintptr) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(from, to, kind, flags, ""); err != nil {
		return fmt.Errorf("mount %s at %s: %w", from, to, err)
	}
	return nil
}

// unmountBelow lets go of mounts that lie in directories.
func unmountBelow(dirs ...string) error {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		for _, dir := range dirs {
			if len(fields) > 1 && strings.HasPrefix(fields[1], dir+"/") {
				_ = unix.Unmount(fields[1], unix.MNT_DETACH) // or it went with the one around it
			}
		}
	}
	return nil
}

// connectNode brings the node's network up.
func (c Config) connectNode(n node) error {
	for name, value := range nodeSysctls {
		// As on the machine: what is not there is not needed everywhere.
		_ = os.WriteFile("/proc/sys/"+name, []byte(value), 0o644)
	}
	for _, name := range []string{"lo", nodeLink} {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
		if name == nodeLink {
			address, err := netlink.ParseAddr(n.address() + names.EdgePrefix)
			if err != nil {
				return err
			}
			if err := netlink.AddrReplace(link, address); err != nil {
				return fmt.Errorf("address %s: %w", n.address(), err)
			}
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	if err := netlink.RouteReplace(&netlink.Route{Dst: &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}, Gw: net.ParseIP(names.EdgeIP)}); err != nil {
		return fmt.Errorf("route to the edge: %w", err)
	}
	return routesTo(slices.DeleteFunc(c.allNodes(), func(other node) bool { return other == n }))
}

// startNode starts the node's programs.
func (c Config) startNode(n node, all *children) {
	containerd, env := c.containerdCommand()
	go all.keep(containerd, env)
	c.importPause(all)
	tools := append(c.selfWithTools(Policies), NodeFlag, n.name())
	go all.keep(c.kubeProxyCommand(n), nil)
	go all.keep(tools, c.selfEnv())
	go all.keep(c.kubeletCommand(n), nil)
}

// importPause gives the node's containerd the image of pod sandboxes, as soon as it answers.
func (c Config) importPause(all *children) {
	for (supervise.Probe{Socket: c.containerdSocket()}).Check(context.Background()) != nil {
		time.Sleep(socketPause)
	}
	for {
		err := c.importPauseOnce(all)
		if err == nil {
			return
		}
		slog.Error("import the image of pod sandboxes", "error", err)
		time.Sleep(childPause)
	}
}

func (c Config) importPauseOnce(all *children) error {
	if _, err := os.Stat(c.pauseMarker()); err == nil {
		return nil
	}
	archive, err := c.pauseArchive()
	if err != nil {
		return err
	}
	defer os.Remove(archive)
	ended, err := all.start(c.importCommand(archive), nil)
	if err != nil {
		return err
	}
	if status := <-ended; status.ExitStatus() != 0 {
		return fmt.Errorf("ctr has ended with %d", status.ExitStatus())
	}
	return os.WriteFile(c.pauseMarker(), nil, 0o644)
}

// children are the programs of a node. Its first process also takes the exit of every process that has lost its parent, so nothing else
// may wait for one.
type children struct {
	exits chan os.Signal
	mu    sync.Mutex
	ended map[int]chan syscall.WaitStatus
}

func newChildren() *children {
	all := &children{exits: make(chan os.Signal, 1), ended: map[int]chan syscall.WaitStatus{}}
	signal.Notify(all.exits, syscall.SIGCHLD)
	return all
}

// start starts a program; the channel gets how it has ended.
func (all *children) start(argv, env []string) (<-chan syscall.WaitStatus, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Dir: "/", Env: append(os.Environ(), env...), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	ended := make(chan syscall.WaitStatus, 1)
	all.ended[pid] = ended
	return ended, nil
}

// keep starts a program again whenever it ends.
func (all *children) keep(argv, env []string) {
	for {
		ended, err := all.start(argv, env)
		if err != nil {
			slog.Error("program of the node", "error", err)
		} else {
			slog.Error("a program of the node has ended", "program", argv[0], "code", (<-ended).ExitStatus())
		}
		time.Sleep(childPause)
	}
}

// reap takes the exits of all processes.
func (all *children) reap() error {
	for range all.exits {
		for all.reapOne() {
		}
	}
	return nil
}

// reapOne takes one exit if there is one.
func (all *children) reapOne() bool {
	all.mu.Lock() // a program that ends at once is not looked for before start knows it
	defer all.mu.Unlock()
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
	if err != nil || pid <= 0 {
		return false
	}
	if ended := all.ended[pid]; ended != nil {
		ended <- status
		delete(all.ended, pid)
	}
	return true
}
