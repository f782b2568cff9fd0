package provider

import (
	"strings"
	"time"
)

// Spec is what one package serves of a namespace. The gateway has one row for each.
type Spec struct {
	Namespace string // in its canonical case
	Kinds     []*Kind
	Routes    []Route
	Scoped    []ScopedRoute
	Actions   map[string]Action // by lower-cased type and action
}

// Handler answers a request.
type Handler func(c *Call) (*Reply, error)

// Action answers a POST on a resource that exists.
type Action func(c *Call, r *Resource) (*Reply, error)

// Route is a path that is not a plain document. A star stands for one segment.
type Route struct {
	Method, Pattern string // the pattern is lower-cased
	Handle          Handler
}

// ScopedRoute answers what can be asked at any scope.
type ScopedRoute struct {
	Type         string // lower-cased
	Collection   bool   // only the collection
	CommonWrites bool   // PUT and DELETE go the common way
	Handle       Handler
}

// Kind is what the server knows of a resource type beyond storing its documents. Status codes are those that Azure's SDKs accept: see
// statuscodes.
type Kind struct {
	Type        string // in its canonical case
	Async       bool   // PUT and DELETE are long-running operations
	Patched     int    // status that answers a PATCH which is a long-running operation, 0 where it is done at once
	AsyncDelete bool
	CreateOK    bool // a creation answers 200, not 201
	Always201   bool
	Started     string // state of a new one until it is made; "" is Creating in the answer to the request, then Updating
	DeleteBody  bool   // DELETE answers the last state
	NoState     bool   // no provisioningState
	NoLocation  bool   // lives in no region
	Orphan      bool   // may exist without its parent
	Missing     string // error code of a missing one, when it differs
	Name        *NameRule
	Embed       []Child
	Inline      []string // arrays whose members get ids
	Keep        []string // read-only properties that a PUT does not change
	OneWrite    *OneWrite
	Links       []Link // rights at other resources that a write needs

	Put     func(c *Call, r *Resource, old Doc) error // checks and completes a new body; old is nil for a creation
	Guard   func(c *Call, r *Resource) error          // may refuse a DELETE
	Cleanup func(c *Call, r *Resource)                // after any removal, also with its resource group
	View    func(c *Call, r *Resource, d Doc)         // completes what is shown
	Expand  func(c *Call, r *Resource, d Doc)         // adds what the request asks to see besides
	// Outcome is what the operation that makes one waits for when its time is over: the state meanwhile, "" when it is done, or why it has failed.
	Outcome func(c *Call, id string) (state string, failure *Error)
	Lists   func(c *Call, r *Resource) bool // whether a list of this request has it
}

// Child is an array that is stored as resources of their own. A PUT without the array removes them all, unless Stay is set.
type Child struct {
	Prop, Type string
	Stay       bool
}

// OneWrite refuses a write of the kind while another one beneath the same parent is being answered.
type OneWrite struct {
	Takes  time.Duration // how long a write goes on after its answer is known
	Refuse func(parent string) *Error
}

// TypeName is the type in its canonical case, or as it was asked for when the kind is unknown.
func (k *Kind) TypeName(asked string) string {
	if k.Type != "" {
		return k.Type
	}
	return asked
}

var unknownKind = &Kind{}

// Table has the kinds by lower-cased type.
type Table map[string]*Kind

// NewTable collects the kinds of all providers.
func NewTable(specs []Spec) Table {
	out := Table{}
	for _, s := range specs {
		for _, k := range s.Kinds {
			out[strings.ToLower(k.Type)] = k
		}
	}
	return out
}

// Of returns the kind of a type, an empty one when it is not served.
func (t Table) Of(typ string) *Kind {
	if k := t[strings.ToLower(typ)]; k != nil {
		return k
	}
	return unknownKind
}

// Has tells whether a type is served.
func (t Table) Has(typ string) bool { return t[strings.ToLower(typ)] != nil }
