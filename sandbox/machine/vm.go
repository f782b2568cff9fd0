package machine

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/cgroup"
	"github.com/hypershift-on-azure/hypershift/sandbox/machine/guest"
	"github.com/hypershift-on-azure/hypershift/sandbox/machine/system"
)

const (
	recordFile = "machine.json"
	pidFile    = "pid"
	bootLog    = guest.ConsoleFile
	graceful   = 5 * time.Second // a power-off; Azure gives a machine minutes
)

// record is what the hypervisor remembers of a machine in its directory.
type record struct {
	ID         string         `json:"id"`
	VMID       string         `json:"vmId"`
	Layers     []string       `json:"layers"` // of its operating system, which a machine keeps
	Profile    system.Profile `json:"profile"`
	Generation uint64         `json:"generation"`
	Hollow     bool           `json:"hollow,omitempty"` // for life
}

// vm is a machine of this host.
type vm struct {
	cfg    Config
	groups []cgroup.Hierarchy
	dir    string
	record record

	pid   int
	pidfd int           // -1 when off
	died  chan struct{} // closed when pid 1 has ended and is collected

	started  time.Time
	failures int

	hollow *hollowRun // of a hollow machine that runs
}

func (v *vm) group() string { return v.cfg.Prefix + "-" + short(v.record.ID) }
func (v *vm) link() string  { return "vm" + short(v.record.ID) }

// loadVM reads a machine's directory and adopts its pid 1 if that is still running.
func loadVM(cfg Config, groups []cgroup.Hierarchy, dir string) (*vm, error) {
	v := &vm{cfg: cfg, groups: groups, dir: dir, pidfd: -1}
	raw, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &v.record); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, recordFile), err)
	}
	raw, err = os.ReadFile(filepath.Join(dir, pidFile))
	if errors.Is(err, os.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	pid, start, _ := strings.Cut(strings.TrimSpace(string(raw)), " ")
	n, err := strconv.Atoi(pid)
	if err != nil {
		return v, nil // cut short by a crash: pid 1 had not been told to go on
	}
	v.watch(n, start, nil)
	return v, nil
}

// running tells whether pid 1 is alive.
func (v *vm) running() bool {
	if v.pidfd < 0 {
		return false
	}
	select {
	case <-v.died:
		unix.Close(v.pidfd)
		v.pidfd = -1
		return false
	default:
		return true
	}
}

// watch holds on to pid 1; a process that merely has its number has another start time.
func (v *vm) watch(pid int, start string, cmd *exec.Cmd) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	if actual, err := startTime(pid); err != nil || actual != start {
		unix.Close(fd)
		return
	}
	died := make(chan struct{})
	v.pid, v.pidfd, v.died = pid, fd, died
	go func() {
		for {
			_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
		if cmd != nil {
			_ = cmd.Wait() // how pid 1 ended is in its log
		}
		close(died)
	}()
}

// startTime of a living process, in clock ticks since boot.
func startTime(pid int) (string, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(raw), ") ") // the name in parentheses may have blanks
	fields := strings.Fields(rest)
	if len(fields) < 20 || fields[0] == "Z" {
		return "", os.ErrProcessDone
	}
	return fields[19], nil
}

// boot starts the machine's pid 1, gives it network and cgroups, and lets it go.
func (v *vm) boot(m feed.Machine, r *router) error {
	if len(v.record.Layers) == 0 {
		var err error
		v.record.Profile = system.Of(m.ImageReference)
		if v.record.Layers, err = layers(v.cfg, v.record.Profile); err != nil {
			return err
		}
	}
	v.record.Generation = m.Generation
	nic, subnet, err := placement(m, r.network)
	if err != nil {
		return err
	}
	if err := v.write(m, nic, subnet); err != nil {
		return err
	}
	if err := cgroup.Make(v.groups, v.group(), m.MemoryMiB); err != nil {
		return err
	}
	start, cmd, err := v.spawn()
	if err != nil {
		return err
	}
	defer start.Close()
	if err := v.connect(cmd, r, nic); err != nil {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		if v.pidfd < 0 {
			_ = cmd.Wait()
		}
		return err
	}
	if _, err := start.Write([]byte{1}); err != nil {
		return fmt.Errorf("starting pid 1: %w", err)
	}
	return nil
}

func (v *vm) connect(cmd *exec.Cmd, r *router, nic feed.NIC) error {
	pid := cmd.Process.Pid
	if err := cgroup.Join(v.groups, v.group(), pid); err != nil {
		return err
	}
	if err := v.plug(r, netlink.NsPid(pid), nic.MAC); err != nil {
		return fmt.Errorf("network link: %w", err)
	}
	ticks, err := startTime(pid)
	if err != nil {
		return fmt.Errorf("pid 1 died at once; see %s: %w", filepath.Join(v.dir, bootLog), err)
	}
	if err := writeFile(filepath.Join(v.dir, pidFile), fmt.Sprintf("%d %s\n", pid, ticks), 0o644); err != nil {
		return err
	}
	v.watch(pid, ticks, cmd)
	if v.pidfd < 0 {
		return fmt.Errorf("pid 1 died at once; see %s", filepath.Join(v.dir, bootLog))
	}
	return nil
}

