package cluster

import (
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
)

// TestChanges: each thing that outlives a process is told before it is changed, and once.
func TestChanges(t *testing.T) {
	c := Config{Dir: t.TempDir()}
	lines, err := c.Changes()
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Join(lines, "\n")
	for _, part := range []string{names.EdgeBridge, names.PodBridge, names.AllPrefix, names.PodCIDR, "nftables", "vm/overcommit_memory", "/var/lib/kubelet", "/run/hypershift-sandbox"} {
		if !strings.Contains(told, part) {
			t.Errorf("nothing is said of %s:\n%s", part, told)
		}
	}
	if err := c.rememberHost(t.Context()); err != nil {
		t.Fatal(err)
	}
	if lines, err := c.Changes(); err != nil || len(lines) > 0 {
		t.Errorf("told again: %v %v", lines, err)
	}
}
