// Package system is what the operating systems of the embedded virtual machines are beside Debian's packages: files, units and
// the limits of a profile. The packages are a tree of their own, below a layer that this package fills.
package system

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed all:common flatcar debian
var files embed.FS

// A Profile is the layout that an operating system has.
type Profile string

const (
	// Flatcar has a read-only /usr, resolves names by systemd-resolved's stub, updates itself and reboots, and has its own
	// configuration for containerd. Azure's agent is in it. It is the default.
	Flatcar Profile = "flatcar"
	// Debian has a writable /usr, containerd as Debian's package has it, and no agent of Azure's: it is an image of one's own.
	Debian Profile = "debian"
)

// Of is the profile of a virtual machine's image, PUBLISHER:OFFER:SKU:VERSION or the id of a resource.
func Of(image string) Profile {
	publisher, _, _ := strings.Cut(image, ":")
	if strings.EqualFold(publisher, "debian") {
		return Debian
	}
	return Flatcar
}

// ReadOnlyUsr tells whether nothing can be written below /usr.
func (p Profile) ReadOnlyUsr() bool { return p == Flatcar }

// Fill writes the layer of a profile into a directory, which must be empty. Machines trust the roots, PEM.
func (p Profile) Fill(dir string, roots []byte) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for _, tree := range []string{"common", string(p)} {
		if err := copyTree(tree, dir); err != nil {
			return err
		}
	}
	for _, d := range directories {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string][]byte{
		"etc/ssl/certs/ca-certificates.crt":            roots,
		"usr/share/ca-certificates/embedded-azure.crt": roots,
		"etc/ca-certificates.conf":                     []byte("embedded-azure.crt\n"),
	} {
		if err := write(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	if err := links(dir, p); err != nil {
		return err
	}
	return errors.Join(
		os.Chmod(filepath.Join(dir, "tmp"), 0o777|os.ModeSticky), os.Chmod(filepath.Join(dir, "root"), 0o700),
		os.Chmod(filepath.Join(dir, "etc/shadow"), 0o640), os.Chmod(filepath.Join(dir, "etc/gshadow"), 0o640),
		os.Chown(filepath.Join(dir, "home/core"), 500, 500))
}

var directories = []string{
	"proc", "sys", "dev", "run", "tmp", "var", "root", "home/core", "mnt", "media", "srv", "boot", "opt",
	"etc/systemd/system", "etc/systemd/network", "etc/containerd", "etc/cni", "etc/kubernetes",
}

// copyTree copies embedded files; scripts are those that begin with #!.
func copyTree(tree, dir string) error {
	return fs.WalkDir(files, tree, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(string(text), "#!") {
			mode = 0o755
		}
		return write(filepath.Join(dir, strings.TrimPrefix(name, tree+"/")), text, mode)
	})
}

func write(name string, text []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, text, mode)
}

const units = "usr/lib/systemd/system/"

// started are the units that the image itself starts, by profile.
var started = map[Profile][]string{
	Flatcar: {"systemd-networkd.service", "systemd-resolved.service", "containerd.service", "serial-console.service", "update-engine.service", "locksmithd.service", "waagent.service"},
	Debian:  {"systemd-networkd.service", "systemd-resolved.service", "containerd.service", "serial-console.service"},
}

// masked are units of Debian's packages that reach beyond a machine into its host's kernel, or ask a person.
var masked = []string{
	"proc-sys-fs-binfmt_misc.automount", "proc-sys-fs-binfmt_misc.mount", "systemd-binfmt.service", "sys-kernel-debug.mount",
	"sys-kernel-tracing.mount", "sys-kernel-config.mount", "sys-fs-fuse-connections.mount", "dev-hugepages.mount",
	"systemd-modules-load.service", "systemd-firstboot.service", "systemd-udevd.service", "systemd-udev-trigger.service",
	"systemd-udevd-kernel.socket", "systemd-udevd-control.socket", "systemd-journald-audit.socket", "systemd-random-seed.service",
	"getty.target", "e2scrub_reap.service", "systemd-update-utmp.service",
	"systemd-update-utmp-runlevel.service", "selinux-autorelabel-mark.service", "selinux-autorelabel.service",
}

// hostSysctls are settings of Debian's packages that the host's kernel has once for all.
var hostSysctls = []string{"50-default.conf", "50-pid-max.conf", "99-protect-links.conf"}

func links(dir string, p Profile) error {
	all := map[string]string{
		"etc/mtab":               "../proc/self/mounts",
		"etc/resolv.conf":        "../run/systemd/resolve/stub-resolv.conf",
		"etc/localtime":          "../usr/share/zoneinfo/UTC",
		"usr/bin/sh":             "bash",
		"usr/bin/awk":            "mawk",
		"usr/bin/which":          "which.debianutils",
		"usr/bin/runc":           "../sbin/runc",
		"var/run":                "../run",
		units + "default.target": "multi-user.target",
		"usr/sbin/ebtables":      "ebtables-nft",
	}
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, tool := range []string{"", "-save", "-restore"} {
			all["usr/sbin/"+family+tool] = "xtables-nft-multi"
		}
	}
	for _, unit := range started[p] {
		all[units+"multi-user.target.wants/"+unit] = "../" + unit
	}
	for _, unit := range masked {
		all[units+unit] = "/dev/null"
	}
	for _, file := range hostSysctls {
		all["usr/lib/sysctl.d/"+file] = "/dev/null"
	}
	for name, target := range all {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(target, full); err != nil {
			return err
		}
	}
	return nil
}

// Version identifies what this package puts into a layer.
func (p Profile) Version() string {
	var out strings.Builder
	for _, tree := range []string{"common", string(p)} {
		_ = fs.WalkDir(files, tree, func(name string, d fs.DirEntry, err error) error { // nothing in it can fail: the files are in the program
			if err == nil && !d.IsDir() {
				text, _ := files.ReadFile(name)
				fmt.Fprintf(&out, "%s %d\n%s", path.Clean(name), len(text), text)
			}
			return nil
		})
	}
	fmt.Fprint(&out, p, directories, started[p], masked, hostSysctls, layerVersion)
	return out.String()
}

// layerVersion changes when the code that fills a layer writes something else.
const layerVersion = 1
