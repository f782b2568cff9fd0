package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

// TestContainers runs a container in a machine, with the runtime of its operating system.
func TestContainers(t *testing.T) {
	b := newBed(t)
	script := strings.Join([]string{
		"#!/bin/sh", "set -eux",
		"mkdir -p /var/c/usr /var/c/proc /var/c/dev /var/c/sys /var/c/etc",
		"for d in bin lib lib64; do ln -s usr/$d /var/c/$d; done",
		"mount --bind /usr /var/c/usr",
		"ctr run --rm --memory-limit 104857600 --rootfs /var/c first /bin/cat /proc/1/cgroup >/var/seen",
		"mv /var/seen /var/container",
	}, "\n")
	config := ignition(map[string]any{"version": "3.3.0"}, map[string]string{"/opt/bin/try": script}, map[string]string{
		"try.service": "[Unit]\nAfter=containerd.service\nRequires=containerd.service\n[Service]\nType=oneshot\nExecStart=/bin/sh /opt/bin/try\n[Install]\nWantedBy=multi-user.target\n",
	})
	b.feed.set(func(s *feed.Snapshot) {
		s.Networks = []feed.Network{network(netA)}
		s.Machines = []feed.Machine{testMachine(vmA1, netA, "10.0.0.4", config)}
	})
	b.start()
	var seen []byte
	b.eventually("a container has run", func() bool {
		var err error
		seen, err = os.ReadFile(filepath.Join(b.cfg.Dir, "a1/var/container"))
		if log, e := os.ReadFile(filepath.Join(b.cfg.Dir, "a1", bootLog)); e == nil && strings.Contains(string(log), "ctr: ") {
			t.Fatalf("%s", log)
		}
		return err == nil
	})
	if !strings.Contains(string(seen), "first") {
		t.Errorf("the container's groups: %s", seen)
	}
}
