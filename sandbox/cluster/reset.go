package cluster

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/mounts"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

// outliving are the parts that are not of the management cluster.
var outliving = []string{Azure, Machines, Registry, OwnRegistry}

// WithoutManagement is what of the parts goes on when the management cluster is lost.
func WithoutManagement(parts []supervise.Part) []supervise.Part {
	return slices.DeleteFunc(slices.Clone(parts), func(p supervise.Part) bool { return !slices.Contains(outliving, p.Name) })
}

// managementData is all that a management cluster remembers. Its certificates and the keys of its service accounts are no memory of it: who
// has its kubeconfig reaches the next one with it.
func (c Config) managementData() []string {
	return []string{c.cluster("etcd"), c.cluster("kubelet"), c.cluster("containerd"), c.cluster("volumes"), c.cluster("pod-logs"), c.appliedMarker()}
}

// ofManagement tells whether a mount point is of the management cluster's pods, and not of a virtual machine's.
func (c Config) ofManagement(target string) bool {
	for _, dir := range append(c.managementData(), c.runDir()+"/containerd") {
		if target == dir || strings.HasPrefix(target, dir+"/") {
			return true
		}
	}
	return false
}

// LoseManagement ends the management cluster's pods and removes its data. Its processes must have been stopped before; virtual machines
// and Azure are not touched.
func (c Config) LoseManagement(ctx context.Context) error {
	problems := []error{c.killPods(ctx), c.removePodNetworks(), mounts.UnmountIf(c.ofManagement), removePorts(names.PodBridge), removeCgroups(ctx),
		removeShimState(c.runDir()+"/containerd", "/run/containerd"), removeLinksInto("/var/log/containers", c.cluster("pod-logs"))}
	if err := errors.Join(problems...); err != nil {
		return err // data below a mount or a process that lives on are not safe to remove
	}
	for _, path := range append(c.managementData(), c.runDir()+"/containerd") {
		problems = append(problems, os.RemoveAll(path))
	}
	return errors.Join(problems...)
}
