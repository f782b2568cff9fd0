package scale

import (
	"testing"
	"time"
)

// cost is what a fleet takes of its operator.
type cost struct {
	clusters         int
	fresh, restarted time.Duration
	memory           int64
}

// mostGrowth is how much more the second hundred of hosted clusters may cost than the first one did.
const mostGrowth = 1.5

// compareCosts prints what one more hosted cluster costs in the larger fleet, and fails where that grows with the fleet.
func compareCosts(t *testing.T, small, large cost) {
	t.Helper()
	more := float64(large.clusters - small.clusters)
	for _, slope := range []struct {
		name, unit   string
		small, large float64
	}{
		{"first start", "ms", float64(small.fresh.Milliseconds()), float64(large.fresh.Milliseconds())},
		{"restart", "ms", float64(small.restarted.Milliseconds()), float64(large.restarted.Milliseconds())},
		{"memory", "KiB", float64(small.memory >> 10), float64(large.memory >> 10)},
	} {
		first, next := slope.small/float64(small.clusters), (slope.large-slope.small)/more
		t.Logf("%s: %.0f %s for each of %d hosted clusters, %.0f %s for each one more of %d", slope.name, first, slope.unit, small.clusters, next, slope.unit, large.clusters)
		if next > mostGrowth*first {
			t.Errorf("%s: one more hosted cluster costs %.0f %s, and may cost %.1f times the %.0f %s of a small fleet", slope.name, next, slope.unit, mostGrowth, first, slope.unit)
		}
	}
}
