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

func environment(spec Spec) []string {
	path := []string{"/usr/local/sbin", "/usr/local/bin"}
	env := []string{"HOME=/root", "LANG=C.UTF-8"}
	if spec.Binaries != "" {
		for _, d := range []string{"", "/sbin", "/bin", "/usr/sbin", "/usr/bin"} {
			path = append(path, OSDir+d)
		}
	}
	path = append(path, "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/opt/bin")
	return append(env, "PATH="+strings.Join(path, ":"))
}

// identity writes the files that name the machine, at the first boot only: from then on they are the machine's.
func identity(spec Spec) error {
	address, _, _ := strings.Cut(spec.Address, "/")
	for path, text := range map[string]string{
		"/etc/hostname":    spec.Hostname + "\n",
		"/etc/hosts":       fmt.Sprintf("127.0.0.1 localhost\n%s %s\n", address, spec.Hostname),
		"/etc/resolv.conf": "nameserver " + spec.DNS + "\n",
	} {
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	id, err := os.ReadFile("/proc/sys/kernel/random/uuid")
	if err != nil {
		return err
	}
	if info, err := os.Stat("/etc/machine-id"); err == nil && info.Size() > 0 {
		return nil
	}
	return os.WriteFile("/etc/machine-id", []byte(strings.ReplaceAll(strings.TrimSpace(string(id)), "-", "")+"\n"), 0o444)
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
	return nil
}

// running is pid 1 in its own root file system.
func running() error {
	log := bootLog(os.Stdout)
	log("boot")
	raw, err := os.ReadFile(filepath.Join(stateDir, SpecFile))
	if err != nil {
		return err
	}
	var spec Spec
	if err := json.Unmarshal(raw, &spec); err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGTERM, unix.SIGINT)
	m := &manager{reap: newReaper(), logDir: unitLogDir, hostname: spec.Hostname, env: os.Environ(), log: log}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-stop
		log("power off")
		cancel()
	}()
	if err := up(ctx, m, spec); err != nil {
		log("boot failed: %v", err)
		log("the machine stays on so that it can be looked at; delete it, or repair its configuration and restart it")
		<-ctx.Done() // like a machine in its emergency shell
		return nil
	}
	<-ctx.Done()
	m.stopped()
	return nil
}

func up(ctx context.Context, m *manager, spec Spec) error {
	if err := provision(ctx, m.log); err != nil {
		return err
	}
	sysctls("/etc/sysctl.d", m.log)
	if name, err := os.ReadFile("/etc/hostname"); err == nil {
		m.hostname = strings.TrimSpace(string(name))
		if err := unix.Sethostname([]byte(m.hostname)); err != nil {
			return fmt.Errorf("setting the host name: %w", err)
		}
	}
	set, err := loadUnits(unitDir, spec.Containerd, m.log)
	if err != nil {
		return err
	}
	m.start(ctx, set)
	m.log("all units started")
	return nil
}

// provision applies the configuration once in the life of the machine.
func provision(ctx context.Context, log func(string, ...any)) error {
	if _, err := os.Stat(resultFile); err == nil {
		return nil
	}
	raw, err := os.ReadFile(filepath.Join(stateDir, CustomDataFile))
	if err != nil {
		return err
	}
	if len(strings.TrimSpace(string(raw))) == 0 {
		log("ignition: no configuration")
		return os.WriteFile(resultFile, []byte("{}\n"), 0o600)
	}
	cfg, err := parseConfig(raw)
	if err != nil {
		return err
	}
	f := newFetcher(func(format string, args ...any) { log("ignition: "+format, args...) })
	if cfg, err = f.resolve(ctx, cfg); err != nil {
		return fmt.Errorf("ignition: %w", err)
	}
	p := &provisioner{root: "/", fetch: f}
	if err := p.apply(ctx, cfg); err != nil {
		return fmt.Errorf("ignition: %w", err)
	}
	log("ignition: finished: %d files, %d units", len(cfg.Storage.Files), len(cfg.Systemd.Units))
	return os.WriteFile(resultFile, []byte("{\"userConfigProvided\":true}\n"), 0o600)
}

// sysctls applies kernel settings; one the kernel does not have is a line in the log, as at systemd-sysctl.
func sysctls(dir string, log func(string, ...any)) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.conf"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			log("sysctl: %v", err)
			continue
		}
		for _, kv := range envFile(string(data)) {
			key, value, _ := strings.Cut(kv, "=")
			optional := strings.HasPrefix(key, "-")
			path := "/proc/sys/" + strings.ReplaceAll(strings.TrimSpace(strings.TrimPrefix(key, "-")), ".", "/")
			if err := os.WriteFile(path, []byte(strings.TrimSpace(value)), 0); err != nil && !optional {
				log("sysctl: %v", err)
			}
		}
	}
}
