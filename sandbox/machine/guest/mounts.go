package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mounts builds the machine's root file system in its own mount namespace. Nothing of it shows on the host, and it all goes with pid 1.
type mounts struct {
	dir  string // of the machine, on the host
	root string
	spec Spec
}

func (m *mounts) build() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	for _, step := range []func() error{m.overlay, m.kernel, m.devices, m.cgroups, m.state} {
		if err := step(); err != nil {
			return err
		}
	}
	return m.enter()
}

func (m *mounts) overlay() error {
	lower := strings.Join(m.spec.Layers, ":")
	if strings.ContainsAny(m.dir+strings.Join(m.spec.Layers, ""), ",:\\") {
		return fmt.Errorf("the path %s or %s has one of the characters , : \\, which overlay mounts cannot have", m.dir, lower)
	}
	for _, d := range []string{UpperDir, WorkDir, RootDir, VarDir, VarDir + "/log/journal", VarDir + "/lib", VarDir + "/tmp", VarDir + "/cache"} {
		if err := os.MkdirAll(filepath.Join(m.dir, d), 0o755); err != nil {
			return err
		}
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", lower, filepath.Join(m.dir, UpperDir), filepath.Join(m.dir, WorkDir))
	if err := unix.Mount("overlay", m.root, "overlay", 0, options); err != nil {
		return fmt.Errorf("mounting the root file system (%s): %w", options, err)
	}
	if err := m.bind(filepath.Join(m.dir, VarDir), "/var", false); err != nil {
		return err
	}
	if err := os.Chmod(filepath.Join(m.root, "/var/tmp"), 0o1777|os.ModeSticky); err != nil {
		return err
	}
	if err := replaceLink(filepath.Join(m.root, "/var/run"), "/run"); err != nil {
		return err
	}
	return m.bind(filepath.Join(m.root, "usr"), "/usr", m.spec.ReadOnlyUsr)
}

func replaceLink(path, target string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Symlink(target, path)
}

func (m *mounts) bind(from, to string, readOnly bool) error {
	target := filepath.Join(m.root, to)
	if err := unix.Mount(from, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("showing %s at %s: %w", from, to, err)
	}
	if !readOnly {
		return nil
	}
	if err := unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("making %s read-only: %w", to, err)
	}
	return nil
}

func (m *mounts) mount(kind, to string, flags uintptr, options string) error {
	target := filepath.Join(m.root, to)
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(kind, target, kind, flags, options); err != nil {
		return fmt.Errorf("mounting %s at %s (%s): %w", kind, to, options, err)
	}
	return nil
}

func (m *mounts) kernel() error {
	const safe = unix.MS_NOSUID | unix.MS_NODEV
	return errors.Join(
		m.mount("proc", "/proc", safe|unix.MS_NOEXEC, ""),
		m.mount("sysfs", "/sys", safe|unix.MS_NOEXEC, ""),
		m.mount("tmpfs", "/run", safe, "mode=755"),
		m.mount("tmpfs", "/dev", unix.MS_NOSUID, "mode=755"),
	)
}

var deviceNodes = map[string][2]uint32{
	"null": {1, 3}, "zero": {1, 5}, "full": {1, 7}, "random": {1, 8}, "urandom": {1, 9}, "kmsg": {1, 11}, "tty": {5, 0}, "fuse": {10, 229}, "net/tun": {10, 200},
}

func (m *mounts) devices() error {
	dev := filepath.Join(m.root, "dev")
	if err := os.MkdirAll(filepath.Join(dev, "net"), 0o755); err != nil {
		return err
	}
	for name, number := range deviceNodes {
		path := filepath.Join(dev, name)
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(number[0], number[1]))); err != nil {
			return fmt.Errorf("making /dev/%s: %w", name, err)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"} {
		if err := os.Symlink(target, filepath.Join(dev, name)); err != nil {
			return err
		}
	}
	console := filepath.Join(dev, "ttyS0")
	if err := os.WriteFile(console, nil, 0o600); err != nil {
		return err
	}
	if err := m.bind(filepath.Join(m.dir, ConsoleFile), "/dev/ttyS0", false); err != nil {
		return err
	}
	return errors.Join(
		m.mount("devpts", "/dev/pts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620,gid=5"),
		m.mount("tmpfs", "/dev/shm", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"),
		m.mount("mqueue", "/dev/mqueue", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""),
	)
}

// cgroups mounts the machine's own part of the hierarchies: the cgroup namespace makes it look like the whole.
func (m *mounts) cgroups() error {
	if len(m.spec.Controllers) == 0 {
		if err := m.mount("cgroup2", "/sys/fs/cgroup", 0, ""); err != nil {
			return err
		}
		return m.fixedDevices()
	}
	if err := m.mount("tmpfs", "/sys/fs/cgroup", 0, "mode=755"); err != nil {
		return err
	}
	names := make([]string, 0, len(m.spec.Controllers))
	for name := range m.spec.Controllers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		options := m.spec.Controllers[name]
		kind := "cgroup"
		if options == "cgroup2" {
			kind, options = "cgroup2", ""
		}
		if err := m.mount(kind, "/sys/fs/cgroup/"+name, 0, options); err != nil {
			return err
		}
	}
	return m.fixedDevices()
}

// fixedDevices makes /sys read-only: by that systemd knows that devices neither come nor go here.
func (m *mounts) fixedDevices() error {
	target := filepath.Join(m.root, "sys")
	if err := unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("making /sys read-only: %w", err)
	}
	return nil
}

// state puts what the machine must know where it can read it, and the size it has over /proc/meminfo and /proc/cpuinfo.
func (m *mounts) state() error {
	dir := filepath.Join(m.root, stateDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(m.dir, CustomDataFile))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, CustomDataFile), data, 0o600); err != nil {
		return err
	}
	for name, change := range map[string]func([]byte, Spec) []byte{"meminfo": memInfo, "cpuinfo": cpuInfo} {
		host, err := os.ReadFile("/proc/" + name)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, change(host, m.spec), 0o444); err != nil {
			return err
		}
		if err := m.bind(file, "/proc/"+name, true); err != nil {
			return err
		}
	}
	return m.topology()
}

// enter makes the new tree the root and forgets the host's.
func (m *mounts) enter() error {
	if err := os.Chdir(m.root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("entering the root file system: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leaving the host's root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	// the kubelet needs volumes to propagate into containers
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("sharing mounts: %w", err)
	}
	return nil
}
