package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

// builtSystem is the newest operating system of machines in the cache of the sandbox, "" if none is there.
func builtSystem() string {
	cache := os.Getenv("HYPERSHIFT_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		cache = filepath.Join(user, "hypershift-sandbox")
	}
	found, _ := filepath.Glob(filepath.Join(cache, "debian", "*", "usr", "bin", "containerd"))
	newest, newestTime := "", time.Time{}
	for _, path := range found {
		system := filepath.Dir(filepath.Dir(filepath.Dir(path)))
		if info, err := os.Stat(filepath.Join(system, "bin")); err == nil && info.ModTime().After(newestTime) {
			newest, newestTime = system, info.ModTime()
		}
	}
	return newest
}

// TestContainers runs a container in a machine, with the runtime of its operating system.
func TestContainers(t *testing.T) {
	b := newBed(t)
	b.cfg.Binaries = builtSystem()
	if guestProgram(b.cfg, "containerd") == "" || guestProgram(b.cfg, "runc") == "" {
		t.Skip("skipped: no containerd and runc on this host nor in the cache of the sandbox; build the parts with `hypershift sandbox parts`")
	}
	script := strings.Join([]string{
		"#!/bin/sh", "set -eux",
		"mkdir -p /var/c/usr /var/c/proc /var/c/dev /var/c/sys /var/c/etc",
		"for d in bin lib lib64; do ln -s usr/$d /var/c/$d; done",
		"mount --bind /usr /var/c/usr",
		"ctr run --rm --memory-limit 104857600 --rootfs /var/c first /bin/cat /proc/1/cgroup >/var/seen",
		"mv /var/seen /var/container",
	}, "\n")
	config := ignition(map[string]any{"version": "3.4.0"}, map[string]string{"/usr/local/bin/try": script}, map[string]string{
		"try.service": "[Unit]\nAfter=containerd.service\nRequires=containerd.service\n[Service]\nType=oneshot\nExecStart=/bin/sh /usr/local/bin/try\n[Install]\nWantedBy=multi-user.target\n",
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
		if log, e := os.ReadFile(filepath.Join(b.cfg.Dir, "a1/logs/try.service.log")); e == nil && strings.Contains(string(log), "ctr: ") {
			t.Fatalf("%s", log)
		}
		return err == nil
	})
	if !strings.Contains(string(seen), "first") {
		t.Errorf("the container's groups: %s", seen)
	}
}
