package arm

import (
	"net/http"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Inline children live inside their parent's document (a load balancer's pools) but have ids, and can be addressed by them.

// numberInline gives ids to the inline children and to what a caller must be able to refer to.
func (k *Kind) numberInline(r *Resource) {
	props := wire.EnsureProps(r.Body)
	for _, field := range k.inline {
		for _, d := range wire.Docs(props, field) {
			d["id"] = r.ID + "/" + field + "/" + wire.Text(d, "name")
			d["type"] = r.Type + "/" + field
			wire.Default(d, "etag", etag())
			wire.EnsureProps(d)["provisioningState"] = "Succeeded"
		}
	}
}

// inlineField tells which field of the parent holds the children of the path.
func (c *call) inlineField(p Path) (parent *Resource, field string) {
	up := p.Parent()
	if up == "" {
		return nil, ""
	}
	if parent = c.get(up); parent == nil {
		return nil, ""
	}
	last := p.Type[strings.LastIndex(p.Type, "/")+1:]
	for _, f := range kindOf(parent.Type).inline {
		if strings.EqualFold(f, last) {
			return parent, f
		}
	}
	return nil, ""
}

func (c *call) inlineChild(p Path) Doc {
	parent, field := c.inlineField(p)
	if parent == nil {
		return nil
	}
	for _, d := range wire.Docs(wire.Props(c.view(parent)), field) {
		if strings.EqualFold(wire.Text(d, "name"), p.Name()) {
			return d
		}
	}
	return nil
}

func (c *call) inlineList() []any {
	parent, field := c.inlineField(c.path)
	if parent == nil {
		return nil
	}
	if l := wire.List(wire.Props(c.view(parent)), field); l != nil {
		return l
	}
	return []any{}
}

func (c *call) putInline() (*reply, error) {
	parent, field := c.inlineField(c.path)
	if parent == nil {
		return nil, nil
	}
	existed := c.inlineChild(c.path) != nil
	c.body["name"] = c.path.Name()
	return c.changeInline(parent.ID, field, existed, c.body)
}

func (c *call) deleteInline() (*reply, error) {
	parent, field := c.inlineField(c.path)
	if parent == nil || c.inlineChild(c.path) == nil {
		return nil, nil
	}
	if _, err := c.changeInline(parent.ID, field, true, nil); err != nil {
		return nil, err
	}
	out := answer(http.StatusAccepted, nil)
	c.operationHeaders(out, c.operationEnd(), true)
	return out, nil
}

// changeInline replaces or, with a nil document, removes one element of the parent's array.
func (c *call) changeInline(parentID, field string, existed bool, d Doc) (*reply, error) {
	parent := c.edit(parentID)
	props := wire.EnsureProps(parent.Body)
	var left []any
	for _, e := range wire.Docs(props, field) {
		if !strings.EqualFold(wire.Text(e, "name"), c.path.Name()) {
			left = append(left, e)
		}
	}
	if d != nil {
		left = append(left, d)
	}
	props[field] = left
	k := kindOf(parent.Type)
	k.numberInline(parent)
	if k.put != nil {
		if err := k.put(c, parent, parent.Body); err != nil {
			return nil, err
		}
	}
	status := http.StatusOK
	if !existed {
		status = http.StatusCreated
	}
	out := answer(status, c.inlineChild(c.path))
	c.operationHeaders(out, c.startOperation(parentID), false)
	return out, nil
}
