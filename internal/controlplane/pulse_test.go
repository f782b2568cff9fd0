package controlplane

import (
	"errors"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// TestPulse: a process whose passes stop says so; one that has nothing to do, or waits for its time, does not.
func TestPulse(t *testing.T) {
	now := time.Unix(1700000000, 0)
	r := &Reconciler{Now: func() time.Time { return now }}
	alive := func(what string, want bool) {
		t.Helper()
		if err := r.Alive(nil); (err == nil) != want {
			t.Errorf("%s: %v", what, err)
		}
	}
	alive("before the first pass", true)
	r.pulse.begins(now)
	now = now.Add(passLimit)
	alive("a long pass", true)
	now = now.Add(time.Second)
	alive("a pass that hangs", false)
	r.pulse.ends(now, ctrl.Result{RequeueAfter: steadyPeriod}, nil)
	now = now.Add(steadyPeriod + passLimit)
	alive("the next pass is late", true)
	now = now.Add(time.Second)
	alive("there is no next pass", false)
	r.pulse.ends(now, ctrl.Result{}, errors.New("away"))
	alive("a pass failed", true)
	r.pulse.ends(now, ctrl.Result{}, nil)
	now = now.Add(24 * time.Hour)
	alive("nothing to do", true)
}
