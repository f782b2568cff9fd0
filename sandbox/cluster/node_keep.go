package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/cgroup"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/wholefile"
	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

// NodeState is what a node of the management cluster is made to be.
type NodeState string

// States of a node.
const (
	NodeUp          NodeState = "up"
	NodeDown        NodeState = "down"        // without power: all that ran on it has ended at once
	NodePartitioned NodeState = "partitioned" // everything on it runs, and nothing reaches it or is reached by it
	NodeDiskFull    NodeState = "disk-full"   // no room is left on the disk of its volumes
	NodeDiskSlow    NodeState = "disk-slow"   // every write to the disk of its volumes waits
)

const (
	nodeRestart = time.Second
	nodeSettles = 30 * time.Second
)

// keeper is the machine that a further node is: it has power or not, and is plugged in or not.
type keeper struct {
	c      Config
	n      node
	groups []cgroup.Hierarchy
	first  *exec.Cmd     // pid 1 of the node, nil without power
	ended  chan struct{} // closed when first has ended
	// relieve ends what makes the disk slow, nil when nothing does.
	relieve func()
}

// RunNode keeps a further node in the state that SetNode asks for. It ends with the context, and the node with it.
func RunNode(ctx context.Context, c Config, name string) error {
	n, err := c.findNode(name)
	if err != nil {
		return err
	}
	// The node's first process ends with the thread that has started it.
	runtime.LockOSThread()
	groups, err := cgroup.Hierarchies()
	if err != nil {
		return err
	}
	k := &keeper{c: c, n: n, groups: groups}
	defer k.cut()
	// A process that kept the node before, and was killed, may have left the disk as it is while it is slow.
	if err := c.volumesDisk(n).Thaw(); err != nil {
		return err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	for {
		var retry <-chan time.Time
		if err := k.settle(ctx); err != nil {
			slog.Error("node", "name", name, "error", err)
			retry = time.After(nodeRestart)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-asked:
		case <-retry:
		case <-k.ended:
			k.cut()
			slog.Error("the first process of the node has ended", "name", name)
		}
	}
}

// settle makes the node be what it is asked to be, and says so.
func (k *keeper) settle(ctx context.Context) error {
	wanted, err := k.c.wantedState(k.n)
	if err != nil {
		return err
	}
	if wanted != NodeDiskSlow {
		k.speedDisk()
	}
	if wanted == NodeDown {
		k.cut()
	} else {
		if err := k.power(ctx); err != nil {
			return err
		}
		if err := k.plug(wanted != NodePartitioned); err != nil {
			return err
		}
	}
	if err := k.spoilDisk(ctx, wanted); err != nil {
		return err
	}
	return wholefile.WriteIfChanged(k.c.disk(k.n, "is"), []byte(wanted), 0o644)
}

// power starts the node unless it runs.
func (k *keeper) power(ctx context.Context) error {
	if k.first != nil {
		return nil
	}
	if err := k.attachDisk(ctx); err != nil {
		return err
	}
	if err := errors.Join(deleteLink(k.n.link()), cgroup.Remove(k.groups, k.n.group()), cgroup.Make(k.groups, k.n.group(), 0)); err != nil {
		return fmt.Errorf("what is left of the node's last run: %w", err)
	}
	wait, start, err := os.Pipe()
	if err != nil {
		return err
	}
	defer wait.Close()
	defer start.Close()
	argv := append(k.c.selfWithTools(ManagementNodeInit), NodeFlag, k.n.name())
	first := exec.Command(argv[0], argv[1:]...)
	first.Stdout, first.Stderr, first.ExtraFiles = os.Stdout, os.Stderr, []*os.File{wait}
	first.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig:  syscall.SIGKILL,
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
	}
	if err := first.Start(); err != nil {
		return fmt.Errorf("start the first process of node %s: %w", k.n.name(), err)
	}
	ended := make(chan struct{})
	go func() {
		_ = first.Wait() // what it died of is in the log
		close(ended)
	}()
	k.first, k.ended = first, ended
	if err := k.connect(); err != nil {
		k.cut()
		return err
	}
	_, err = start.Write([]byte{1})
	return err
}

