package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// toolSet are the parts that are not compiled: a container runtime of
// the age that Debian has works with the kubelet, and building one needs a C
// compiler.
var toolSet = packageSet{"tools", []string{"containerd", "runc", "busybox"}}

// debianPrograms are what is needed of them. DebianTools links them into bin,
// from whichever of debianDirs the release has them in.
var (
	debianPrograms = []string{"containerd", "containerd-shim-runc-v2", "ctr", "runc", "busybox"}
	debianDirs     = []string{"bin", "sbin", "usr/bin", "usr/sbin"}
)

// debianTools are unpacked with links to the programs in bin.
var debianTools = unpacked{
	name: "debian", what: toolSet.String(), set: toolSet, hash: debianHash, complete: complete, fill: fillTools,
	tools: []string{aptHelper, "dpkg-deb"},
	lacking: func(tool, dir string) error {
		return fmt.Errorf("the packages %s come from Debian and this system has no %s: put containerd, containerd-shim-runc-v2, ctr, runc and busybox into %s/bin instead",
			toolSet, tool, dir)
	},
}

// DebianTools unpacks Debian's containerd, runc and busybox into the
// cache and returns the directory, which is laid out like the root of a file
// system and has links to the programs in bin. Nothing is installed and
// nothing is started; root is not needed.
func DebianTools(ctx context.Context, cache string, progress func(Event)) (string, error) {
	return debianTools.get(ctx, cache, progress)
}

// complete tells whether bin has every program. Only that is looked at, so
// that somebody may supply the programs by hand.
func complete(dir string) bool {
	for _, program := range debianPrograms {
		if _, err := os.Stat(filepath.Join(dir, "bin", program)); err != nil {
			return false
		}
	}
	return true
}

// debianHash identifies what is fetched: these packages, and what is taken of them.
func debianHash(pinned []lockedPackage) string {
	d := newDigest()
	d.add(identity(pinned))
	d.add(debianPrograms...)
	return d.String()
}

func fillTools(ctx context.Context, archives []string, root string, t *tally) error {
	if err := os.Mkdir(filepath.Join(root, "bin"), 0o755); err != nil {
		return err
	}
	if err := unpackDebian(ctx, archives, root, t); err != nil {
		return err
	}
	for _, program := range debianPrograms {
		if err := linkDebian(root, program); err != nil {
			return err
		}
	}
	return nil
}

func unpackDebian(ctx context.Context, archives []string, root string, t *tally) error {
	for _, archive := range archives {
		t.state("debian", Waiting, "unpacking "+filepath.Base(archive))
		if _, err := run(ctx, "", nil, "dpkg-deb", "-x", archive, root); err != nil {
			return err
		}
	}
	return nil
}

// linkDebian makes bin/<program> a relative link, unless the file is there.
func linkDebian(root, program string) error {
	for _, dir := range debianDirs {
		if _, err := os.Stat(filepath.Join(root, dir, program)); err != nil {
			continue
		}
		if dir == "bin" {
			return nil
		}
		return os.Symlink(filepath.Join("..", dir, program), filepath.Join(root, "bin", program))
	}
	return fmt.Errorf("the downloaded packages %s have no program %s", toolSet, program)
}

// aptDownload fetches the packages into dir. Where the system has no package
// lists, or old ones, it makes lists of its own in the cache: the system's
// are left alone.
func aptDownload(ctx context.Context, cache, dir string, packages []string, t *tally) error {
	download := append([]string{"download"}, packages...)
	_, first := run(ctx, dir, nil, "apt-get", append(aptNetwork, download...)...)
	if first == nil || ctx.Err() != nil {
		return first
	}
	options, err := aptLists(ctx, cache, t)
	if err != nil {
		return fmt.Errorf("packages %s: %w", strings.Join(packages, ", "), err)
	}
	options = append(append(options, "-o", "Dir::State::status=/var/lib/dpkg/status"), aptNetwork...)
	if _, err := run(ctx, dir, nil, "apt-get", append(options, download...)...); err != nil {
		return fmt.Errorf("packages %s cannot be downloaded: check the network and /etc/apt/sources.list: %w", strings.Join(packages, ", "), err)
	}
	return nil
}

// aptLists fetches package lists into the cache and returns the options with which apt-get reads them.
func aptLists(ctx context.Context, cache string, t *tally) ([]string, error) {
	private := filepath.Join(cache, "debian", "apt")
	for _, d := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(private, d), 0o755); err != nil {
			return nil, err
		}
	}
	options := []string{"-o", "Dir::State=" + private, "-o", "Dir::Cache=" + filepath.Join(private, "cache")}
	t.state("debian", Waiting, "fetching package lists")
	update := append(append([]string{}, options...), aptNetwork...)
	if _, err := run(ctx, "", nil, "apt-get", append(update, "update")...); err != nil {
		return nil, fmt.Errorf("no package lists: check the network and /etc/apt/sources.list: %w", err)
	}
	return options, nil
}

// aptNetwork makes apt-get try again and give up in reasonable time, and
// write as the user it runs as.
var aptNetwork = []string{"-q", "-o", "Acquire::Retries=3", "-o", "Acquire::http::Timeout=30", "-o", "Acquire::https::Timeout=30", "-o", "APT::Sandbox::User="}

// run runs a command and returns its output; a failure has its last lines.
func run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = dir
	command.Env = append(append(os.Environ(), "LC_ALL=C"), env...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	if err == nil {
		return out.String(), nil
	}
	if ctx.Err() != nil {
		return out.String(), context.Cause(ctx)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	return out.String(), &commandError{name: name, tail: strings.Join(lines, "\n  "), err: err}
}

// commandError is a failed command with the end of its output.
type commandError struct {
	name, tail string
	err        error
}

func (e *commandError) Error() string { return fmt.Sprintf("%s: %v\n  %s", e.name, e.err, e.tail) }
func (e *commandError) Unwrap() error { return e.err }

// outputHas tells whether a failed command's output has the text.
func outputHas(err error, text string) bool {
	var failed *commandError
	return errors.As(err, &failed) && strings.Contains(failed.tail, text)
}
