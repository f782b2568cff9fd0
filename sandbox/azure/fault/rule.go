// Package fault makes the embedded Azure misbehave on purpose: slow, throttled, inconsistent and half-answered requests, chosen by rules.
package fault

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Duration is a time.Duration that JSON shows as "1m30s".
type Duration time.Duration

// MarshalText writes the form of time.Duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads the form of time.Duration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// String is the form of time.Duration.
func (d Duration) String() string { return time.Duration(d).String() }

// Planes of the embedded Azure.
const (
	ARM   = "arm"
	Entra = "entra"
	Blob  = "blob"
	Graph = "graph"
	Vault = "vault"
)

// What spreads late; see Rule.Propagation.
const (
	Identity   = "identity"   // a new principal: PrincipalNotFound when a role is assigned to it
	Role       = "role"       // a new role assignment grants nothing yet
	Federation = "federation" // a new federated credential: AADSTS70021, and a refusal is remembered
)

// When a connection is reset.
const (
	Before = "before" // the request has no effect
	After  = "after"  // the request took effect, its answer is lost
)

// Rule says which requests go wrong, and how. Empty selectors match everything.
type Rule struct {
	ID     string `json:"id,omitempty"`
	Preset string `json:"preset,omitempty"` // supplies what the rule leaves empty

	Plane     string  `json:"plane,omitempty"`
	Method    string  `json:"method,omitempty"`    // several are separated by commas
	Path      string  `json:"path,omitempty"`      // see Pattern
	Principal string  `json:"principal,omitempty"` // client id or object id of the caller
	Create    bool    `json:"create,omitempty"`    // only a PUT of what does not exist
	Count     int     `json:"count,omitempty"`     // how often at most; 0 is always
	Chance    float64 `json:"probability,omitempty"`
	Seed      uint64  `json:"seed,omitempty"` // the same seed gives the same draws

	Latency    Duration       `json:"latency,omitzero"`
	Status     int            `json:"status,omitempty"` // an error instead of an answer
	Code       string         `json:"code,omitempty"`   // its code, or that of a failing operation, or the number of an AADSTS error
	Message    string         `json:"message,omitempty"`
	RetryAfter Duration       `json:"retryAfter,omitzero"`
	Reset      string         `json:"reset,omitempty"`
	Operation  string         `json:"operation,omitempty"`   // "slow" or "fail": the long-running operation that the request starts
	Propagate  string         `json:"propagation,omitempty"` // for Seconds after the creation
	Seconds    float64        `json:"seconds,omitempty"`     // of propagation, or added to an operation
	Clock      Duration       `json:"clock,omitzero"`        // how far the token service's clock is ahead; for all requests
	PageSize   int            `json:"pageSize,omitempty"`    // of lists
	IDCase     bool           `json:"changeIdCase,omitempty"`
	Patch      map[string]any `json:"patch,omitempty"` // merged into the request's body, as a "modify" policy does

	Matched int `json:"matched"` // requests that the rule was considered for
	Fired   int `json:"fired"`   // and that it hit
}

// What happens to a long-running operation.
const (
	OperationSlow = "slow"
	OperationFail = "fail"
)

// exhausted tells that a rule has had all its hits.
func (r *Rule) exhausted() bool { return r.Count > 0 && r.Fired >= r.Count }

func (r *Rule) wait() time.Duration { return time.Duration(r.Seconds * float64(time.Second)) }

// problems collects what is wrong with a rule.
type problems []error

