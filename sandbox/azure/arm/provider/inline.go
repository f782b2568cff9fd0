package provider

import (
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Inline children live inside their parent's document (a load balancer's pools) but have ids, and can be addressed by them.

// InlineField tells which field of the parent holds the children of the path; a nil parent is none.
func (c *Call) InlineField(p Path) (parent *Resource, field string) {
	up := p.Parent()
	if up == "" {
		return nil, ""
	}
	if parent = c.Get(up); parent == nil {
		return nil, ""
	}
	last := p.Type[strings.LastIndex(p.Type, "/")+1:]
	for _, f := range c.Kinds.Of(parent.Type).Inline {
		if strings.EqualFold(f, last) {
			return parent, f
		}
	}
	return nil, ""
}

// InlineChild is the inline child that a path names, nil when there is none.
func (c *Call) InlineChild(p Path) Doc {
	parent, field := c.InlineField(p)
	if parent == nil {
		return nil
	}
	for _, d := range wire.Docs(wire.Props(c.View(parent)), field) {
		if strings.EqualFold(wire.Text(d, "name"), p.Name()) {
			return d
		}
	}
	return nil
}
