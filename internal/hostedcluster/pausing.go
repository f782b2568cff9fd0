package hostedcluster

import (
	"context"
	"fmt"
	"time"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/machines"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/projection"
	"github.com/hypershift-on-azure/hypershift/internal/pause"
)

// readPause reads spec.pausedUntil and reports it in ReconciliationActive. left is zero when only a change of the field ends the pause.
func readPause(c *cluster.Cluster) (paused bool, left time.Duration) {
	conditions, value := c.Conditions(), c.Hosted.Spec.PausedUntil
	paused, left, err := pause.Read(value, c.Now())
	switch {
	case err != nil:
		conditions.False(hyperv1.ReconciliationActive, hyperv1.InvalidPausedUntilReason,
			fmt.Sprintf("spec.pausedUntil %q is neither a boolean nor a time like 2026-01-31T12:00:00Z; the cluster is not paused.", *value))
	case paused && left > 0:
		conditions.False(hyperv1.ReconciliationActive, hyperv1.ReconciliationPausedReason, "Paused: nothing is changed until "+*value+".")
	case paused:
		conditions.False(hyperv1.ReconciliationActive, hyperv1.ReconciliationPausedReason, "Paused: nothing is changed until spec.pausedUntil is removed.")
	default:
		conditions.True(hyperv1.ReconciliationActive, hyperv1.AsExpectedReason, "Reconciliation is active.")
	}
	return paused, left
}

// handPauseDown changes nothing else.
func handPauseDown(ctx context.Context, c *cluster.Cluster, hcp *hyperv1.HostedControlPlane) error {
	if err := projection.SetPaused(ctx, c, hcp); err != nil {
		return err
	}
	return machines.SetPaused(ctx, c, true)
}
