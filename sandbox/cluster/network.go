package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/firewall"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/mounts"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/wholefile"
)

// kubeletSysctls are changed by the kubelet.
var kubeletSysctls = []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"}

// forwarding is the sysctl that makes a router of the machine.
const forwarding = "net/ipv4/ip_forward"

// sysctls that pods and virtual machines need.
var sysctls = map[string]string{
	forwarding:                           "1",
	"net/bridge/bridge-nf-call-iptables": "1",
	"net/ipv4/conf/all/rp_filter":        "0",
	"fs/inotify/max_user_instances":      "8192",
	"fs/inotify/max_user_watches":        "1048576",
}

// hostState remembers what the host was like before, to put it back.
type hostState struct {
	Sysctls map[string]string `json:"sysctls"`
	Created []string          `json:"created"` // files and directories outside the sandbox's that were not there
	Tables  []string          `json:"tables"`  // of nftables
	Mounts  map[string]string `json:"mounts"`  // that were not shared, and what they were
}

// outsideDirs are written to by programs that cannot be told otherwise.
var outsideDirs = []string{"/var/lib/cni", "/var/lib/kubelet", "/var/log/containers", "/var/log/pods", "/run/containerd", "/run/netns", "/etc/cni", "/run/xtables.lock"}

// insideDirs are what those programs make in outsideDirs; they go also where the directory around them was there before.
var insideDirs = []string{"/var/lib/cni/results", "/var/lib/kubelet/device-plugins", "/run/containerd/runc/k8s.io", "/run/containerd/runc", "/run/containerd/s"}

// sharedDirs are those of them that other programs of the machine use in the same way, also some that begin later.
var sharedDirs = []string{"/run/netns", "/var/lib/cni/results", "/run/containerd/runc/k8s.io", "/run/containerd/runc", "/run/containerd/s"}

// PrepareHost sets up the network and the kernel. It may be repeated.
func (c Config) PrepareHost(ctx context.Context) error {
	if err := c.rememberHost(ctx); err != nil {
		return err
	}
	for name, value := range sysctls {
		// A sysctl that does not exist, or that this machine does not let
		// root change, is not needed everywhere; the kubelet's complaint
		// would be clearer than ours.
		_ = os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0o644)
	}
	if err := mounts.Share(); err != nil {
		return err
	}
	if err := c.TakeEdge(ctx); err != nil {
		return err
	}
	return c.routeNodes()
}

func (c Config) hostStatePath() string { return c.path("host.json") }

func (c Config) rememberHost(ctx context.Context) error {
	if _, err := os.Stat(c.hostStatePath()); err == nil {
		return nil
	}
	mounts, err := mounts.Unshared()
	if err != nil {
		return err
	}
	state := hostState{Sysctls: map[string]string{}, Tables: firewall.Tables(ctx), Mounts: mounts}
	for _, name := range append(slices.Collect(maps.Keys(sysctls)), kubeletSysctls...) {
		if value, err := os.ReadFile(filepath.Join("/proc/sys", name)); err == nil {
			state.Sysctls[name] = strings.TrimSpace(string(value))
		}
	}
	for _, dir := range slices.Concat(insideDirs, outsideDirs) {
		if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
			state.Created = append(state.Created, dir)
		}
	}
	text, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.WriteIfChanged(c.hostStatePath(), text, 0o644)
}

// readHostState is what rememberHost recorded; ok is false where nothing of the host was changed.
func (c Config) readHostState() (state hostState, ok bool, err error) {
	text, err := os.ReadFile(c.hostStatePath())
	if errors.Is(err, os.ErrNotExist) {
		return state, false, nil
	}
	if err != nil {
		return state, false, err
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return state, false, fmt.Errorf("read %s: %w", c.hostStatePath(), err)
	}
	return state, true, nil
}

// forwardedBefore tells whether the machine routes for others without the sandbox.
func (c Config) forwardedBefore() (bool, error) {
	state, changed, err := c.readHostState()
	return !changed || state.Sysctls[forwarding] != "0", err
}

// restoreHost undoes what rememberHost recorded.
func (c Config) restoreHost(ctx context.Context) error {
	state, changed, err := c.readHostState()
	if err != nil || !changed {
		return err
	}
	for name, value := range state.Sysctls {
		_ = os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0o644)
	}
	mounts.Unshare(state.Mounts)
	for _, path := range state.Created {
		// What of the sandbox's was in a shared one is gone; the rest is somebody's, and then the directory stays.
		if entries, err := os.ReadDir(path); slices.Contains(sharedDirs, path) && err == nil && len(entries) > 0 {
			continue
		}
		_ = unix.Unmount(path, unix.MNT_DETACH)
		_ = os.RemoveAll(path)
	}
	if err := firewall.DropNew(ctx, state.Tables); err != nil {
		return err
	}
	return os.Remove(c.hostStatePath())
}

// ensureEdge makes the bridge with the addresses at which the sandbox is
// reached, and the routes of public and of Service addresses.
func ensureEdge() error {
	bridge, err := netlink.LinkByName(names.EdgeBridge)
	var missing netlink.LinkNotFoundError
	if errors.As(err, &missing) {
		attributes := netlink.NewLinkAttrs()
		attributes.Name = names.EdgeBridge
		bridge = &netlink.Bridge{LinkAttrs: attributes}
		err = netlink.LinkAdd(bridge)
	}
	if err != nil {
		return fmt.Errorf("bridge %s: %w", names.EdgeBridge, err)
	}
	for _, address := range []string{names.EdgeIP, names.RouterIP} {
		parsed, err := netlink.ParseAddr(address + names.EdgePrefix)
		if err != nil {
			return err
		}
		if err := netlink.AddrReplace(bridge, parsed); err != nil {
			return fmt.Errorf("address %s on %s: %w", address, names.EdgeBridge, err)
		}
	}
	if err := netlink.LinkSetUp(bridge); err != nil {
		return fmt.Errorf("bridge %s: %w", names.EdgeBridge, err)
	}
	// Public addresses that nobody answers for end here instead of leaving
	// through the machine's default route. Service addresses become those of
	// pods after routing, so they need a route too: there may be no default.
	for _, prefix := range []string{names.PublicPrefix, names.ServiceCIDR} {
		_, network, err := net.ParseCIDR(prefix)
		if err != nil {
			return err
		}
		route := &netlink.Route{LinkIndex: bridge.Attrs().Index, Dst: network, Scope: netlink.SCOPE_LINK}
		if err := netlink.RouteReplace(route); err != nil {
			return fmt.Errorf("route of %s: %w", prefix, err)
		}
	}
	return nil
}
