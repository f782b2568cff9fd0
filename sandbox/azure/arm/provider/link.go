package provider

import (
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Link is a field by which a written document leads to another resource, and the right that the writer needs there. Azure's providers declare
// theirs as linked access checks.
type Link struct {
	Field  string // names from the document on, joined by dots; * goes through an array, and at the end through the names of an object
	Action string // ReadIt, or in full
}

// ReadIt is the right to read whatever is linked, an image or a version in a gallery.
const ReadIt = "read"

// ActionAt spells out the right that is needed at a target.
func (l Link) ActionAt(id string) string {
	p, err := ParsePath(id)
	if l.Action != ReadIt || err != nil {
		return l.Action
	}
	return p.Type + "/" + ReadIt
}

// Targets are the ids that the field of a document names, each once.
func (l Link) Targets(d Doc) []string {
	out := targets(d, strings.Split(l.Field, "."))
	slices.Sort(out)
	return slices.Compact(out)
}

func targets(v any, fields []string) []string {
	if len(fields) == 0 {
		id, _ := v.(string)
		if id == "" {
			return nil
		}
		return []string{id}
	}
	switch at := v.(type) {
	case []any:
		var out []string
		for _, e := range at {
			out = append(out, targets(e, fields[1:])...)
		}
		return out
	case wire.Doc:
		if fields[0] != "*" {
			return targets(at[fields[0]], fields[1:])
		}
		var out []string
		for id := range at {
			out = append(out, id)
		}
		return out
	}
	return nil
}

// Rights that networks ask for where they are linked.
const (
	JoinNetwork = "Microsoft.Network/virtualNetworks/join/action"
	JoinSubnet  = "Microsoft.Network/virtualNetworks/subnets/join/action"
)
