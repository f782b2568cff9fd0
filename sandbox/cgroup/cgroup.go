// Package cgroup makes and removes groups of processes in every cgroup hierarchy that the host has mounted.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const root = "/sys/fs/cgroup"

// Hierarchy is a mounted cgroup hierarchy of the host.
type Hierarchy struct {
	Name    string // of its directory; "" is the one and only v2 Hierarchy
	Path    string
	Options string // to mount it again, "cgroup2" for v2
}

// Hierarchies reads what the host has: many for v1, one with no name for v2.
func Hierarchies() ([]Hierarchy, error) {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parse(string(info)), nil
}

func parse(mountinfo string) []Hierarchy {
	seen := map[string]bool{}
	var out []Hierarchy
	for line := range strings.SplitSeq(mountinfo, "\n") {
		before, after, ok := strings.Cut(line, " - ")
		fields, super := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(super) < 3 {
			continue
		}
		path, kind := fields[4], super[0]
		if seen[path] || (path != root && filepath.Dir(path) != root) {
			continue
		}
		switch {
		case kind == "cgroup2" && path == root:
			out = append(out, Hierarchy{Path: path, Options: "cgroup2"})
		case kind == "cgroup2":
			out = append(out, Hierarchy{Name: filepath.Base(path), Path: path, Options: "cgroup2"})
		case kind == "cgroup":
			out = append(out, Hierarchy{Name: filepath.Base(path), Path: path, Options: mountOptions(super[2])})
		default:
			continue
		}
		seen[path] = true
	}
	return out
}

func mountOptions(super string) string {
	options := slices.DeleteFunc(strings.Split(super, ","), func(o string) bool {
		return o == "rw" || o == "ro" || o == "xattr" || o == "clone_children" || strings.HasPrefix(o, "release_agent")
	})
	if len(options) == 1 && strings.HasPrefix(options[0], "name=") {
		options = []string{"none", options[0]}
	}
	return strings.Join(options, ",")
}

// Make makes the group of a machine in every Hierarchy, with its memory as the limit.
func Make(all []Hierarchy, group string, memoryMiB int) error {
	for _, h := range all {
		dir := filepath.Join(h.Path, group)
		if h.Name == "" {
			if err := delegate(h.Path); err != nil {
				return err
			}
		}
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("cgroup: %w", err)
		}
		if slices.Contains(strings.Split(h.Options, ","), "cpuset") {
			for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
				value, err := os.ReadFile(filepath.Join(h.Path, file))
				if err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(dir, file), value, 0); err != nil {
					return fmt.Errorf("cgroup: %w", err)
				}
			}
		}
		if memoryMiB == 0 {
			continue
		}
		for _, limit := range []string{"memory.limit_in_bytes", "memory.max"} {
			err := os.WriteFile(filepath.Join(dir, limit), []byte(strconv.Itoa(memoryMiB<<20)), 0)
			if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
				return fmt.Errorf("memory limit: %w", err)
			}
		}
	}
	return nil
}

// delegate hands every controller of a v2 hierarchy down to its groups.
func delegate(path string) error {
	controllers, err := os.ReadFile(filepath.Join(path, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, c := range strings.Fields(string(controllers)) {
		if err := os.WriteFile(filepath.Join(path, "cgroup.subtree_control"), []byte("+"+c), 0); err != nil {
			return fmt.Errorf("handing the %s controller to machines: %w", c, err)
		}
	}
	return nil
}

// Join moves a process into a group.
func Join(all []Hierarchy, group string, pid int) error {
	for _, h := range all {
		if err := os.WriteFile(filepath.Join(h.Path, group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("cgroup %s: %w", h.Name, err)
		}
	}
	return nil
}

// Remove removes a group and what is in it; the kernel may need a moment after the last process has died.
func Remove(all []Hierarchy, group string) error {
	var errs []error
	for _, h := range all {
		errs = append(errs, removeGroup(filepath.Join(h.Path, group)))
	}
	return errors.Join(errs...)
}

func removeGroup(dir string) error {
	for attempt := 0; ; attempt++ {
		err := removeTree(dir)
		if err == nil || attempt == 40 || !errors.Is(err, unix.EBUSY) {
			return err
		}
		time.Sleep(25 * time.Millisecond)
	}
}

func removeTree(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, d := range slices.Backward(dirs) {
		if err := unix.Rmdir(d); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("cgroup %s: %w", d, err)
		}
	}
	return nil
}

// With lists groups by the prefix of their names.
func With(all []Hierarchy, prefix string) []string {
	var out []string
	for _, h := range all {
		found, _ := filepath.Glob(filepath.Join(h.Path, prefix+"*")) // the pattern is well-formed
		for _, f := range found {
			out = append(out, filepath.Base(f))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
