package build

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// hostTools are the programs of the host that the sandbox calls, with the
// Debian package of each.
var hostTools = []struct{ program, pkg string }{
	{"ip", "iproute2"},
	{"iptables", "iptables"},
	{"nft", "nftables"},
	{"conntrack", "conntrack"},
	{"mount", "mount"},
	{"nsenter", "util-linux"},
}

// caBundle is where Debian keeps the roots that TLS clients trust.
const caBundle = "/etc/ssl/certs/ca-certificates.crt"

// protocols is where nft finds the names of protocols. Without it, it prints numbers, and kube-proxy, which reads its own rules back,
// takes them for somebody else's and deletes them.
const protocols = "/etc/protocols"

// host is the system that packages are installed on. Tests have their own.
type host struct {
	root     string // "/"
	found    func(program string) bool
	isRoot   bool
	run      func(ctx context.Context, dir string, env []string, name string, args ...string) (string, error)
	progress *tally
}

// EnsurePackages installs those Debian packages whose programs the host
// lacks, and nothing if it has them all. Daemons that a package brings are
// not started. Root is needed only when something is missing.
func EnsurePackages(ctx context.Context, progress func(Event)) error {
	h := host{root: "/", found: onHost, isRoot: os.Geteuid() == 0, run: run, progress: newTally(progress, time.Now)}
	return h.ensure(ctx)
}

// onHost looks beyond PATH too, which often lacks the administrator's directories.
func onHost(program string) bool {
	if _, err := exec.LookPath(program); err == nil {
		return true
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin", "/bin"} {
		if info, err := os.Stat(filepath.Join(dir, program)); err == nil && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

// missing returns the packages whose programs are not there.
func (h host) missing() []string {
	var packages []string
	for _, tool := range hostTools {
		if !h.found(tool.program) {
			packages = append(packages, tool.pkg)
		}
	}
	if _, err := os.Stat(filepath.Join(h.root, caBundle)); err != nil && !h.otherBundle() {
		packages = append(packages, "ca-certificates")
	}
	if _, err := os.Stat(filepath.Join(h.root, protocols)); err != nil {
		packages = append(packages, "netbase")
	}
	return packages
}

// otherBundle tells whether the trusted roots are where other systems have them.
func (h host) otherBundle() bool {
	for _, path := range []string{"etc/pki/tls/certs/ca-bundle.crt", "etc/ssl/ca-bundle.pem", "etc/ssl/cert.pem"} {
		if _, err := os.Stat(filepath.Join(h.root, path)); err == nil {
			return true
		}
	}
	return false
}

func (h host) ensure(ctx context.Context) error {
	packages := h.missing()
	if len(packages) == 0 {
		h.progress.state("packages", Cached, "")
		return nil
	}
	list := strings.Join(packages, " ")
	if !h.found("apt-get") {
		return fmt.Errorf("the packages %s (Debian's names) are missing and this system has no apt-get: install them, or the programs %s, with the system's own package manager", list, strings.Join(programsOf(packages), ", "))
	}
	if !h.isRoot {
		return fmt.Errorf("the packages %s are missing and only root may install them: run: sudo apt-get install %s", list, list)
	}
	restore, err := h.forbidStart()
	if err != nil {
		return err
	}
	defer restore()
	if err := h.install(ctx, packages); err != nil {
		h.progress.state("packages", Failed, "")
		return fmt.Errorf("the packages %s cannot be installed: %w", list, err)
	}
	if still := h.missing(); len(still) > 0 {
		return fmt.Errorf("the packages %s are installed and their files still are not found", strings.Join(still, " "))
	}
	h.progress.state("packages", Done, "")
	return nil
}

func programsOf(packages []string) []string {
	var programs []string
	for _, tool := range hostTools {
		if slices.Contains(packages, tool.pkg) {
			programs = append(programs, tool.program)
		}
	}
	return programs
}

// install uses the package lists that are there, and fetches them first when
// there are none or they turn out to be old.
func (h host) install(ctx context.Context, packages []string) error {
	args := append(slices.Clone(installFlags), packages...)
	lists, _ := filepath.Glob(filepath.Join(h.root, "var/lib/apt/lists/*_Packages*"))
	if len(lists) > 0 {
		h.progress.state("packages", Waiting, "installing "+strings.Join(packages, ", "))
		_, err := h.run(ctx, "", installEnv, "apt-get", args...)
		old := outputHas(err, "Unable to locate package") || outputHas(err, "404") || outputHas(err, "no installation candidate")
		if err == nil || !old {
			return err
		}
	}
	h.progress.state("packages", Waiting, "fetching package lists")
	if _, err := h.run(ctx, "", installEnv, "apt-get", "-q", "-o", "Acquire::Retries=3", "update"); err != nil {
		return err
	}
	h.progress.state("packages", Waiting, "installing "+strings.Join(packages, ", "))
	_, err := h.run(ctx, "", installEnv, "apt-get", args...)
	return err
}

var (
	installFlags = []string{"-q", "-y", "-o", "Acquire::Retries=3", "-o", "DPkg::Lock::Timeout=120", "--no-install-recommends", "install"}
	installEnv   = []string{"DEBIAN_FRONTEND=noninteractive"}
)

// forbidStart makes Debian's invoke-rc.d start no service until restore is
// called. A policy that is there already is the administrator's and stays.
func (h host) forbidStart() (restore func(), err error) {
	policy := filepath.Join(h.root, "usr/sbin/policy-rc.d")
	file, err := os.OpenFile(policy, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if os.IsExist(err) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = file.WriteString("#!/bin/sh\nexit 101\n")
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(policy, 0o755) // whatever the umask
	}
	if err != nil {
		_ = os.Remove(policy)
		return nil, err
	}
	return func() { _ = os.Remove(policy) }, nil
}
