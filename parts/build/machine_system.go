package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// machineSet is what the operating system of virtual machines is made from: systemd, Ignition, a container runtime and
// the tools that a kubelet calls. The lock file adds what they depend on.
var machineSet = packageSet{"machines", strings.Fields(`
	base-files base-passwd bash bzip2 ca-certificates conntrack containerd coreutils curl dbus debianutils diffutils e2fsprogs
	ebtables ethtool findutils grep gzip hostname ignition iproute2 ipset iptables iputils-ping kmod libc-bin login mawk mount
	netbase nftables openssl passwd policycoreutils procps psmisc runc sed socat systemd systemd-resolved tar udev util-linux xz-utils zstd`)}

// machineWithout are packages that only install or configure others, and languages: an operating system for containers has
// neither a package manager nor an interpreter but the shell.
var machineWithout = []string{"adduser", "debconf", "dpkg", "init-system-helpers", "libgdbm", "libperl", "libpython", "perl", "python", "usrmerge"}

// machineWithoutPaths is what nobody reads in a machine.
var machineWithoutPaths = []string{"./usr/share/doc", "./usr/share/man", "./usr/share/info", "./usr/share/locale", "./usr/share/lintian", "./usr/share/bug"}

// machineSystem is unpacked with a merged /usr.
var machineSystem = unpacked{
	name: "machines", what: "the packages of the operating system", set: machineSet, hash: machineHash, complete: isSystem, fill: fillMachine,
	tools: []string{"tar"},
	lacking: func(tool, _ string) error {
		return fmt.Errorf("the operating system of the virtual machines is made from Debian packages, and this system has no %s: install it", tool)
	},
}

// MachineSystem unpacks the Debian packages of the virtual machines' operating system into the cache and returns the
// directory, which is the root of a file system with a merged /usr. Nothing of it is installed or configured.
func MachineSystem(ctx context.Context, cache string, progress func(Event)) (string, error) {
	return machineSystem.get(ctx, cache, progress)
}

func isSystem(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "usr/lib/systemd/systemd"))
	return err == nil
}

func machineHash(pinned []lockedPackage) string {
	d := newDigest()
	d.add(identity(pinned))
	d.add(machineWithout...)
	d.add(machineWithoutPaths...)
	return d.String()
}

func mergedUsr(root string) error {
	if err := os.Mkdir(filepath.Join(root, "usr"), 0o755); err != nil {
		return err
	}
	for _, d := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.Mkdir(filepath.Join(root, "usr", d), 0o755); err != nil {
			return err
		}
		if err := os.Symlink("usr/"+d, filepath.Join(root, d)); err != nil {
			return err
		}
	}
	return nil
}

func fillMachine(ctx context.Context, archives []string, root string, t *tally) error {
	if err := mergedUsr(root); err != nil {
		return err
	}
	// tar writes through the links of the merged /usr; dpkg-deb -x would replace them
	script := `set -e; dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"`
	for _, path := range machineWithoutPaths {
		script += " --exclude=" + path
	}
	for _, archive := range archives {
		if unwanted(filepath.Base(archive)) {
			continue
		}
		t.state("machines", Waiting, "unpacking "+filepath.Base(archive))
		if _, err := run(ctx, "", nil, "bash", "-o", "pipefail", "-c", script, "unpack", archive, root); err != nil {
			return err
		}
	}
	return nil
}

func unwanted(archive string) bool {
	for _, name := range machineWithout {
		if strings.HasPrefix(archive, name) {
			return true
		}
	}
	return false
}
