package cluster

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/mounts"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
)

// Changes says, a line each, what a sandbox with a management cluster changes on the machine outside of its directory. Teardown takes it
// back. Nothing is said where it is changed already.
func (c Config) Changes() ([]string, error) {
	_, changed, err := c.readHostState()
	if err != nil || changed {
		return nil, err
	}
	mounts, err := mounts.Unshared()
	if err != nil {
		return nil, err
	}
	lines := []string{
		fmt.Sprintf("links %s, %s, hsu* and the pods', with addresses and routes of %s, %s and %s", names.EdgeBridge, names.PodBridge, names.AllPrefix, names.PodCIDR, names.ServiceCIDR),
		"nftables: those addresses are closed to other hosts and to users but root; translation and policies of pods, Services and machines",
	}
	for _, name := range slices.Sorted(maps.Keys(sysctls)) {
		if now, err := os.ReadFile(filepath.Join("/proc/sys", name)); err == nil && strings.TrimSpace(string(now)) != sysctls[name] {
			lines = append(lines, fmt.Sprintf("sysctl %s: %s becomes %s", name, strings.TrimSpace(string(now)), sysctls[name]))
		}
	}
	lines = append(lines, "sysctls of the kubelet: "+strings.Join(kubeletSysctls, ", "))
	if len(mounts) > 0 {
		lines = append(lines, fmt.Sprintf("mounts: %d become shared, / among them where it is not", len(mounts)))
	}
	return append(lines, "files in "+strings.Join(append([]string{c.runDir()}, outsideDirs...), ", "), "processes, mounts, cgroups and network namespaces of pods and virtual machines"), nil
}
