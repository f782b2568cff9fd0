package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// startFD is the pipe on which the hypervisor says that network and cgroups are ready.
const startFD = 3

// Run is pid 1. It is started with the machine's directory in fresh namespaces, builds the root file system and executes itself in it;
// the second start provisions and runs units until the machine is told to stop. It only returns when the machine cannot boot.
func Run(args []string) error {
	if len(args) == 1 && args[0] == stageRunning {
		return running()
	}
	if len(args) != 1 {
		return errors.New("vm-init is started by the hypervisor with the directory of a machine")
	}
	return boot(args[0])
}

func boot(dir string) error {
	runtime.LockOSThread() // the cgroup namespace is the thread's, and stays with it through exec
	start := os.NewFile(startFD, "start")
	if n, err := start.Read(make([]byte, 1)); n != 1 {
		return fmt.Errorf("the hypervisor went away before the machine was ready to boot: %w", err)
	}
	start.Close()
	raw, err := os.ReadFile(filepath.Join(dir, SpecFile))
	if err != nil {
		return err
	}
	var spec Spec
	if err := json.Unmarshal(raw, &spec); err != nil {
		return fmt.Errorf("%s: %w", SpecFile, err)
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("own view of cgroups: %w", err)
	}
	if err := unix.Sethostname([]byte(spec.Hostname)); err != nil {
		return fmt.Errorf("setting the host name: %w", err)
	}
	m := &mounts{dir: dir, root: filepath.Join(dir, RootDir), spec: spec}
	if err := m.build(); err != nil {
		return err
	}
	if err := identity(spec); err != nil {
		return err
	}
	if err := network(spec); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(stateDir, SpecFile), raw, 0o600); err != nil {
		return err
	}
	args := append(initArgs(os.Args, dir), stageRunning)
	return fmt.Errorf("executing pid 1: %w", unix.Exec(fmt.Sprintf("/proc/self/fd/%d", self.Fd()), args, environment(spec)))
}

// initArgs keeps the words before the directory, so that the same program dispatches to Run again.
func initArgs(args []string, dir string) []string {
	for i, a := range args {
		if a == dir {
			return append([]string{}, args[:i]...)
		}
	}
	return args
}

// environment is systemd's: it takes a machine for a container and leaves the host's hardware alone.
func environment(spec Spec) []string {
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "container=embedded-azure"}
	if spec.VMID != "" {
		env = append(env, "container_uuid="+spec.VMID) // becomes /etc/machine-id, as the id of the hardware does
	}
	return env
}

// identity writes the files that name the machine, at the first boot only: from then on they are the machine's.
func identity(spec Spec) error {
	address, _, _ := strings.Cut(spec.Address, "/")
	for path, text := range map[string]string{
		"/etc/hostname": spec.Hostname + "\n",
		"/etc/hosts":    fmt.Sprintf("127.0.0.1 localhost\n%s %s\n", address, spec.Hostname),
	} {
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// network configures eth0, which the hypervisor has put here.
func network(spec Spec) error {
	for _, name := range []string{"lo", "eth0"} {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
		if name == "eth0" {
			addr, err := netlink.ParseAddr(spec.Address)
			if err != nil {
				return fmt.Errorf("address %s: %w", spec.Address, err)
			}
			if err := netlink.AddrReplace(link, addr); err != nil {
				return fmt.Errorf("address %s: %w", spec.Address, err)
			}
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	if err := netlink.RouteReplace(&netlink.Route{Gw: net.ParseIP(spec.Gateway)}); err != nil {
		return fmt.Errorf("default route by %s: %w", spec.Gateway, err)
	}
	return networkFiles(spec)
}

// networkFiles tell systemd-networkd what the initramfs has configured, and keep it from the interfaces of pods. Until
// systemd-resolved runs, names are resolved by Azure's server itself.
func networkFiles(spec Spec) error {
	files := map[string]string{
		"/run/systemd/network/10-eth0.network": fmt.Sprintf("[Match]\nName=eth0\n[Network]\nAddress=%s\nGateway=%s\nDNS=%s\nKeepConfiguration=yes\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n",
			spec.Address, spec.Gateway, spec.DNS),
		"/run/systemd/network/50-unmanaged.network": "[Match]\nName=cni* cali* cilium* flannel* veth* cbr0 docker*\n[Link]\nUnmanaged=yes\n",
		"/run/systemd/resolve/stub-resolv.conf":     "nameserver " + spec.DNS + "\n",
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// systemd is pid 1 of the operating system.
const systemd = "/usr/lib/systemd/systemd"

// running is pid 1 in its own root file system, until systemd is.
func running() error {
	console := os.Stdout
	say := func(format string, args ...any) {
		fmt.Fprintf(console, "[%s] "+format+"\n", append([]any{time.Now().UTC().Format("15:04:05.000")}, args...)...)
	}
	say("boot")
	ctx, stop := signal.NotifyContext(context.Background(), PowerOff, unix.SIGTERM, unix.SIGINT)
	defer stop()
	if err := provision(ctx, console); err != nil {
		say("boot failed: %v", err)
		say("the machine stays on so that it can be looked at; delete it, or repair its configuration and make it anew")
		<-ctx.Done() // like a machine in its emergency shell
		return nil
	}
	say("ignition finished; systemd starts")
	return fmt.Errorf("executing systemd: %w", unix.Exec(systemd, []string{systemd, "--system", "--log-target=journal", "--show-status=no"}, os.Environ()))
}

// PowerOff is the signal by which pid 1 powers its machine off: systemd's SIGRTMIN+4.
const PowerOff = unix.Signal(38)