// placement finds the primary NIC and its subnet.
func placement(m feed.Machine, n feed.Network) (feed.NIC, feed.Subnet, error) {
	for i, nic := range m.NICs {
		if !nic.Primary && i != len(m.NICs)-1 {
			continue
		}
		for _, s := range n.Subnets {
			if strings.EqualFold(s.ID, nic.SubnetID) {
				return nic, s, nil
			}
		}
	}
	return feed.NIC{}, feed.Subnet{}, fmt.Errorf("machine %s has no network interface in a subnet of %s", m.Name, n.Name)
}

// write puts what pid 1 reads into the machine's directory.
func (v *vm) write(m feed.Machine, nic feed.NIC, subnet feed.Subnet) error {
	prefix, err := netip.ParsePrefix(subnet.Prefix)
	if err != nil {
		return err
	}
	address, err := netip.ParseAddr(nic.PrivateIP)
	if err != nil {
		return fmt.Errorf("address of machine %s: %w", m.Name, err)
	}
	custom, err := base64.StdEncoding.DecodeString(m.CustomData)
	if err != nil {
		return fmt.Errorf("custom data of machine %s: %w", m.Name, err)
	}
	name := m.ComputerName
	if name == "" {
		name = m.Name
	}
	spec := guest.Spec{
		Hostname: name, VMID: v.record.VMID, Address: netip.PrefixFrom(address, prefix.Bits()).String(), Gateway: gateway(prefix).String(), DNS: azureAddress,
		VCPUs: m.VCPUs, MemoryMiB: m.MemoryMiB, Layers: v.record.Layers, ReadOnlyUsr: v.record.Profile.ReadOnlyUsr(), Controllers: map[string]string{},
	}
	for _, h := range v.groups {
		if h.Name != "" {
			spec.Controllers[h.Name] = h.Options
		}
	}
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return err
	}
	for file, doc := range map[string]any{guest.SpecFile: spec, recordFile: v.record} {
		raw, err := json.MarshalIndent(doc, "", "  ")
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(v.dir, file), string(raw)+"\n", 0o644); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(v.dir, guest.CustomDataFile), string(custom), 0o600)
}

// writeFile replaces a file as a whole.
func writeFile(path, text string, mode os.FileMode) error {
	if err := os.WriteFile(path+".new", []byte(text), mode); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// spawn starts pid 1 in its namespaces; it waits for a byte on the pipe.
func (v *vm) spawn() (start *os.File, cmd *exec.Cmd, err error) {
	log, err := os.OpenFile(filepath.Join(v.dir, bootLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	cmd = exec.Command(v.cfg.Self, "sandbox", "run", "vm-init", v.dir)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles, cmd.Dir = log, log, []*os.File{r}, "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWNET,
	}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, nil, fmt.Errorf("starting pid 1: %w", err)
	}
	return w, cmd, nil
}

// plug connects the machine's eth0, in the namespace of a process or of a file, with the bridge of its network.
func (v *vm) plug(r *router, inside any, mac string) error {
	nl, err := r.ns.netlink()
	if err != nil {
		return err
	}
	defer nl.Close()
	if old, err := nl.LinkByName(v.link()); err == nil { // of an earlier boot: the kernel takes a namespace down in its own time
		if err := nl.LinkDel(old); err != nil && !errors.Is(err, unix.ENODEV) {
			return err
		}
	}
	bridge, err := nl.LinkByName(routerBridge)
	if err != nil {
		return err
	}
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: v.link(), MasterIndex: bridge.Attrs().Index}, PeerName: "eth0", PeerNamespace: inside}
	if hw, err := net.ParseMAC(mac); err == nil {
		veth.PeerHardwareAddr = hw
	}
	if err := nl.LinkAdd(veth); err != nil {
		return err
	}
	if err := nl.LinkSetIsolated(veth, true); err != nil {
		return fmt.Errorf("isolating the machine from its neighbours: %w", err)
	}
	return linkUp(nl, v.link())
}

// stop ends the machine: softly it is told to power off first. When stop returns no process of the machine is left.
func (v *vm) stop(softly bool) error {
	if !v.running() {
		return nil
	}
	if softly {
		_ = unix.PidfdSendSignal(v.pidfd, guest.PowerOff, nil, 0)
		select {
		case <-v.died:
		case <-time.After(graceful):
		}
	}
	_ = unix.PidfdSendSignal(v.pidfd, unix.SIGKILL, nil, 0) // the kernel kills everything in its namespace
	select {
	case <-v.died:
	case <-time.After(10 * time.Second):
		return fmt.Errorf("pid %d of machine %s does not die", v.pid, filepath.Base(v.dir))
	}
	v.running()
	return nil
}

// halt ends the machine and leaves its directory, from which it can boot again.
func (v *vm) halt(softly bool) error {
	if v.record.Hollow {
		return v.stopHollow()
	}
	if err := v.stop(softly); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(v.dir, pidFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return cgroup.Remove(v.groups, v.group())
}

// remove ends the machine and leaves nothing of it.
func (v *vm) remove() error {
	if err := v.halt(false); err != nil {
		return err
	}
	return os.RemoveAll(v.dir)
}
