package sandbox

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/hypershift-on-azure/hypershift/parts/build"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

// PrerequisiteError lists everything that keeps a sandbox from starting.
type PrerequisiteError struct{ Findings []string }

func (e *PrerequisiteError) Error() string {
	return "the sandbox cannot start, and nothing was changed: " + strings.Join(e.Findings, "; ")
}

const (
	goMinor      = 26
	spaceFull    = 6 << 30
	spaceSettled = 1 << 30 // a sandbox that has been up before has its images
	spaceAzure   = 100 << 20
)

// facts about this machine, as far as starting a sandbox depends on them.
type facts struct {
	azureOnly  bool
	goos, arch string
	root       bool
	other      string // directory of another sandbox that has the machine
	cgroups    bool
	overlay    bool
	compile    bool   // parts are missing
	goVersion  string // what "go version" says, "" without go
	dir        string
	need, free uint64 // bytes for dir
	busy       []string
}

// prerequisites checks everything before anything is changed.
func prerequisites(c cluster.Config, azureOnly bool, state supervise.State) error {
	if findings := gather(c, azureOnly, state).findings(); len(findings) > 0 {
		return &PrerequisiteError{findings}
	}
	return nil
}

func (f facts) findings() []string {
	switch {
	case f.goos != "linux":
		return []string{"it needs Linux, and this is " + f.goos + ": use a Linux virtual machine"}
	case f.other != "":
		return []string{fmt.Sprintf("another sandbox, in %s, runs on this machine or was not taken down, and there can be one: hypershift sandbox down --dir %s", f.other, f.other)}
	}
	var findings []string
	if !f.azureOnly {
		findings = append(f.host(), f.toolchain()...)
	}
	if f.free < f.need {
		findings = append(findings, fmt.Sprintf("%s is on a disk with %s free, and %s are needed: free some space or choose another place with --dir",
			f.dir, gigabytes(f.free), gigabytes(f.need)))
	}
	return append(findings, f.busy...)
}

func gigabytes(bytes uint64) string { return fmt.Sprintf("%.1f GB", float64(bytes)/(1<<30)) }

// host is about the kernel and the rights on it.
func (f facts) host() []string {
	var findings []string
	if !f.root {
		findings = append(findings, "it needs root for network namespaces, mounts and cgroups: run it with sudo, or use --azure-only, which does not")
	}
	if f.arch != "amd64" {
		findings = append(findings, "its images are built for amd64, and this is "+f.arch)
	}
	if !f.cgroups {
		findings = append(findings, "no cgroups are mounted at /sys/fs/cgroup: containers need them")
	}
	if !f.overlay {
		findings = append(findings, "the kernel has no overlay file system, from which containers are made: load the module overlay")
	}
	return findings
}

var goRelease = regexp.MustCompile(`go1\.(\d+)`)

// toolchain looks at Go if there is something to compile.
func (f facts) toolchain() []string {
	if !f.compile {
		return nil
	}
	need := fmt.Sprintf("parts must be compiled with Go 1.%d or later", goMinor)
	if f.goVersion == "" {
		return []string{need + ", and there is no go command in PATH: install it from https://go.dev/dl"}
	}
	match := goRelease.FindStringSubmatch(f.goVersion)
	if match == nil {
		return nil // a development version
	}
	if minor, err := strconv.Atoi(match[1]); err == nil && minor < goMinor {
		return []string{fmt.Sprintf("%s, and this is Go 1.%d: install a newer one from https://go.dev/dl", need, minor)}
	}
	return nil
}

func gather(c cluster.Config, azureOnly bool, state supervise.State) facts {
	f := facts{
		azureOnly: azureOnly, goos: runtime.GOOS, arch: runtime.GOARCH, root: os.Geteuid() == 0,
		other: c.OtherOwner(), dir: c.Dir, need: spaceFull, free: free(c.Dir), busy: cluster.BusyPorts(azureOnly, processes(state)),
	}
	if azureOnly {
		f.need = spaceAzure
		return f
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "registry", "storage", "docker")); err == nil {
		f.need = spaceSettled
	}
	entries, err := os.ReadDir("/sys/fs/cgroup")
	f.cgroups = err == nil && len(entries) > 0
	f.overlay = hasOverlay()
	for _, program := range build.Host().Programs() {
		_, err := os.Stat(filepath.Join(c.Bin, program.Name))
		f.compile = f.compile || err != nil
	}
	if f.compile {
		output, err := exec.Command("go", "version").Output()
		if err == nil {
			f.goVersion = string(output)
		}
	}
	return f
}

// processes are the numbers of the parts that run.
func processes(state supervise.State) map[string]int {
	running := map[string]int{}
	for name, part := range state.Parts {
		if part.Alive() {
			running[name] = part.PID
		}
	}
	return running
}

func hasOverlay() bool {
	const module = "overlay"
	filesystems, err := os.ReadFile("/proc/filesystems")
	return err != nil || strings.Contains(string(filesystems), module) || exec.Command("modprobe", module).Run() == nil
}

// free is what may be written to the disk of a directory, or of its nearest parent that exists.
func free(dir string) uint64 {
	for {
		var stat syscall.Statfs_t
		if syscall.Statfs(dir, &stat) == nil {
			return stat.Bavail * uint64(stat.Bsize)
		}
		if dir == filepath.Dir(dir) {
			return math.MaxUint64 // unknown: writing will tell
		}
		dir = filepath.Dir(dir)
	}
}
