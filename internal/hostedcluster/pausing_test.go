package hostedcluster

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

func TestPause(t *testing.T) {
	for value, want := range map[string]struct {
		paused bool
		reason string
		again  time.Duration
	}{
		"":                     {false, hyperv1.AsExpectedReason, 0},
		"true":                 {true, hyperv1.ReconciliationPausedReason, 0},
		"False":                {false, hyperv1.AsExpectedReason, 0},
		"2026-01-01T01:00:00Z": {true, hyperv1.ReconciliationPausedReason, time.Hour},
		"2025-01-01T01:00:00Z": {false, hyperv1.AsExpectedReason, 0},
		"tomorrow":             {false, hyperv1.InvalidPausedUntilReason, 0},
	} {
		c := hostedclustertest.At(&hyperv1.HostedCluster{Spec: hyperv1.HostedClusterSpec{PausedUntil: ptr.To(value)}})
		paused, left := readPause(c)
		condition := kube.Find(c.Hosted.Status.Conditions, hyperv1.ReconciliationActive)
		if paused != want.paused || condition.Reason != want.reason || left != want.again {
			t.Errorf("%q: paused %t reason %s again %s", value, paused, condition.Reason, left)
		}
	}
}
