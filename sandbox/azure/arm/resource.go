package arm

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Resource is a document with the envelope spelled out.
type Resource struct {
	ID, Type, Name string
	Body           Doc
}

func resourceOf(d Doc) *Resource {
	if d == nil {
		return nil
	}
	return &Resource{ID: wire.Text(d, "id"), Type: wire.Text(d, "type"), Name: wire.Text(d, "name"), Body: d}
}

// get returns a resource to read, nil when absent.
func (c *call) get(id string) *Resource { return resourceOf(c.tx.Get(store.ARM, key(id))) }

// edit returns a resource whose body may be changed, nil when absent.
func (c *call) edit(id string) *Resource { return resourceOf(c.tx.Edit(store.ARM, key(id))) }

// save stores a body under an id in its canonical spelling.
func (c *call) save(id, typ string, body Doc) *Resource {
	body["id"], body["name"], body["type"] = id, lastSegment(id), typ
	c.tx.Put(store.ARM, key(id), body)
	return resourceOf(body)
}

// within lists the resources of a type (any type when empty) beneath an id, in order of creation.
func (c *call) within(id, typ string) []*Resource {
	prefix := ""
	if id != "" {
		prefix = key(id) + "/"
	}
	var out []*Resource
	for _, rec := range c.tx.Scan(store.ARM, prefix) {
		if r := resourceOf(rec.Doc); typ == "" || strings.EqualFold(r.Type, typ) {
			out = append(out, r)
		}
	}
	return out
}

// remove deletes a resource and everything beneath it, with what other planes keep for it.
func (c *call) remove(id string) {
	k := key(id)
	if r := c.get(id); r != nil {
		c.cleanup(r)
	}
	for _, r := range c.within(id, "") {
		if c.get(r.ID) != nil { // the clean-up of another one may have taken it along
			c.cleanup(r)
			c.tx.Delete(store.ARM, key(r.ID))
		}
	}
	c.tx.Delete(store.ARM, k)
}

func (c *call) cleanup(r *Resource) {
	if f := kindOf(r.Type).cleanup; f != nil {
		f(c, r)
	}
}

// canonicalID spells an id as Azure does: fixed segments and types in their canonical case, names as they were first written.
func (c *call) canonicalID(p Path) string {
	if r := c.get(p.Raw); r != nil {
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
	typ := strings.Split(kindOf(p.Type).typeName(p.Type), "/")
	if parent := p.Parent(); parent != "" {
		if pp, err := ParsePath(parent); err == nil {
			return c.canonicalID(pp) + "/" + typ[len(typ)-1] + "/" + p.Name()
		}
	}
	scope := p.Scope
	if sp, err := ParsePath(p.Scope); err == nil {
		scope = c.canonicalID(sp)
	}
	return scope + "/providers/" + strings.Join(typ, "/") + "/" + p.Name()
}

// view renders a resource: exploded children are embedded again, a running operation shows.
func (c *call) view(r *Resource) Doc {
	d := store.Clone(r.Body)
	k := kindOf(r.Type)
	for _, ch := range k.embed {
		arr := []any{}
		for _, r := range c.within(r.ID, ch.typ) {
			arr = append(arr, c.view(r))
		}
		wire.EnsureProps(d)[ch.prop] = arr
	}
	if k.view != nil {
		k.view(c, r, d)
	}
	if c.busy(r.ID) && !k.noState {
		wire.EnsureProps(d)["provisioningState"] = "Updating"
	}
	return d
}

// explode turns inline child arrays into child resources; a child that is no longer listed goes.
func (c *call) explode(r *Resource) error {
	for _, ch := range kindOf(r.Type).embed {
		props := wire.EnsureProps(r.Body)
		given := props[ch.prop]
		listed := wire.Docs(props, ch.prop)
		delete(props, ch.prop)
		if given == nil {
			continue
		}
		keep := map[string]bool{}
		for _, d := range listed {
			name := wire.Text(d, "name")
			if p, err := ParsePath(r.ID + "/" + ch.prop + "/" + name); err != nil || p.Name() != name {
				return badRequest("InvalidRequestFormat", "'%s' is no name for one of the %s of '%s'.", name, ch.prop, r.Name)
			}
			id := r.ID + "/" + ch.prop + "/" + name
			keep[key(id)] = true
			if err := c.saveChild(id, ch.typ, d); err != nil {
				return err
			}
		}
		for _, old := range c.within(r.ID, ch.typ) {
			if keep[key(old.ID)] {
				continue
			}
			if f := kindOf(ch.typ).guard; f != nil {
				if err := f(c, old); err != nil {
					return err
				}
			}
			c.remove(old.ID)
		}
	}
	return nil
}

func (c *call) saveChild(id, typ string, d Doc) error {
	k := kindOf(typ)
	old := c.get(id)
	var oldBody Doc
	if old != nil {
		id, oldBody = old.ID, old.Body
		carry(k, oldBody, d)
	}
	r := c.save(id, typ, d)
	wire.EnsureProps(d)["provisioningState"] = "Succeeded"
	d["etag"] = etag()
	if k.put != nil {
		return k.put(c, r, oldBody)
	}
	return nil
}

func etag() string { return `W/"` + uuid.NewString() + `"` }

func (s *Server) busy(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.pending[key(id)]
	if ok && !time.Now().Before(until) {
		delete(s.pending, key(id))
		return false
	}
	return ok
}

func (s *Server) setBusy(id string, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending[key(id)] = until
}
