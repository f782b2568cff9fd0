package arm

import (
	"net/http"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// numberInline gives ids to the inline children and to what a caller must be able to refer to. Two of one name would have one id.
func numberInline(k *provider.Kind, r *provider.Resource) error {
	props := wire.EnsureProps(r.Body)
	for _, field := range k.Inline {
		seen := map[string]bool{}
		for _, d := range wire.Docs(props, field) {
			name := wire.Text(d, "name")
			if seen[strings.ToLower(name)] {
				return twoOfOneName(r, name)
			}
			seen[strings.ToLower(name)] = true
			d["id"] = r.ID + "/" + field + "/" + name
			d["type"] = r.Type + "/" + field
			wire.Default(d, "etag", etag())
			wire.EnsureProps(d)["provisioningState"] = "Succeeded"
		}
	}
	return nil
}

func (c *call) inlineList() []any {
	parent, field := c.InlineField(c.Path)
	if parent == nil {
		return nil
	}
	if l := wire.List(wire.Props(c.View(parent)), field); l != nil {
		return l
	}
	return []any{}
}

func (c *call) putInline() (*provider.Reply, error) {
	parent, field := c.InlineField(c.Path)
	if parent == nil {
		return nil, nil
	}
	existed := c.InlineChild(c.Path) != nil
	c.Body["name"] = c.Path.Name()
	return c.changeInline(parent.ID, field, existed, c.Body)
}

func (c *call) deleteInline() (*provider.Reply, error) {
	parent, field := c.InlineField(c.Path)
	if parent == nil || c.InlineChild(c.Path) == nil {
		return nil, nil
	}
	if _, err := c.changeInline(parent.ID, field, true, nil); err != nil {
		return nil, err
	}
	out := provider.Answer(http.StatusAccepted, nil)
	c.OperationHeaders(out, c.OperationEnd(), true)
	return out, nil
}

// changeInline replaces or, with a nil document, removes one element of the parent's array.
func (c *call) changeInline(parentID, field string, existed bool, d wire.Doc) (*provider.Reply, error) {
	parent := c.Edit(parentID)
	props := wire.EnsureProps(parent.Body)
	var left []any
	for _, e := range wire.Docs(props, field) {
		if !strings.EqualFold(wire.Text(e, "name"), c.Path.Name()) {
			left = append(left, e)
		}
	}
	if d != nil {
		left = append(left, d)
	}
	props[field] = left
	k := c.Kinds.Of(parent.Type)
	if err := numberInline(k, parent); err != nil {
		return nil, err
	}
	if k.Put != nil {
		if err := k.Put(c.Call, parent, parent.Body); err != nil {
			return nil, err
		}
	}
	status := http.StatusOK
	if !existed {
		status = http.StatusCreated
	}
	out := provider.Answer(status, c.InlineChild(c.Path))
	c.OperationHeaders(out, c.StartOperation(parentID, provider.Updating), false)
	return out, nil
}
