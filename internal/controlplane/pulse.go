package controlplane

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// passLimit is longer than any pass takes, a registry that does not answer included.
const passLimit = 5 * time.Minute

// pulse tells whether passes go on. Nobody writes it down: the kubelet asks for it.
type pulse struct {
	// due is when the next pass must have ended, in nanoseconds; zero when none is expected.
	due atomic.Int64
}

func (p *pulse) begins(now time.Time) { p.due.Store(now.Add(passLimit).UnixNano()) }

func (p *pulse) ends(now time.Time, result ctrl.Result, err error) {
	if err == nil && result.RequeueAfter == 0 {
		p.due.Store(0)
		return
	}
	p.due.Store(now.Add(result.RequeueAfter + passLimit).UnixNano())
}

// Alive fails when a pass does not end, or the next one does not begin: then what the control plane says of itself is old, and only a new
// process helps.
func (r *Reconciler) Alive(*http.Request) error {
	due := r.pulse.due.Load()
	if late := r.Now().Sub(time.Unix(0, due)); due != 0 && late > 0 {
		return fmt.Errorf("a pass over the control plane should have ended %s ago", late.Round(time.Second))
	}
	return nil
}
