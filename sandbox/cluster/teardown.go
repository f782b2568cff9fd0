package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/firewall"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/mounts"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/netpol"
	"github.com/hypershift-on-azure/hypershift/sandbox/listing"
)

// Teardown removes what the cluster's processes have left on the host. They
// must have been stopped before. Every step is tried; what fails is reported
// together.
func (c Config) Teardown(ctx context.Context) error {
	if _, err := os.Stat(c.hostStatePath()); errors.Is(err, os.ErrNotExist) {
		// There was no cluster: pods and chains, if any, are somebody else's.
		return errors.Join(deleteLink(names.EdgeBridge), firewall.LetStrangersIn(ctx), os.RemoveAll(c.runDir()))
	}
	var problems []error
	problems = append(problems, c.thawDisks(), c.killPods(ctx))
	problems = append(problems, c.removePodNetworks())
	problems = append(problems, c.unmountAll(), c.detachDisks(ctx))
	problems = append(problems, removePorts(names.PodBridge))
	for _, link := range []string{names.PodBridge, names.EdgeBridge} {
		problems = append(problems, deleteLink(link))
	}
	problems = append(problems, firewall.Clean(ctx, netpol.Table))
	problems = append(problems, removeCgroups(ctx), c.removeNodes())
	problems = append(problems, removeShimState(c.runDir()+"/containerd", "/run/containerd"))
	problems = append(problems, os.RemoveAll(c.runDir()))
	problems = append(problems, removeLinksInto("/var/log/containers", c.cluster("pod-logs")))
	problems = append(problems, c.restoreHost(ctx))
	return errors.Join(problems...)
}

// podCgroups are the cgroups of all pods: one on version 2, on version 1 one
// for each controller.
func podCgroups() []string {
	one, _ := filepath.Glob("/sys/fs/cgroup/kubepods")
	many, _ := filepath.Glob("/sys/fs/cgroup/*/kubepods")
	return append(one, many...)
}

// killPods ends every container with the shim that watches it.
func (c Config) killPods(ctx context.Context) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		pids := append(c.shims(), podProcesses()...)
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v of pods do not end", pids)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// shims are the processes that belong to our containerd.
func (c Config) shims() []int {
	var pids []int
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("containerd-shim")) || !bytes.Contains(text, []byte(c.containerdSocket())) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// removeShimState removes what the containers of one containerd have in the
// directory that shims and runc share with any other containerd.
func removeShimState(state, shared string) error {
	tasks, err := filepath.Glob(filepath.Join(state, "io.containerd.runtime.v2.task", "*", "*"))
	if err != nil {
		return err
	}
	var problems []error
	for _, task := range tasks {
		namespace, id := filepath.Base(filepath.Dir(task)), filepath.Base(task)
		problems = append(problems, os.RemoveAll(filepath.Join(shared, "runc", namespace, id)))
		address, err := os.ReadFile(filepath.Join(task, "address"))
		socket := strings.TrimPrefix(strings.TrimSpace(string(address)), "unix://")
		if err == nil && filepath.Dir(socket) == filepath.Join(shared, "s") {
			problems = append(problems, removeFile(socket)) // the containers of a pod share one
		}
	}
	return errors.Join(problems...)
}

// removeLinksInto removes the symbolic links that lead from one directory to below another: the kubelet makes one for each container's
// log, in a directory that every kubelet of a machine shares.
func removeLinksInto(dir, target string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	problems := []error{err}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if to, err := os.Readlink(path); err == nil && strings.HasPrefix(to, target+"/") {
			problems = append(problems, removeFile(path))
		}
	}
	return errors.Join(problems...)
}

func podProcesses() []int {
	seen := map[int]bool{}
	for _, root := range podCgroups() {
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.Name() != "cgroup.procs" {
				return nil
			}
			text, _ := os.ReadFile(path)
			for _, field := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
					seen[pid] = true
				}
			}
			return nil
		})
	}
	pids := make([]int, 0, len(seen))
	for pid := range seen {
		pids = append(pids, pid)
	}
	return pids
}

