// Package preflight looks, before a hosted cluster is made, at the management cluster and at the release, and has the words in which every
// look before a first write is told: what is missing, its cause and what to do.
package preflight

import (
	"errors"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
)

// Status is what came of a check.
type Status string

// Statuses: Warn keeps nothing from being made, and may keep it from working; Skip could not be looked at.
const (
	Pass Status = "pass"
	Warn Status = "warn"
	Fail Status = "fail"
	Skip Status = "skip"
)

// Check is one thing that was looked at. It is also the shape of what programs read, as JSON.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Detail is what was found, Remedy what to do where that is not right.
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
}

// Worst is the most severe status: Fail, Warn, or Pass.
func Worst(checks []Check) Status {
	worst := Pass
	for _, c := range checks {
		if c.Status == Fail || c.Status == Warn && worst == Pass {
			worst = c.Status
		}
	}
	return worst
}

// Verdict passes, or has the bad status with its remedy.
func Verdict(name string, bad Status, ok bool, detail, remedy string) Check {
	if ok {
		return Check{Name: name, Status: Pass, Detail: detail}
	}
	return Check{Name: name, Status: bad, Detail: detail, Remedy: remedy}
}

// OfError is a check that Azure or a reader has answered with an error: its cause, its code, and the remedy that the error itself knows.
func OfError(name string, bad Status, err error, remedy string) Check {
	c := Check{Name: name, Status: bad, Detail: err.Error(), Remedy: remedy}
	var known *failure.Error
	if !errors.As(err, &known) {
		return c
	}
	c.Detail = known.Cause
	if known.Code != "" {
		c.Detail += " (" + known.Code + ")"
	}
	if known.Field != "" {
		c.Detail += "; check " + known.Field
	}
	if known.Remedy != "" {
		c.Remedy = known.Remedy
	}
	return c
}

// Skipped is a check that could not be looked at, with what it takes.
func Skipped(name, why, remedy string) Check {
	return Check{Name: name, Status: Skip, Detail: why, Remedy: remedy}
}

// unseen is a check that the person has no right to.
func unseen(name string, err error) []Check {
	return []Check{{Name: name, Status: Skip, Detail: err.Error(), Remedy: "have somebody look who may read this"}}
}
