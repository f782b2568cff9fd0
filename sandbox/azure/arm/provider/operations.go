package provider

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// A long-running operation carries its own end in its URL, as Azure's do: so it survives a restart and nothing has to be kept. The state it
// leads to is stored when it starts, but for a deletion where the profile defers it: that happens at the end.

// Operations are the long-running ones that are under way.
type Operations struct {
	mu   sync.Mutex
	ends map[string]running // by lower-cased id
}

// running is one operation: until when, and the state that its resource shows.
type running struct {
	until time.Time
	state string
}

// NewOperations begins with none.
func NewOperations() *Operations { return &Operations{ends: map[string]running{}} }

// State is what a resource shows while an operation on it is under way, "" when none is.
func (o *Operations) State(id string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	r, ok := o.ends[Key(id)]
	if ok && !time.Now().Before(r.until) {
		delete(o.ends, Key(id))
		return ""
	}
	return r.state
}

func (o *Operations) start(id, state string, until time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ends[Key(id)] = running{until, state}
}

// OperationFault tells how the long-running operation that this request starts shall go wrong. Only a request that starts one may ask.
func (c *Call) OperationFault() fault.Operation {
	if c.Injected == nil {
		f := fault.TakeOperation(c.Req.Context())
		c.Injected = &f
	}
	return *c.Injected
}

// OperationEnd is when an operation that starts now is done.
func (c *Call) OperationEnd() time.Time {
	typ, verb := c.Path.Type, Verbs[c.Req.Method]
	if verb == "action" {
		typ = typ[:max(strings.LastIndex(typ, "/"), 0)]
	}
	return time.Now().Add(c.Pace.Operation(verb, typ) + c.OperationFault().Delay)
}

// Verbs are the last segments of the actions that methods are.
var Verbs = map[string]string{
	http.MethodGet: "read", http.MethodHead: "read", http.MethodPut: "write", http.MethodPatch: "write",
	http.MethodDelete: "delete", http.MethodPost: "action",
}

// Updating is the state of a resource that is being changed.
const Updating = "Updating"

// StartOperation has the resource show a state meanwhile, and returns until when.
func (c *Call) StartOperation(id, state string) time.Time {
	end := c.OperationEnd()
	c.Running.start(id, state, end)
	return end
}

// OutcomeOf is the parameter of an operation that names the resource whose outcome counts.
const OutcomeOf = "of"

// OperationHeaders tell the client where to poll; location adds the address of the result, which a DELETE and a POST have.
func (c *Call) OperationHeaders(out *Reply, end time.Time, location bool) {
	ns := "Microsoft.Resources"
	if segs := strings.SplitN(c.Path.Type, "/", 2); c.Path.Scope != "" {
		ns = segs[0]
	}
	failure := ""
	if f := c.OperationFault(); f.Code != "" {
		failure = "&" + url.Values{"code": {f.Code}, "message": {f.Message}}.Encode()
	}
	if c.Req.Method == http.MethodPut && c.Kinds.Of(c.Path.Type).Outcome != nil {
		failure += "&" + url.Values{OutcomeOf: {c.Path.Raw}}.Encode()
	}
	build := func(what string) string {
		return fmt.Sprintf("https://%s/subscriptions/%s/providers/%s/locations/%s/%s/%s?api-version=%s&t=%d", c.Req.Host, c.Subscription, ns,
			c.Location, what, uuid.NewString(), url.QueryEscape(c.Req.URL.Query().Get("api-version")), end.UnixMilli()) + failure
	}
	if location {
		out.Header.Set("Location", build("operationResults"))
	}
	if !location || !strings.EqualFold(c.Path.Type, TypeResourceGroup) {
		out.Header.Set("Azure-AsyncOperation", build("operations"))
	}
	RetrySoon(out)
}

// retryAfterMillis is what clients that know the header wait between polls; without any header Go's SDK would wait 30 s.
const retryAfterMillis = "50"

// RetrySoon tells the client when to poll again.
func RetrySoon(out *Reply) {
	out.Header.Set("Retry-After", "1")
	out.Header.Set("Retry-After-Ms", retryAfterMillis)
}
