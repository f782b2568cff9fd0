package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

// ResetManagement loses the management cluster of a running sandbox with all its data, as if its machines were gone, and starts an empty one
// in its place. The embedded Azure, what is in it, and the virtual machines with all that runs on them live on; so do what the lost cluster
// had in Azure, which nobody takes care of any more, and its certificates, so that the kubeconfig leads to the new one. o is that of Up.
func ResetManagement(ctx context.Context, o Options) error {
	c, err := config(o.Dir)
	if err != nil {
		return err
	}
	if err := loseManagement(ctx, c, newProgress(o.Step)); err != nil {
		return err
	}
	return Up(ctx, o)
}

func loseManagement(ctx context.Context, c cluster.Config, p *progress) error {
	if c.Nodes > 1 {
		return fmt.Errorf("the management cluster in %s has %d nodes, and only one of a single node can be lost as a whole; nodes fail by: hypershift sandbox fault node", c.Dir, c.Nodes)
	}
	unlock, err := lockDir(c.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	plan, err := runningPlan(ctx, c)
	if err != nil {
		return err
	}
	if plan.Mode != modeFull {
		return fmt.Errorf("no management cluster runs in %s: start one with hypershift sandbox up, or name its directory with --dir", c.Dir)
	}
	err = p.run("stop the management cluster", func() error {
		plan.Parts = cluster.WithoutManagement(plan.Parts)
		return errors.Join(supervise.WritePlan(c.Dir, plan), supervise.Reload(ctx, c.Dir))
	})
	if err != nil {
		return err
	}
	return p.run("remove its pods and data", func() error { return c.LoseManagement(ctx) })
}
