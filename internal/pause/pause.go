// Package pause reads spec.pausedUntil, which HostedClusters, HostedControlPlanes and NodePools have.
package pause

import (
	"errors"
	"strconv"
	"time"
)

// ErrUnreadable is the error of a value that is neither a boolean nor a time.
var ErrUnreadable = errors.New("neither a boolean nor an RFC3339 time")

// Read tells whether a value pauses its object now, and for how long: zero means until the value changes. What cannot be read pauses
// nothing and is ErrUnreadable.
func Read(value *string, now time.Time) (paused bool, left time.Duration, err error) {
	if value == nil || *value == "" {
		return false, 0, nil
	}
	if paused, err := strconv.ParseBool(*value); err == nil {
		return paused, 0, nil
	}
	until, err := time.Parse(time.RFC3339, *value)
	if err != nil {
		return false, 0, ErrUnreadable
	}
	if left = until.Sub(now); left <= 0 {
		return false, 0, nil
	}
	return true, left, nil
}
