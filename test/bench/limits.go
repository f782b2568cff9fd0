package main

import (
	"errors"
	"fmt"
)

// What the figures of docs/benchmarks.md must reach.
const (
	mostOfBareServer   = 1.4 // API server available, against the hand-written control plane
	mostOfBareAll      = 2.5 // Available, against the same
	mostPool           = 20  // seconds to two Machines Running
	mostMachine        = 12  // seconds from the creation of a virtual machine to the same
	mostMebibytes      = 800 // anonymous memory of one hosted cluster
	mostFleetAvailable = 360 // seconds until twelve hosted clusters are Available
	mostFleetCores     = 1   // of twelve hosted clusters at rest
	mostTenNodes       = 90  // seconds from three nodes to ten that are Ready
	mostManyNodes      = 180 // seconds to a hundred hollow nodes that are Ready
	mostSeen           = 5   // seconds until a change of a node pool among them is seen
	mostOfDirectExec   = 2   // exec through the tunnel, against exec in the management cluster
	fleetOfLimits      = 12  // the limits of a fleet are those of this many
)

// limits collects the figures that miss theirs, so that a run measures all of them before it fails.
type limits struct{ missed []error }

// hold prints a figure beside its limit, and notes when it misses.
func (l *limits) hold(what string, value, limit float64, more string) {
	verdict := "reached"
	if value > limit {
		verdict = "MISSED"
		l.missed = append(l.missed, fmt.Errorf("%s: %.2f, and may be %g", what, value, limit))
	}
	fmt.Printf("%-56s %8.2f (may be %g: %s)%s\n", what, value, limit, verdict, more)
}

func (l *limits) err() error { return errors.Join(l.missed...) }