// connect lays the link of the node to the edge.
func (k *keeper) connect() error {
	edge, err := netlink.LinkByName(names.EdgeBridge)
	if err != nil {
		return fmt.Errorf("bridge %s: %w", names.EdgeBridge, err)
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MasterIndex = k.n.link(), edge.Attrs().Index
	veth := &netlink.Veth{LinkAttrs: attributes, PeerName: nodeLink, PeerNamespace: netlink.NsPid(k.first.Process.Pid)}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("link %s of node %s: %w", k.n.link(), k.n.name(), err)
	}
	return nil
}

// plug puts the cable in or out.
func (k *keeper) plug(in bool) error {
	link, err := netlink.LinkByName(k.n.link())
	if err != nil {
		return fmt.Errorf("link %s of node %s: %w", k.n.link(), k.n.name(), err)
	}
	if in {
		return netlink.LinkSetUp(link)
	}
	return netlink.LinkSetDown(link)
}

// cut takes the power away: the kernel ends everything below the node's first process.
func (k *keeper) cut() {
	k.speedDisk()
	if k.first == nil {
		return
	}
	_ = k.first.Process.Kill()
	<-k.ended
	k.first, k.ended = nil, nil
}

// wantedState is what SetNode has asked for, a running node at first.
func (c Config) wantedState(n node) (NodeState, error) {
	text, err := os.ReadFile(c.disk(n, "shall-be"))
	if errors.Is(err, os.ErrNotExist) {
		return NodeUp, nil
	}
	return NodeState(strings.TrimSpace(string(text))), err
}

// SetNode makes a further node be in a state, and returns when it is. The state outlives a restart of the sandbox.
func (c Config) SetNode(ctx context.Context, name string, state NodeState) error {
	n, err := c.findNode(name)
	if err != nil {
		return err
	}
	if err := c.mayFail(n, state); err != nil {
		return err
	}
	running, err := supervise.Query(ctx, c.Dir)
	if err != nil {
		return err
	}
	return c.ask(ctx, n, state, running.Parts[name].Process)
}

// ask has the process that keeps a node bring it into a state. A process that is not there reads the wish when it starts.
func (c Config) ask(ctx context.Context, n node, state NodeState, process supervise.Process) error {
	if err := wholefile.WriteIfChanged(c.disk(n, "shall-be"), []byte(state), 0o644); err != nil {
		return err
	}
	if process.Alive() {
		if err := syscall.Kill(process.PID, syscall.SIGHUP); err != nil {
			return fmt.Errorf("tell the process of node %s: %w", n.name(), err)
		}
	}
	return c.waitState(ctx, n, state)
}

// PowerNodes brings all nodes up that were made to fail.
func (c Config) PowerNodes(ctx context.Context) error {
	for _, n := range c.furtherNodes() {
		if wanted, err := c.wantedState(n); err != nil || wanted == NodeUp {
			continue
		}
		if err := c.SetNode(ctx, n.name(), NodeUp); err != nil {
			return err
		}
	}
	return nil
}

func (c Config) waitState(ctx context.Context, n node, state NodeState) error {
	ctx, cancel := context.WithTimeoutCause(ctx, nodeSettles, fmt.Errorf("not after %s", nodeSettles))
	defer cancel()
	for {
		if text, err := os.ReadFile(c.disk(n, "is")); err == nil && NodeState(text) == state {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %s does not become %s: see %s: %w", n.name(), state, c.path("logs", n.name()+".log"), context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// removeNodes removes what further nodes have left on the machine; their processes have ended.
func (c Config) removeNodes() error {
	groups, err := cgroup.Hierarchies()
	if err != nil {
		return err
	}
	var problems []error
	for _, group := range cgroup.With(groups, nodeGroups) {
		problems = append(problems, cgroup.Remove(groups, group))
	}
	for _, n := range c.furtherNodes() {
		problems = append(problems, deleteLink(n.link()), removeFile(filepath.Join(c.disk(n), "is")))
	}
	return errors.Join(problems...)
}
