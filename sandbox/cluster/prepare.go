package cluster

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/cloud"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/netpol"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/objects"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/routes"
)

// Prepare writes everything the processes read. It may be repeated and changes
// only what differs.
func (c Config) Prepare() error {
	steps := []func() error{
		c.makeDirs, c.ensureClusterPKI, c.ensureRegistries, c.writeContainerd, c.writeKubelet, c.writeKubeProxy, c.makeNodes,
		func() error { return cloud.WriteProviderConfig(c.Dir, c.cloudConfigPath()) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Apply brings the cluster's own objects in. images maps coredns and
// local-path-provisioner to what to run.
func (c Config) Apply(ctx context.Context, images map[string]string) error {
	if err := objects.Apply(ctx, c.Kubeconfig(), c.objects(images)); err != nil {
		return err
	}
	return os.WriteFile(c.appliedMarker(), nil, 0o644)
}

// objects are the options of the cluster's own objects.
func (c Config) objects(images map[string]string) objects.Options {
	return objects.Options{
		Images: images, PullSecretFile: c.PullSecretFile(), CA: c.CA(), Volumes: c.cluster("volumes"), SeveralNodes: c.Nodes > 1, Plain: c.Plain,
	}
}

// appliedMarker exists when the cluster has the roles of the parts that need
// one.
func (c Config) appliedMarker() string { return c.cluster("applied") }

// WaitReady blocks until the nodes and the system's pods are ready, as was written since then.
func (c Config) WaitReady(ctx context.Context, since time.Time) error {
	var nodeNames []string
	for _, n := range c.allNodes() {
		nodeNames = append(nodeNames, n.name())
	}
	if err := objects.WaitReady(ctx, c.Kubeconfig(), nodeNames, since); err != nil {
		return fmt.Errorf("%w; see kubectl describe, and %s", err, c.path("logs", Kubelet+".log"))
	}
	return nil
}

// RunRouter is the default router of the management cluster.
func RunRouter(ctx context.Context, c Config) error {
	return routes.Run(ctx, c.clientKubeconfig("router"), c.Bundle())
}

// RunPolicies enforces the NetworkPolicies of the management cluster.
func RunPolicies(ctx context.Context, c Config) error {
	return netpol.Run(ctx, c.clientKubeconfig("policies"))
}
