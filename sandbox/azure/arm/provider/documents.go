package provider

import (
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Resource is a document with the envelope spelled out.
type Resource struct {
	ID, Type, Name string
	Body           Doc
}

// ResourceOf reads the envelope of a document, nil for none.
func ResourceOf(d Doc) *Resource {
	if d == nil {
		return nil
	}
	return &Resource{ID: wire.Text(d, "id"), Type: wire.Text(d, "type"), Name: wire.Text(d, "name"), Body: d}
}

// Get returns a resource to read, nil when absent.
func (c *Call) Get(id string) *Resource { return ResourceOf(c.Tx.Get(store.ARM, Key(id))) }

// Edit returns a resource whose body may be changed, nil when absent.
func (c *Call) Edit(id string) *Resource { return ResourceOf(c.Tx.Edit(store.ARM, Key(id))) }

// Save stores a body under an id in its canonical spelling.
func (c *Call) Save(id, typ string, body Doc) *Resource {
	body["id"], body["name"], body["type"] = id, LastSegment(id), typ
	c.Tx.Put(store.ARM, Key(id), body)
	return ResourceOf(body)
}

// Within lists the resources of a type (any type when empty) beneath an id, in order of creation.
func (c *Call) Within(id, typ string) []*Resource {
	prefix := ""
	if id != "" {
		prefix = Key(id) + "/"
	}
	var out []*Resource
	for _, rec := range c.Tx.Scan(store.ARM, prefix) {
		if r := ResourceOf(rec.Doc); typ == "" || strings.EqualFold(r.Type, typ) {
			out = append(out, r)
		}
	}
	return out
}

// Remove deletes a resource and everything beneath it, with what other planes keep for it.
func (c *Call) Remove(id string) {
	k := Key(id)
	c.Tx.Delete(store.Leaving, k)
	for _, l := range c.Tx.Scan(store.Leaving, k+"/") {
		c.Tx.Delete(store.Leaving, l.Key) // one made again stays
	}
	if r := c.Get(id); r != nil {
		c.cleanup(r)
	}
	for _, r := range c.Within(id, "") {
		if c.Get(r.ID) != nil { // the clean-up of another one may have taken it along
			c.cleanup(r)
			c.Tx.Delete(store.ARM, Key(r.ID))
		}
	}
	c.Tx.Delete(store.ARM, k)
}

func (c *Call) cleanup(r *Resource) {
	if f := c.Kinds.Of(r.Type).Cleanup; f != nil {
		f(c, r)
	}
}

// CanonicalID spells an id as Azure does: fixed segments and types in their canonical case, names as they were first written.
func (c *Call) CanonicalID(p Path) string {
	if r := c.Get(p.Raw); r != nil {
		return r.ID
	}
	if p.Scope == "" && !strings.HasPrefix(strings.ToLower(p.Raw), "/providers/") {
		segs := strings.Split(p.Raw, "/")
		for i, canon := range map[int]string{1: "subscriptions", 3: "resourceGroups"} {
			if i < len(segs) && strings.EqualFold(segs[i], canon) {
				segs[i] = canon
			}
		}
		return strings.Join(segs, "/")
	}
	typ := strings.Split(c.Kinds.Of(p.Type).TypeName(p.Type), "/")
	if parent := p.Parent(); parent != "" {
		if pp, err := ParsePath(parent); err == nil {
			return c.CanonicalID(pp) + "/" + typ[len(typ)-1] + "/" + p.Name()
		}
	}
	scope := p.Scope
	if sp, err := ParsePath(p.Scope); err == nil {
		scope = c.CanonicalID(sp)
	}
	return scope + "/providers/" + strings.Join(typ, "/") + "/" + p.Name()
}

// passing is the state that a resource is in until an operation ends, "" when none is under way.
func (c *Call) passing(id string) string {
	if c.Leaves(id) != "" {
		return "Deleting"
	}
	return c.Running.State(id)
}

// View renders a resource: exploded children are embedded again, a running operation shows.
func (c *Call) View(r *Resource) Doc {
	d := store.Clone(r.Body)
	k := c.Kinds.Of(r.Type)
	for _, ch := range k.Embed {
		arr := []any{}
		for _, r := range c.Within(r.ID, ch.Type) {
			arr = append(arr, c.View(r))
		}
		wire.EnsureProps(d)[ch.Prop] = arr
	}
	if k.View != nil {
		k.View(c, r, d)
	}
	if state := c.passing(r.ID); state != "" && !k.NoState {
		wire.EnsureProps(d)["provisioningState"] = state
	}
	return d
}
