package verify

import (
	"context"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

const (
	lookAgain   = 10 * time.Second
	namedChecks = 3
)

// Run looks at everything that the hand-off says was made, and exchanges a token for each identity. Where nothing fails but what Azure has on
// record as it should be, it looks again for as long as Wait: a new role, identity or credential is known everywhere within ten minutes. What
// needs a person is told at once. It changes nothing. The error tells that it could not look; what it found wrong is in the checks.
func Run(ctx context.Context, s *azure.Session, h *handoff.File, o Options) ([]Check, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = stack.Sleep
	}
	begin := o.Now()
	for {
		checks, err := run(ctx, s, h, o)
		sofar := o.Now().Sub(begin)
		spreading := spreadingOf(checks)
		if err != nil || len(spreading) == 0 || len(spreading) < Failed(checks) || sofar >= o.Wait {
			return checks, err
		}
		if o.Say != nil {
			o.Say("waiting for Azure to spread what is new, %d s so far, up to %s: %s", int(sofar.Seconds()), strings.TrimSuffix(o.Wait.String(), "0s"), strings.Join(spreading[:min(len(spreading), namedChecks)], ", "))
		}
		if err := o.Sleep(ctx, min(lookAgain, o.Wait-sofar)); err != nil {
			return nil, err
		}
	}
}

// spreadingOf names what fails and passes by itself.
func spreadingOf(checks []Check) []string {
	var names []string
	for _, c := range checks {
		if c.Spreading() {
			names = append(names, c.Area+" "+c.Name)
		}
	}
	return names
}
