// Package limits holds the figures of benches against what they must reach.
package limits

import (
	"errors"
	"fmt"
)

// Limits collects the figures that miss theirs, so that a run measures all of them before it fails. The zero value is ready.
type Limits struct{ missed []error }

// Hold prints a figure beside its limit, and notes when it misses.
func (l *Limits) Hold(what string, value, limit float64, more string) {
	verdict := "reached"
	if value > limit {
		verdict = "MISSED"
		l.missed = append(l.missed, fmt.Errorf("%s: %.2f, and may be %g", what, value, limit))
	}
	fmt.Printf("%-56s %8.2f (may be %g: %s)%s\n", what, value, limit, verdict, more)
}

// Err names the figures that miss their limits, nil when none does.
func (l *Limits) Err() error { return errors.Join(l.missed...) }
