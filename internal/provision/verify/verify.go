// Package verify looks again at everything that a hand-off says was made.
package verify

import (
	"context"
	"crypto/rsa"
	"errors"
	"slices"
	"sort"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
)

// The outcomes of a check.
const (
	Pass = "pass"
	Fail = "fail"
	Skip = "skip"
)

// Check is one thing that verify looked at.
type Check struct {
	Area   string `json:"area"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Detail string `json:"detail,omitempty"`
	Field  string `json:"field,omitempty"` // the one that does not match, with what was expected and found
	Remedy string `json:"remedy,omitempty"`
	// spreads: Azure has it on record as it should be, and does not know it everywhere yet.
	spreads bool
}

// Spreading tells of a failure that passes by itself: Azure has it on record as it should be, and does not know it everywhere yet.
func (c Check) Spreading() bool { return c.Status == Fail && c.spreads }

// Options tell what cannot be read from the hand-off.
type Options struct {
	Resolver string // HOST:PORT of the DNS server to ask; "" is the system's
	// Wait is how long Azure may take to know everywhere what it has on record: roles, identities, credentials, keys.
	Wait time.Duration
	Say  func(format string, args ...any) // told what is waited for; nil is silent
	// Now and Sleep are real time when nil.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
}

// checksAtOnce bounds the checks under way.
const checksAtOnce = 8

// run looks again at everything the hand-off says was made, and exchanges a token for each identity. It changes nothing. The
// error tells that it could not look; what it found wrong is in the checks.
func run(ctx context.Context, s *azure.Session, h *handoff.File, o Options) ([]Check, error) {
	v := &verification{s: s, h: h, Options: o, directory: s.NewDirectory(), assignments: s.NewAssignments()}
	if h.Issuer != nil && h.Issuer.PrivateKeyPath != "" {
		var err error
		if v.key, err = signing.ReadPrivate(h.Issuer.PrivateKeyPath); err != nil {
			return nil, err
		}
	}
	if h.Identities != nil {
		var err error
		if v.identities, err = s.List(ctx, "/subscriptions/"+s.SubscriptionID+"/providers/"+node.TypeIdentity, node.APIIdentity, ""); err != nil {
			return nil, err
		}
	}
	todo := slices.Concat(v.issuerTasks(), v.identityTasks(), v.infraTasks(), v.dnsTasks())
	if len(todo) == 0 {
		return nil, errors.New("there is nothing to verify: the hand-off names neither issuer, identities, infrastructure nor DNS")
	}
	results := make([][]Check, len(todo))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(checksAtOnce)
	for i, work := range todo {
		group.Go(func() error {
			results[i] = work(ctx)
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(results...), nil
}

// Failed counts the checks that failed.
func Failed(checks []Check) int {
	n := 0
	for _, c := range checks {
		if c.Status == Fail {
			n++
		}
	}
	return n
}

type task func(context.Context) []Check

type verification struct {
	Options
	s           *azure.Session
	h           *handoff.File
	key         *rsa.PrivateKey // nil when the hand-off names none
	identities  []azure.Resource
	directory   *azure.Directory
	assignments *azure.Assignments
}

// give is the remedy for a field without a value.
func give(f field.Field) string { return "give " + f.String() }

// verdict is pass without an error. The remedy is the error's own where it has one; what is gone is made again.
func verdict(area, name, detail string, err error, remedy string) Check {
	if err == nil {
		return Check{Area: area, Name: name, Status: Pass, Detail: detail}
	}
	c := Check{Area: area, Name: name, Status: Fail, Detail: err.Error(), Remedy: remedy}
	var known *failure.Error
	if errors.As(err, &known) {
		c.Detail, c.Field = known.Cause, known.Field
		if known.Code != "" {
			c.Detail += " (" + known.Code + ")"
		}
		if known.Remedy != "" && !(failure.IsNotFound(err) && remedy != "") {
			c.Remedy = known.Remedy
		}
	}
	return c
}

// Sort puts the failures last, where a person looks.
func Sort(checks []Check) {
	sort.SliceStable(checks, func(i, j int) bool { return checks[i].Status != Fail && checks[j].Status == Fail })
}
