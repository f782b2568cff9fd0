package provider

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// A long-running operation carries its own end in its URL, as Azure's do: so it survives a restart and nothing has to be kept. The state it
// leads to is stored when it starts.

// Operations are the long-running ones that are under way.
type Operations struct {
	mu   sync.Mutex
	ends map[string]time.Time // by lower-cased id
}

// NewOperations begins with none.
func NewOperations() *Operations { return &Operations{ends: map[string]time.Time{}} }

// Busy tells whether an operation on the resource is under way.
func (o *Operations) Busy(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	until, ok := o.ends[Key(id)]
	if ok && !time.Now().Before(until) {
		delete(o.ends, Key(id))
		return false
	}
	return ok
}

func (o *Operations) start(id string, until time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ends[Key(id)] = until
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
	return time.Now().Add(c.OperationTime + c.OperationFault().Delay)
}

// StartOperation has the resource show that it is being changed, and returns until when.
func (c *Call) StartOperation(id string) time.Time {
	end := c.OperationEnd()
	c.Running.start(id, end)
	return end
}

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
