package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestParseHierarchies(t *testing.T) {
	const info = `25 1 254:0 / / rw - ext4 /dev/vda rw
30 29 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
31 29 0:27 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,release_agent=/x,name=systemd
32 29 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
33 29 0:26 / /var/elsewhere/cpu rw - cgroup cgroup rw,cpu
`
	want := []Hierarchy{
		{"cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct", "cpu,cpuacct"},
		{"systemd", "/sys/fs/cgroup/systemd", "none,name=systemd"},
		{"unified", "/sys/fs/cgroup/unified", "cgroup2"},
	}
	if got := parse(info); !reflect.DeepEqual(got, want) {
		t.Errorf("v1: %+v", got)
	}
	want = []Hierarchy{{"", "/sys/fs/cgroup", "cgroup2"}}
	if got := parse("29 25 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"); !reflect.DeepEqual(got, want) {
		t.Errorf("v2: %+v", got)
	}
}

func TestGroups(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	for file, text := range map[string]string{filepath.Join(one, "cpuset.cpus"): "0-1\n", filepath.Join(one, "cpuset.mems"): "0\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := []Hierarchy{{Name: "cpuset", Path: one, Options: "cpuset"}, {Name: "memory", Path: two, Options: "memory"}}
	for range 2 { // a group that is there already is taken
		for _, h := range all { // the kernel has the files there at once
			group := filepath.Join(h.Path, "hs-1")
			if err := errors.Join(os.MkdirAll(group, 0o700), os.WriteFile(filepath.Join(group, "cpuset.cpus"), nil, 0o600), os.WriteFile(filepath.Join(group, "cpuset.mems"), nil, 0o600),
				os.WriteFile(filepath.Join(group, "memory.limit_in_bytes"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if err := Make(all, "hs-1", 512); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{
		filepath.Join(one, "hs-1", "cpuset.cpus"): "0-1\n", filepath.Join(one, "hs-1", "cpuset.mems"): "0\n",
		filepath.Join(two, "hs-1", "memory.limit_in_bytes"): "536870912", filepath.Join(two, "hs-1", "cpuset.cpus"): "",
	} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s has %q, want %q (%v)", file, got, want, err)
		}
	}
}
