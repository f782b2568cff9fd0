// Package mounts changes what of the machine's mounts is shared, and unmounts.
package mounts

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Kinds of a mount's propagation that share it with nobody, as the kernel's flags.
var propagations = map[string]uintptr{"private": unix.MS_PRIVATE, "slave": unix.MS_SLAVE}

// parse finds the mounts that are not shared, with what they are instead: "/proc/self/mountinfo" tells it of each in optional fields,
// which end at a hyphen.
func parse(mountinfo string) map[string]string {
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

// Unshared are the mounts that are not shared, by their path, with what they are instead.
func Unshared() (map[string]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read which mounts are shared: %w", err)
	}
	return parse(string(text)), nil
}

// Share lets what is mounted in a container or by the kubelet appear where others see it.
func Share() error {
	if err := unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("make mounts shared, as the kubelet needs them: %w", err)
	}
	return nil
}

// Unshare gives mounts that are still there the propagation that they had.
func Unshare(before map[string]string) {
	for path, kind := range before {
		if flag, known := propagations[kind]; known {
			_ = unix.Mount("", path, "", flag, "") // gone, or somebody else's by now
		}
	}
}

// UnmountIf unmounts what is mounted where it applies.
func UnmountIf(applies func(target string) bool) error {
	for range 5 {
		text, err := os.ReadFile("/proc/self/mounts")
		if err != nil {
			return err
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		left := false
		for i := len(lines) - 1; i >= 0; i-- {
			fields := strings.Fields(lines[i])
			if len(fields) < 2 {
				continue
			}
			target := strings.ReplaceAll(fields[1], `\040`, " ")
			if applies(target) {
				left = true
				_ = unix.Unmount(target, unix.MNT_DETACH)
			}
		}
		if !left {
			return nil
		}
	}
	return errors.New("mounts of pods are left: see /proc/self/mounts")
}
