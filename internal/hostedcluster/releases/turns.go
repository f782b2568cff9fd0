package releases

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

const (
	// turnLimit is how long an upgrade keeps others waiting: one that hangs must not hold up a fleet.
	turnLimit = 30 * time.Minute
	// turnPeriod is when a hosted cluster asks again; the end of another one's upgrade is no event of its own.
	turnPeriod = 10 * time.Second
	// namesTold is how many of the clusters that are upgraded a message names.
	namesTold = 5
)

// Turns bound how many control planes are upgraded at a time. One process decides: the operator that leads.
type Turns struct {
	lock sync.Mutex
	// taken are the upgrades that were let go or seen, until they are complete.
	taken map[types.UID]turn
}

// turn of a control plane.
type turn struct {
	// image that it was let go to; empty for an upgrade that was under way when it was first seen.
	image string
	since time.Time
}

// Take lets an upgrade of the control plane begin unless max others are under way; 0 lets all begin. What is being upgraded or installed, or
// changes nothing, goes on. It returns what the cluster waits for, with the same as a *steps.Waiting. hcp is nil before there is a control plane.
func (t *Turns) Take(ctx context.Context, c *cluster.Cluster, hcp *hyperv1.HostedControlPlane, most int) (waits string, err error) {
	if most <= 0 || hcp == nil || planeImage(hcp) == cluster.ControlPlaneImage(c.Hosted) || !completed(hcp) {
		return "", nil
	}
	list := &hyperv1.HostedControlPlaneList{}
	if err := c.Client.List(ctx, list); err != nil {
		return "", fmt.Errorf("list the control planes that are upgraded: %w", err)
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	busy := t.busy(list.Items, hcp.UID, c.Now())
	if own, has := t.taken[hcp.UID]; has || len(busy) < most {
		if !has {
			own.since = c.Now()
		}
		own.image = cluster.ControlPlaneImage(c.Hosted)
		t.taken[hcp.UID] = own
		return "", nil
	}
	return told(busy, most), &steps.Waiting{For: "its turn to be upgraded", After: turnPeriod}
}

// busy are the other control planes that are upgraded, by name. It forgets those that are not any more.
func (t *Turns) busy(planes []hyperv1.HostedControlPlane, own types.UID, now time.Time) []string {
	seen := map[types.UID]turn{}
	var names []string
	for i := range planes {
		plane := &planes[i]
		one, noted := t.taken[plane.UID]
		// One that was let go a moment ago does not show it yet.
		coming := noted && one.image != "" && one.image != planeImage(plane) && now.Sub(one.since) < turnPeriod
		if !upgrading(plane) && !coming {
			continue
		}
		if !noted {
			one.since = now
			if history := versions(plane); len(history) > 0 && history[0].State == hyperv1.PartialUpdate {
				one.since = history[0].StartedTime.Time
			}
		}
		seen[plane.UID] = one
		if plane.UID != own && now.Sub(one.since) < turnLimit {
			names = append(names, plane.Namespace)
		}
	}
	t.taken = seen
	slices.Sort(names)
	return names
}

func versions(hcp *hyperv1.HostedControlPlane) []hyperv1.ControlPlaneUpdateHistory {
	if hcp.Status.ControlPlaneVersion == nil {
		return nil
	}
	return hcp.Status.ControlPlaneVersion.History
}

// completed tells whether the control plane has ever run a release: what is installed is not upgraded.
func completed(hcp *hyperv1.HostedControlPlane) bool {
	return slices.ContainsFunc(versions(hcp), func(h hyperv1.ControlPlaneUpdateHistory) bool { return h.State == hyperv1.CompletedUpdate })
}

// upgrading tells whether the control plane is on its way from one release to another, or was told to go.
func upgrading(hcp *hyperv1.HostedControlPlane) bool {
	if !completed(hcp) || !hcp.DeletionTimestamp.IsZero() {
		return false
	}
	newest := versions(hcp)[0]
	return newest.State == hyperv1.PartialUpdate || newest.Image != planeImage(hcp)
}

func told(busy []string, most int) string {
	names := strings.Join(busy[:min(len(busy), namesTold)], ", ")
	if more := len(busy) - namesTold; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("The upgrade waits for its turn: %d control planes are upgraded (%s), and the operator upgrades at most %d at a time (install --max-concurrent-upgrades).", len(busy), names, most)
}
