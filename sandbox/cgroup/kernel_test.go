package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// realGroups are the machine's hierarchies, and the name of a group that no sandbox has.
func realGroups(t *testing.T) ([]Hierarchy, string) {
	t.Helper()
	all, err := Hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 || len(all) == 0 || unix.Access(all[0].Path, unix.W_OK) != nil {
		t.Skip("skipped: groups of processes need root, and a machine that has them mounted")
	}
	group := fmt.Sprintf("cgtest-%d", os.Getpid())
	t.Cleanup(func() { _ = Remove(all, group) })
	return all, group
}

func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// A process that joins is in the group of every hierarchy, which has the memory as its limit; the group goes when the process has gone.
func TestGroupsOfTheKernel(t *testing.T) {
	all, group := realGroups(t)
	if err := Make(all, group, 64); err != nil {
		t.Fatal(err)
	}
	if err := Make(all, group, 96); err != nil { // as at the next boot, with another size
		t.Fatal(err)
	}
	if got := With(all, "cgtest-"); !slices.Contains(got, group) || len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Errorf("groups %v, want %s once", got, group)
	}
	limits := 0
	for _, h := range all {
		for _, file := range []string{"memory.limit_in_bytes", "memory.max"} {
			if text, err := os.ReadFile(filepath.Join(h.Path, group, file)); err == nil {
				limits++
				if got := strings.TrimSpace(string(text)); got != fmt.Sprint(96<<20) {
					t.Errorf("%s of %s is %s", file, h.Path, got)
				}
			}
		}
	}
	if limits == 0 {
		t.Log("this machine limits no memory")
	}
	cmd := sleeper(t)
	if err := Join(all, group, cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if joined := strings.Count(string(text), "/"+group+"\n"); joined != len(all) {
		t.Errorf("the process is in %d groups of that name, want %d:\n%s", joined, len(all), text)
	}
	// Groups that its own processes have made, as systemd does in a machine.
	for _, h := range all {
		if err := os.MkdirAll(filepath.Join(h.Path, group, "system.slice", "a.service"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	time.AfterFunc(200*time.Millisecond, func() { _ = cmd.Process.Kill() })
	go func() { _ = cmd.Wait() }()
	if err := Remove(all, group); err != nil { // waits for its end
		t.Error(err)
	}
	for _, h := range all {
		if _, err := os.Stat(filepath.Join(h.Path, group)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("left: %s, %v", filepath.Join(h.Path, group), err)
		}
	}
	if err := Remove(all, group); err != nil {
		t.Errorf("removing nothing: %v", err)
	}
}

// A group in which something still runs is told of, and not waited for without an end.
func TestABusyGroupStays(t *testing.T) {
	all, group := realGroups(t)
	if err := Make(all, group, 0); err != nil {
		t.Fatal(err)
	}
	cmd := sleeper(t)
	if err := Join(all, group, cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err := Remove(all[:1], group)
	if !errors.Is(err, unix.EBUSY) || !strings.Contains(err.Error(), group) {
		t.Errorf("removed under a process: %v", err)
	}
	if took := time.Since(began); took < 500*time.Millisecond || took > 20*time.Second {
		t.Errorf("given up after %s", took)
	}
	if err := Join(all, group+"-none", cmd.Process.Pid); err == nil {
		t.Error("a process is in a group that is not there")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err := Remove(all, group); err != nil {
		t.Error(err)
	}
}

// Of a hierarchy of version 2 each controller is handed down, or the group's files would be missing.
func TestControllersAreHandedDown(t *testing.T) {
	root := t.TempDir()
	control := filepath.Join(root, "cgroup.subtree_control")
	write := func(controllers string) {
		if err := os.WriteFile(filepath.Join(root, "cgroup.controllers"), []byte(controllers), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("cpu memory pids\n")
	all := []Hierarchy{{Path: root, Options: "cgroup2"}}
	if err := Make(all, "g", 1); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(control); string(got) != "+pids" { // the kernel takes one at a time; a file of ours keeps the last
		t.Errorf("handed down: %q", got)
	}
	if err := os.Remove(control); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(control, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Make(all, "g", 1); err == nil || !strings.Contains(err.Error(), "cpu") {
		t.Errorf("a controller that is not handed down: %v", err)
	}
	if err := Make([]Hierarchy{{Path: filepath.Join(root, "none"), Options: "cgroup2"}}, "g", 1); err == nil {
		t.Error("a hierarchy that is not there")
	}
	// One of several is mounted below the others and has no controllers to hand down.
	named := t.TempDir()
	if err := Make([]Hierarchy{{Name: "unified", Path: named, Options: "cgroup2"}}, "g", 0); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(filepath.Join(named, "g")); len(left) != 0 {
		t.Errorf("a group without a limit has %v", left)
	}
}

// Groups are found by the beginning of their names in any hierarchy, each once, and no others.
func TestWith(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	for _, dir := range []string{one + "/hs-b", one + "/hs-a", two + "/hs-a", two + "/hs-c", two + "/hsnode-1", one + "/other"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := With([]Hierarchy{{Path: one}, {Path: two}}, "hs-"), []string{"hs-a", "hs-b", "hs-c"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMountOptions(t *testing.T) {
	for super, want := range map[string]string{"rw,cpu,cpuacct": "cpu,cpuacct", "ro,memory,clone_children": "memory",
		"rw,xattr,name=systemd":        "none,name=systemd",
		"rw,release_agent=/a/b,name=x": "none,name=x", "rw,cpu,name=x": "cpu,name=x"} {
		if got := mountOptions(super); got != want {
			t.Errorf("%s: %q, want %q", super, got, want)
		}
	}
}
