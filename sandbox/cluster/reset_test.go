package cluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

// TestWithoutManagement: Azure, the virtual machines and the registries go on, and nothing that needs the management cluster does.
func TestWithoutManagement(t *testing.T) {
	c := Config{Dir: "/sandbox"}
	kept := map[string]bool{}
	for _, part := range WithoutManagement(c.Parts()) {
		kept[part.Name] = true
		for _, needed := range part.After {
			if !kept[needed] {
				t.Errorf("%s goes on without %s, which it needs", part.Name, needed)
			}
		}
	}
	for _, part := range c.Parts() {
		want := slices.Contains([]string{"azure", "machines", "registry", "own-registry"}, part.Name)
		if kept[part.Name] != want {
			t.Errorf("part %s goes on: %v", part.Name, kept[part.Name])
		}
	}
	if err := (supervise.Plan{Parts: WithoutManagement(c.Parts())}).Validate(); err != nil {
		t.Error(err)
	}
}

// TestManagementData: what is lost is the management cluster's and nobody else's.
func TestManagementData(t *testing.T) {
	c := Config{Dir: "/sandbox"}
	for _, path := range c.managementData() {
		if !strings.HasPrefix(path, "/sandbox/cluster/") || strings.HasPrefix(path, "/sandbox/cluster/pki") || path == "/sandbox/cluster/kubeconfig" {
			t.Errorf("%s is lost", path)
		}
	}
	for target, want := range map[string]bool{
		"/sandbox/machines/demo-1/rootfs":                            false,
		"/sandbox/cluster/pki":                                       false,
		"/sandbox/cluster/etcdother":                                 false,
		"/sandbox/cluster/kubelet/pods/1/volumes/secret":             true,
		c.runDir() + "/containerd/io.containerd.runtime.v2.task/a/b": true,
		c.runDir() + "/machines":                                     false,
	} {
		if got := c.ofManagement(target); got != want {
			t.Errorf("%s is a mount of the management cluster's: %v", target, got)
		}
	}
}
