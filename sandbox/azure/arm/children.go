package arm

import (
	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/schema"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// explode turns inline child arrays into child resources; a child that is no longer listed goes.
func (c *call) explode(r *provider.Resource) error {
	for _, ch := range c.Kinds.Of(r.Type).Embed {
		props := wire.EnsureProps(r.Body)
		given := props[ch.Prop]
		listed := wire.Docs(props, ch.Prop)
		delete(props, ch.Prop)
		if given == nil {
			continue
		}
		keep := map[string]bool{}
		for _, d := range listed {
			name := wire.Text(d, "name")
			if p, err := provider.ParsePath(r.ID + "/" + ch.Prop + "/" + name); err != nil || p.Name() != name {
				return provider.BadRequest("InvalidRequestFormat", "'%s' is no name for one of the %s of '%s'.", name, ch.Prop, r.Name)
			}
			id := r.ID + "/" + ch.Prop + "/" + name
			keep[provider.Key(id)] = true
			if err := c.saveChild(id, ch.Type, d); err != nil {
				return err
			}
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
	}
	return nil
}

func (c *call) saveChild(id, typ string, d wire.Doc) error {
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
	if k.Put != nil {
		return k.Put(c.Call, r, oldBody)
	}
	return nil
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
