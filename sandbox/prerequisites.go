package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

// PrerequisiteError lists everything that keeps a sandbox from starting.
type PrerequisiteError struct{ Findings []string }

func (e *PrerequisiteError) Error() string {
	return "the sandbox cannot start here:\n  - " + strings.Join(e.Findings, "\n  - ")
}

const (
	goMinor       = 26
	spaceFull     = 6 << 30
	spaceAzure    = 100 << 20
	spaceSettled  = 1 << 30 // a sandbox that has been up before has its images
	overlayModule = "overlay"
)

// prerequisites checks everything before anything is changed.
func prerequisites(c cluster.Config, azureOnly bool, state supervise.State) error {
	if runtime.GOOS != "linux" {
		return &PrerequisiteError{[]string{"it needs Linux, and this is " + runtime.GOOS + ": use a Linux virtual machine"}}
	}
	if other := c.OtherOwner(); other != "" {
		return &PrerequisiteError{[]string{fmt.Sprintf("another sandbox, in %s, runs on this machine or was not taken down, and there can be one: hypershift sandbox down --dir %s", other, other)}}
	}
	var findings []string
	running := map[string]bool{}
	for name, part := range state.Parts {
		running[name] = part.Alive()
	}
	if !azureOnly {
		findings = append(findings, hostFindings()...)
		findings = append(findings, goFinding(c)...)
	}
	findings = append(findings, spaceFinding(c, azureOnly)...)
	findings = append(findings, cluster.BusyPorts(azureOnly, running)...)
	if len(findings) > 0 {
		return &PrerequisiteError{findings}
	}
	return nil
}

// hostFindings are about the kernel and the rights on it.
func hostFindings() []string {
	var findings []string
	if os.Geteuid() != 0 {
		findings = append(findings, "it needs root for network namespaces, mounts and cgroups: run it with sudo, or use --azure-only, which does not")
	}
	if runtime.GOARCH != "amd64" {
		findings = append(findings, "its images are built for amd64, and this is "+runtime.GOARCH)
	}
	if entries, err := os.ReadDir("/sys/fs/cgroup"); err != nil || len(entries) == 0 {
		findings = append(findings, "no cgroups are mounted at /sys/fs/cgroup: containers need them")
	}
	if filesystems, err := os.ReadFile("/proc/filesystems"); err == nil && !strings.Contains(string(filesystems), overlayModule) {
		if exec.Command("modprobe", overlayModule).Run() != nil {
			findings = append(findings, "the kernel has no overlay file system, from which containers are made: load the module overlay")
		}
	}
	return findings
}

var goVersion = regexp.MustCompile(`go1\.(\d+)`)

// goFinding looks at Go if there is something to compile.
func goFinding(c cluster.Config) []string {
	missing := false
	for _, program := range cluster.Programs() {
		_, err := os.Stat(filepath.Join(c.Bin, program))
		missing = missing || err != nil
	}
	if !missing {
		return nil
	}
	need := fmt.Sprintf("parts must be compiled with Go 1.%d or later", goMinor)
	output, err := exec.Command("go", "version").Output()
	if err != nil {
		return []string{need + ", and there is no go command in PATH: install it from https://go.dev/dl"}
	}
	match := goVersion.FindSubmatch(output)
	if match == nil {
		return nil // a development version
	}
	if minor, err := strconv.Atoi(string(match[1])); err == nil && minor < goMinor {
		return []string{fmt.Sprintf("%s, and this is Go 1.%d: install a newer one from https://go.dev/dl", need, minor)}
	}
	return nil
}

func spaceFinding(c cluster.Config, azureOnly bool) []string {
	need := uint64(spaceFull)
	if azureOnly {
		need = spaceAzure
	} else if _, err := os.Stat(filepath.Join(c.Dir, "registry", "storage", "docker")); err == nil {
		need = spaceSettled
	}
	dir := c.Dir
	for {
		var stat syscall.Statfs_t
		if syscall.Statfs(dir, &stat) == nil {
			free := stat.Bavail * uint64(stat.Bsize)
			if free < need {
				return []string{fmt.Sprintf("%s has %.1f GB free and %.1f GB are needed: free some space or choose another place with --dir",
					dir, float64(free)/(1<<30), float64(need)/(1<<30))}
			}
			return nil
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}
