// Package provider is the contract between the gateway of the resource manager and the resource providers behind it: what a kind of resource
// says of itself, and what a request offers it.
package provider

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/pace"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Doc is a JSON object.
type Doc = store.Doc

// Options of the resource manager.
type Options struct {
	Subscription, Tenant, Location string
	PublicIPs                      netip.Prefix  // addresses of public IP resources
	Pace                           pace.Profile  // how long everything takes
	ProvisioningTimeout            time.Duration // how long the guest of a machine may take
	Boots                          func() bool   // whether a hypervisor boots machines; nil: none does
	ConsoleURL                     func(name, vmID string, until time.Time) string
}

// Gateway is what a provider may ask of the gateway itself.
type Gateway interface {
	// Deploy puts one resource inside the transaction of a call, as its caller and by the rules of any PUT.
	Deploy(c *Call, id, apiVersion string, body Doc) error
}

// Call is one request inside its transaction.
type Call struct {
	Options
	Kinds   Table
	Gateway Gateway
	Running *Operations
	Tx      *store.Tx
	Req     *http.Request
	Path    Path
	Body    Doc
	Caller  entra.Principal

	Discard  bool             // a success is answered and nothing is kept
	Injected *fault.Operation // what goes wrong with the operation that the request starts, once somebody asked
}

// Reply is built inside the transaction and sent after its commit.
type Reply struct {
	Status int
	Header http.Header
	Body   any  // nil: no content
	Pages  bool // it is a list that Azure's contract has in pages
}

// Answer makes a reply; a nil body is no content.
func Answer(status int, body any) *Reply {
	return &Reply{Status: status, Header: http.Header{}, Body: body}
}

// Show answers with a resource.
func (c *Call) Show(status int, r *Resource) *Reply {
	d := c.Shown(r)
	out := Answer(status, d)
	if e := wire.Text(d, "etag"); e != "" {
		out.Header.Set("ETag", e)
	}
	return out
}

// Shown is View with what the request asks to see besides.
func (c *Call) Shown(r *Resource) Doc {
	d := c.View(r)
	if k := c.Kinds.Of(r.Type); k.Expand != nil {
		k.Expand(c, r, d)
	}
	return d
}

// Parent is the resource that the last segment of the path is beneath.
func (c *Call) Parent() (*Resource, error) {
	p, err := ParsePath(c.Path.Up())
	if err != nil {
		return nil, BadRequest("InvalidResourceId", "%v", err)
	}
	r := c.Get(p.Raw)
	if r == nil {
		return nil, c.NotFound(p)
	}
	return r, nil
}

// ScopeExists has a request about something of a resource that is not there answered with what is wrong first.
func (c *Call) ScopeExists() error {
	scope, err := ParsePath(c.Path.Scope)
	if err != nil || scope.Collection || c.Get(scope.Raw) != nil {
		return nil
	}
	if group := scope.ResourceGroup(); group != "" && c.Get(group) == nil {
		return GroupNotFound(LastSegment(group))
	}
	if scope.Scope != "" && c.Kinds.Has(scope.Type) {
		return c.NotFound(scope)
	}
	return nil
}

// Usage is one entry of what the usages of a region list: how many of something there are, and how many may be.
func Usage(name, text string, n, limit int) Doc {
	return Doc{"unit": "Count", "currentValue": n, "limit": limit, "name": Doc{"value": name, "localizedValue": text}}
}
