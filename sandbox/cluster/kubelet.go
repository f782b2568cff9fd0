package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/wholefile"
)

var memTotal = regexp.MustCompile(`(?m)^MemTotal:.*$`)
var memAvailable = regexp.MustCompile(`(?m)^(MemFree|MemAvailable):.*$`)

// RunKubelet replaces this process by the kubelet, in a mount namespace where
// the machine has the size the node advertises.
func RunKubelet(c Config) error {
	// The namespace belongs to this thread; exec makes it the process's.
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("mount namespace for the kubelet: %w", err)
	}
	// Mounts of volumes must reach the host, those that hide the machine's size not.
	for _, tree := range []string{"/proc", "/sys"} {
		if err := unix.Mount("", tree, "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("make %s private: %w", tree, err)
		}
	}
	if err := c.hideMachine(); err != nil {
		return err
	}
	argv := c.kubeletCommand(node{})
	return syscall.Exec(argv[0], argv, os.Environ())
}

// hideMachine shows programs of this mount namespace a machine of the size that a node advertises.
func (c Config) hideMachine() error {
	if err := c.fakeMachine(); err != nil {
		return fmt.Errorf("the node's advertised size: %w", err)
	}
	binds := map[string]string{"meminfo": "/proc/meminfo", "cpu": "/sys/devices/system/cpu", "node": "/sys/devices/system/node"}
	for name, target := range binds {
		if _, err := os.Stat(target); err != nil {
			continue // no NUMA information: nothing to hide
		}
		if err := unix.Mount(c.machineDir(name), target, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s: %w", target, err)
		}
	}
	return nil
}

func (c Config) machineDir(name string) string { return c.cluster("machine", name) }

// fakeMachine writes what the kubelet reads to learn the size of the machine.
func (c Config) fakeMachine() error {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return err
	}
	fake := memTotal.ReplaceAll(text, fmt.Appendf(nil, "MemTotal: %d kB", names.NodeMemoryKB))
	fake = memAvailable.ReplaceAll(fake, fmt.Appendf(nil, "$1: %d kB", names.NodeMemoryKB))
	const cpus = "/sys/devices/system/cpu/"
	online, err := os.ReadFile(cpus + "online")
	if err != nil {
		return err
	}
	files := map[string]string{"meminfo": string(fake), "cpu/online": string(online)}
	for i := range names.NodeCPUs {
		// All directories count; those without a topology are not used to
		// place anything on, which would fail.
		topology := fmt.Sprintf("cpu%d/topology/", i)
		if err := os.MkdirAll(c.machineDir("cpu/"+topology), 0o755); err != nil {
			return err
		}
		for _, name := range []string{"core_id", "physical_package_id"} {
			if text, err := os.ReadFile(cpus + topology + name); err == nil {
				files["cpu/"+topology+name] = string(text)
			}
		}
	}
	if err := os.MkdirAll(c.machineDir("node"), 0o755); err != nil {
		return err
	}
	for name, content := range files {
		path := c.machineDir(name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := wholefile.WriteIfChanged(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}
