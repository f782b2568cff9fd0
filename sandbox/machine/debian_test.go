package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/machine/system"
)

const debianImage = "Debian:debian-12:12-gen2:latest"

// TestGuestsReport boots machines of both profiles: which of them say to Azure that they are provisioned. The image of profile debian has
// no agent; what a node is given for that is a script, which is tried here as it is.
func TestGuestsReport(t *testing.T) {
	b := newBed(t)
	script, err := os.ReadFile("../../internal/ignition/node/azure-ready.sh")
	if err != nil {
		t.Fatal(err)
	}
	const oneshot = "[Unit]\nAfter=network-online.target\nWants=network-online.target\n[Service]\nType=oneshot\nExecStart=%s\n[Install]\nWantedBy=multi-user.target\n"
	units := func(command string) map[string]string {
		return map[string]string{"try.service": strings.Replace(oneshot, "%s", command, 1)}
	}
	header := map[string]any{"version": "3.3.0"}
	writes := "/bin/sh -c 'touch /usr/lib/written && touch /var/wrote; touch /var/tried'"
	debian := func(id, ip, config string) feed.Machine {
		m := testMachine(id, netA, ip, config)
		m.ImageReference = debianImage
		return m
	}
	b.feed.set(func(s *feed.Snapshot) {
		s.Networks = []feed.Network{network(netA)}
		s.Machines = []feed.Machine{
			debian("/vm/reports", "10.0.0.4", ignition(header, map[string]string{"/opt/azure-ready": string(script)}, units("/bin/sh /opt/azure-ready"))),
			debian("/vm/silent", "10.0.0.5", ignition(header, nil, units(writes))),
			testMachine("/vm/agent", netA, "10.0.0.6", ignition(header, map[string]string{"/opt/azure-ready": string(script)}, units(writes))),
			testMachine("/vm/broken", netA, "10.0.0.7", `{"ignition":{"version":"9.9.9"}}`),
		}
	})
	b.start()
	for _, id := range []string{"/vm/reports", "/vm/agent"} {
		b.eventually(id+" has reported", func() bool { return b.feed.provisioning(id) == feed.ProvisioningSucceeded })
	}
	has := func(machine, file string) bool {
		_, err := os.Stat(filepath.Join(b.cfg.Dir, machine, "var", file))
		return err == nil
	}
	b.eventually("the silent machine runs its units", func() bool { return has("silent", "tried") })
	b.eventually("the machine with an agent runs its units", func() bool { return has("agent", "tried") })
	if !has("silent", "wrote") || has("agent", "wrote") {
		t.Errorf("/usr is writable with profile debian: %v, with profile flatcar: %v", has("silent", "wrote"), has("agent", "wrote"))
	}
	b.eventually("Ignition has failed", func() bool {
		console, _ := os.ReadFile(filepath.Join(b.cfg.Dir, "broken", bootLog))
		return strings.Contains(string(console), "boot failed")
	})
	for _, id := range []string{"/vm/silent", "/vm/broken"} {
		if got := b.feed.provisioning(id); got != feed.ProvisioningRunning {
			t.Errorf("%s has not reported anything, and its provisioning is %q", id, got)
		}
	}
	if got := system.Of(debianImage); got != system.Debian {
		t.Errorf("profile of %s: %s", debianImage, got)
	}
}