func removeCgroups(ctx context.Context) error {
	for range 100 {
		for _, root := range podCgroups() {
			removeTree(root)
		}
		if len(podCgroups()) == 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(20 * time.Millisecond) // the kernel lets go of ended processes a little later
	}
	return fmt.Errorf("cgroups %v cannot be removed", podCgroups())
}

// removeTree removes a directory of cgroups, the innermost first.
func removeTree(root string) {
	entries, _ := os.ReadDir(root)
	for _, entry := range entries {
		if entry.IsDir() {
			removeTree(filepath.Join(root, entry.Name()))
		}
	}
	_ = syscall.Rmdir(root)
}

// removePodNetworks removes the network namespaces that our pods had, and what
// the network plugins remember of them.
func (c Config) removePodNetworks() error {
	var problems []error
	namespaces, _ := filepath.Glob("/run/netns/cni-*")
	for _, path := range namespaces {
		if !isPodNamespace(path) {
			continue
		}
		_ = unix.Unmount(path, unix.MNT_DETACH)
		problems = append(problems, removeFile(path))
	}
	paths, _ := filepath.Glob("/var/lib/cni/results/" + names.CNINetwork + "-*")
	for _, path := range paths {
		id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), names.CNINetwork+"-"), "-eth0")
		loopback := filepath.Join(filepath.Dir(path), "cni-loopback-"+id+"-lo")
		problems = append(problems, removeFile(path), removeFile(loopback))
	}
	return errors.Join(problems...)
}

// isPodNamespace tells whether a namespace has an address of our pod network,
// or is one that a pod has lost.
func isPodNamespace(path string) bool {
	ns, err := netns.GetFromPath(path)
	if err != nil {
		return true // a file that nothing is mounted on any more
	}
	defer ns.Close()
	handle, err := netlink.NewHandleAt(ns)
	if err != nil {
		return false
	}
	defer handle.Close()
	links, err := listing.Complete(handle.LinkList)
	if err != nil {
		return false
	}
	_, pods, err := net.ParseCIDR(names.PodCIDR)
	if err != nil {
		return false
	}
	addresses, err := listing.Complete(func() ([]netlink.Addr, error) { return handle.AddrList(nil, netlink.FAMILY_V4) })
	if err != nil {
		return false
	}
	inPods := func(a netlink.Addr) bool { return pods.Contains(a.IP) }
	isLoopback := func(l netlink.Link) bool { return l.Attrs().Flags&net.FlagLoopback != 0 }
	return slices.ContainsFunc(addresses, inPods) || !slices.ContainsFunc(links, func(l netlink.Link) bool { return !isLoopback(l) })
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// unmountAll unmounts what is mounted below the sandbox's directories.
func (c Config) unmountAll() error { return mounts.UnmountIf(c.owns) }

// owns tells whether a mount point is the sandbox's.
func (c Config) owns(target string) bool {
	for _, dir := range []string{c.Dir, c.runDir()} {
		if strings.HasPrefix(target, dir+"/") {
			return true
		}
	}
	return false
}

// removePorts removes what is plugged into a bridge: the host's ends of pods' links. They go with the pods' namespaces, but the kernel may
// hold one of those for a while when nobody else does.
func removePorts(name string) error {
	bridge, err := netlink.LinkByName(name)
	var missing netlink.LinkNotFoundError
	if errors.As(err, &missing) {
		return nil
	}
	if err != nil {
		return err
	}
	links, err := listing.Complete(netlink.LinkList)
	problems := []error{err}
	for _, link := range links {
		if link.Attrs().MasterIndex == bridge.Attrs().Index {
			problems = append(problems, deleteLink(link.Attrs().Name))
		}
	}
	return errors.Join(problems...)
}

func deleteLink(name string) error {
	link, err := netlink.LinkByName(name)
	var missing netlink.LinkNotFoundError
	if errors.As(err, &missing) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := netlink.LinkDel(link); !errors.Is(err, unix.ENODEV) {
		return err
	}
	return nil // it went by itself meanwhile
}
