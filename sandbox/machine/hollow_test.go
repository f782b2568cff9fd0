package machine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

// TestHollowMachines: a hollow machine is in its network as any other. It fetches its configuration over it and is provisioned then; one
// that a security group lets nowhere is not. Nothing of them stays.
func TestHollowMachines(t *testing.T) {
	b := newBed(t)
	custom := b.serveIgnition(ignition(map[string]any{"version": "3.3.0"}, map[string]string{"/etc/kubernetes/kubeconfig": "{}", "/etc/kubernetes/kubelet.conf": "{}"}, nil))
	deny := &feed.SecurityGroup{Rules: []feed.SecurityRule{{Name: "deny", Priority: 100, Direction: "Outbound", Access: "Deny", Protocol: "*", SourcePrefixes: []string{"*"},
		SourcePorts: []string{"*"}, DestinationPrefixes: []string{"*"}, DestinationPorts: []string{"*"}}}}
	open, shut := testMachine(vmA1, netA, "10.0.0.4", custom), testMachine(vmA2, netA, "10.0.0.5", custom)
	open.Hollow, shut.Hollow = true, true
	shut.NICs[0].SecurityGroup = deny
	b.feed.set(func(s *feed.Snapshot) {
		s.Networks, s.Machines = []feed.Network{network(netA)}, []feed.Machine{open, shut}
	})
	b.start()
	console := func(name string) string {
		raw, _ := os.ReadFile(filepath.Join(b.cfg.Dir, name, bootLog))
		return string(raw)
	}
	b.eventually("a1 is provisioned", func() bool { return b.feed.provisioning(vmA1) == feed.ProvisioningSucceeded })
	b.eventually("a2 says what keeps it", func() bool { return strings.Contains(console("a2"), "configuration: ") })
	if b.feed.state(vmA2) != feed.PowerRunning || b.feed.provisioning(vmA2) != feed.ProvisioningRunning || strings.Contains(console("a2"), "done") {
		t.Errorf("a2 is %s, %s, and says %q", b.feed.state(vmA2), b.feed.provisioning(vmA2), console("a2"))
	}
	b.eventually("a1 has asked for its own size and zone", func() bool { return strings.Contains(console("a1"), "metadata: done") })

	// The next hypervisor goes on: what was fetched is there.
	b.stop()
	fetched := b.fetched.Load()
	b.start()
	b.eventually("a1 runs again", func() bool { return strings.Count(console("a1"), "metadata: done") == 2 })
	if b.fetched.Load() != fetched {
		t.Error("its configuration was fetched again")
	}
	b.feed.set(func(s *feed.Snapshot) { s.Machines[0].Running = false })
	b.eventually("a1 is off", func() bool { return b.feed.state(vmA1) == feed.PowerStopped })

	b.feed.set(func(s *feed.Snapshot) { s.Machines = nil })
	left := func() []string { names, _ := namespacesWith(b.cfg.Prefix); return names }
	b.eventually("nothing is left", func() bool {
		records, _ := filepath.Glob(filepath.Join(b.cfg.Dir, "*", recordFile))
		return len(records) == 0 && !slices.ContainsFunc(left(), func(name string) bool { return strings.HasPrefix(name, b.cfg.hollowPrefix()) })
	})
}