func (p *problems) refuse(bad bool, format string, args ...any) {
	if bad {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

func (p *problems) oneOf(name, value string, allowed ...string) {
	p.refuse(value != "" && !slices.Contains(allowed, value), "%s %q: use one of %s", name, value, strings.Join(allowed, ", "))
}

// Validate says what is wrong with a rule.
func (r *Rule) Validate() error {
	var p problems
	p.oneOf("plane", r.Plane, ARM, Entra, Blob, Graph, Vault)
	p.oneOf("reset", r.Reset, Before, After)
	p.oneOf("operation", r.Operation, OperationSlow, OperationFail)
	p.oneOf("propagation", r.Propagate, Identity, Role, Federation)
	for _, m := range r.methods() {
		p.oneOf("method", m, http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete)
	}
	if _, err := compile(r.Path); err != nil {
		p = append(p, err)
	}
	p.refuse(r.Status != 0 && (r.Status < 400 || r.Status > 599), "status %d: an injected answer is an error, 400 to 599", r.Status)
	p.refuse(r.Chance < 0 || r.Chance > 1, "probability %v: from 0 to 1", r.Chance)
	p.refuse(min(r.Count, r.PageSize) < 0 || r.Seconds < 0 || min(r.Latency, r.RetryAfter) < 0, "counts and times cannot be negative")
	r.checkTogether(&p)
	if err := errors.Join(p...); err != nil {
		return fmt.Errorf("fault: %w", err)
	}
	return nil
}

// checkTogether refuses what is meaningless together.
func (r *Rule) checkTogether(p *problems) {
	lasting := r.Propagate != "" || r.Clock != 0
	kinds := r.kinds()
	p.refuse(kinds == 0, "the rule does nothing: give it a latency, a status, a reset or a preset")
	p.refuse(kinds > 1, "an operation, a propagation delay and a clock each need a rule of their own")
	p.refuse(lasting && (r.Count != 0 || r.Chance != 0), "a propagation delay or a clock takes no count and no probability: it lasts until cleared")
	p.refuse((r.Propagate != "" || r.Operation == OperationSlow) && r.Seconds == 0, "a propagation delay and a slow operation need seconds")
	p.refuse(r.Status != 0 && r.Reset != "", "an error and a reset exclude each other: make two rules")
	p.refuse(r.Status == 0 && r.RetryAfter != 0, "only an error has a Retry-After: give a status")
	p.refuse(r.Clock != 0 && (r.Method != "" || r.Path != "" || r.Principal != ""), "the clock is the same for everybody: leave out method, path and principal")
	changes := r.PageSize != 0 || r.IDCase || r.Patch != nil
	p.refuse(changes && r.Plane != ARM && r.Plane != Graph, "page size, id case and patches need plane arm or graph")
}

// kinds counts the kinds of effects that cannot be combined; what happens at once is one kind.
func (r *Rule) kinds() int {
	atOnce := r.Latency != 0 || r.Status != 0 || r.Reset != "" || r.PageSize != 0 || r.IDCase || r.Patch != nil
	n := 0
	for _, has := range []bool{atOnce, r.Operation != "", r.Propagate != "", r.Clock != 0} {
		if has {
			n++
		}
	}
	return n
}

func (r *Rule) methods() []string {
	if r.Method == "" {
		return nil
	}
	out := strings.Split(strings.ToUpper(r.Method), ",")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// Effect describes in a few words what a rule does.
func (r *Rule) Effect() string {
	var parts []string
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(r.Latency != 0, "latency %s", r.Latency)
	add(r.Status != 0, "%s", strings.TrimSpace(fmt.Sprintf("%d %s", r.Status, r.Code)))
	add(r.RetryAfter != 0, "retry after %s", r.RetryAfter)
	add(r.Reset == Before, "connection reset")
	add(r.Reset == After, "answer lost")
	add(r.Operation == OperationSlow, "operation %gs slower", r.Seconds)
	add(r.Operation == OperationFail, "operation fails %s", r.Code)
	add(r.Propagate != "", "%s spreads in %gs", r.Propagate, r.Seconds)
	add(r.Clock != 0, "clock %s ahead", r.Clock)
	add(r.PageSize != 0, "pages of %d", r.PageSize)
	add(r.IDCase, "ids in another case")
	add(r.Patch != nil, "body changed")
	return strings.Join(parts, ", ")
}
