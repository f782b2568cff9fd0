package arm

import (
	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/schema"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// explode turns inline child arrays into child resources; a child that is no longer listed goes, and so do all where a whole document has no list.
func (c *call) explode(r *provider.Resource, whole bool) error {
	for _, ch := range c.Kinds.Of(r.Type).Embed {
		props := wire.EnsureProps(r.Body)
		given := props[ch.Prop]
		listed := wire.Docs(props, ch.Prop)
		delete(props, ch.Prop)
		if given == nil && (ch.Stay || !whole) {
			continue
		}
		if err := c.replaceChildren(r, ch, listed); err != nil {
			return err
		}
	}
	return nil
}

// replaceChildren leaves a resource the listed children and no others. All are stored before one is judged: so one takes the place of another in
// the same request, or two of them swap what only one can have.
func (c *call) replaceChildren(r *provider.Resource, ch provider.Child, listed []wire.Doc) error {
	keep := map[string]bool{}
	for _, d := range listed {
		id, name := r.ID+"/"+ch.Prop+"/"+wire.Text(d, "name"), wire.Text(d, "name")
		if p, err := provider.ParsePath(id); err != nil || p.Name() != name {
			return provider.BadRequest("InvalidRequestFormat", "'%s' is no name for one of the %s of '%s'.", name, ch.Prop, r.Name)
		}
		if keep[provider.Key(id)] {
			return twoOfOneName(r, name)
		}
		keep[provider.Key(id)] = true
	}
	for _, old := range c.Within(r.ID, ch.Type) {
		if keep[provider.Key(old.ID)] {
			continue
		}
		if f := c.Kinds.Of(ch.Type).Guard; f != nil {
			if err := f(c.Call, old); err != nil {
				return err
			}
		}
		c.Remove(old.ID)
	}
	var judges []func() error
	for _, d := range listed {
		judges = append(judges, c.saveChild(r.ID+"/"+ch.Prop+"/"+wire.Text(d, "name"), ch.Type, d))
	}
	for _, judge := range judges {
		if err := judge(); err != nil {
			return err
		}
	}
	return nil
}

// twoOfOneName is the refusal of a document that names two of its children alike.
func twoOfOneName(r *provider.Resource, name string) error {
	err := provider.BadRequest("InvalidRequestFormat", "Cannot parse the request.")
	err.Extra = wire.Doc{"details": []any{wire.Doc{"code": "DuplicateResourceName",
		"message": "Resource " + r.ID + " has two child resources with the same name (" + name + ")."}}}
	return err
}

// saveChild stores a child, and returns what is still to be asked of it.
func (c *call) saveChild(id, typ string, d wire.Doc) (judge func() error) {
	k := c.Kinds.Of(typ)
	old := c.Get(id)
	var oldBody wire.Doc
	if old != nil {
		id, oldBody = old.ID, old.Body
		carry(k, oldBody, d)
	}
	r := c.Save(id, typ, d)
	wire.EnsureProps(d)["provisioningState"] = "Succeeded"
	tag(typ, d)
	return func() error {
		if k.Put == nil {
			return nil
		}
		return k.Put(c.Call, r, oldBody)
	}
}

// tag gives a document that changes a new etag, where its type has one.
func tag(typ string, body wire.Doc) {
	if schema.HasETag(typ) {
		body["etag"] = etag()
	}
}

func etag() string { return `W/"` + uuid.NewString() + `"` }

// carry keeps what a PUT does not repeat: read-only properties, tags and location.
func carry(k *provider.Kind, old, body wire.Doc) {
	from, to := wire.Props(old), wire.EnsureProps(body)
	for _, f := range k.Keep {
		if v, ok := from[f]; ok {
			to[f] = v
		}
	}
	if body["tags"] == nil && old["tags"] != nil && k.Type != provider.TypeResourceGroup {
		body["tags"] = old["tags"]
	}
	if body["location"] == nil && old["location"] != nil {
		body["location"] = old["location"]
	}
}
