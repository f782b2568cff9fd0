package cluster

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Kinds of a mount's propagation that share it with nobody, as the kernel's flags.
var propagations = map[string]uintptr{"private": unix.MS_PRIVATE, "slave": unix.MS_SLAVE}

// unshared are the mounts that are not shared, with what they are instead: "/proc/self/mountinfo" tells it of each in optional fields,
// which end at a hyphen.
func unshared(mountinfo string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 7 {
			continue
		}
		kind := "private"
		for _, option := range fields[6:] {
			if option == "-" {
				break
			}
			if strings.HasPrefix(option, "shared:") {
				kind = ""
				break
			}
			if strings.HasPrefix(option, "master:") {
				kind = "slave"
			}
		}
		if kind != "" {
			found[mountPoint.Replace(fields[4])] = kind
		}
	}
	return found
}

// mountPoint reads what the kernel writes of a path.
var mountPoint = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func readUnshared() (map[string]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read which mounts are shared: %w", err)
	}
	return unshared(string(text)), nil
}

// shareMounts lets what is mounted in a container or by the kubelet appear where others see it.
func shareMounts() error {
	if err := unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("make mounts shared, as the kubelet needs them: %w", err)
	}
	return nil
}

// unshareMounts gives mounts that are still there the propagation that they had.
func unshareMounts(before map[string]string) {
	for path, kind := range before {
		if flag, known := propagations[kind]; known {
			_ = unix.Mount("", path, "", flag, "") // gone, or somebody else's by now
		}
	}
}
