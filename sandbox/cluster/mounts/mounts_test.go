package mounts

import (
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
)

func TestUnshared(t *testing.T) {
	const mountinfo = `21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
22 21 0:5 / /proc rw,nosuid - proc proc rw
23 21 0:6 / /with\040space rw master:4 - tmpfs tmpfs rw
24 21 0:7 / /both rw shared:2 master:1 - tmpfs tmpfs rw
`
	want := map[string]string{"/proc": "private", "/with space": "slave"}
	if got := parse(mountinfo); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestMountsAreAsBefore shares all mounts, as the kubelet needs them, and takes it back, in a namespace of its own.
func TestMountsAreAsBefore(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mount namespaces need root")
	}
	if os.Getenv("MOUNTS_TEST") == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("unshare", "--mount", "--propagation", "private", self, "-test.run=^TestMountsAreAsBefore$")
		cmd.Env = append(os.Environ(), "MOUNTS_TEST=inside")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	before, err := Unshared()
	if err != nil || before["/"] != "private" {
		t.Fatalf("before: %v %v", before["/"], err)
	}
	if err := Share(); err != nil {
		t.Fatal(err)
	}
	if now, err := Unshared(); err != nil || now["/"] != "" {
		t.Fatalf("shared: %v %v", now["/"], err)
	}
	Unshare(before)
	after, err := Unshared()
	if err != nil || !reflect.DeepEqual(after, before) {
		t.Errorf("after: %s\nbefore: %s %v", strings.TrimSpace(after["/"]), before["/"], err)
	}
}
