package provider

import (
	"errors"
	"strings"
)

// Path is what the path of an ARM request means.
type Path struct {
	Raw        string   // with one leading and no trailing slash
	Scope      string   // what is before the last /providers/, "" for the tenant
	Type       string   // as the caller wrote it: Microsoft.Network/virtualNetworks/subnets
	Names      []string // one per type segment, one less for a collection
	Collection bool     // a collection, or a POST action
}

// Types of what the gateway itself has.
const (
	TypeResourceGroup = "Microsoft.Resources/resourceGroups"
	TypeSubscription  = "Microsoft.Resources/subscriptions"
)

var (
	errEmptySegment = errors.New("the path has an empty segment")
	errNotASCII     = errors.New("the path has a character that is not printable ASCII")
)

// ParsePath says what a path names; whether the type exists is for others to say. Only ASCII is taken, which names of most resources are
// limited to: so lower-casing an id never changes its length.
func ParsePath(p string) (Path, error) {
	p = "/" + strings.Trim(p, "/")
	if p == "/" || strings.Contains(p, "//") {
		return Path{}, errEmptySegment
	}
	for i := range len(p) {
		if p[i] < ' ' || p[i] > '~' {
			return Path{}, errNotASCII
		}
	}
	const marker = "/providers/"
	i := strings.LastIndex(strings.ToLower(p), marker)
	if i < 0 {
		return parseContainer(p), nil
	}
	r := Path{Raw: p, Scope: p[:i]}
	segs := strings.Split(p[i+len(marker):], "/")
	r.Type = segs[0]
	for k := 1; k < len(segs); k += 2 {
		r.Type += "/" + segs[k]
		if k+1 < len(segs) {
			r.Names = append(r.Names, segs[k+1])
		}
	}
	r.Collection = len(segs)%2 == 0
	return r, nil
}

// parseContainer reads /subscriptions/X and /subscriptions/X/resourceGroups/Y, and their collections.
func parseContainer(p string) Path {
	segs := strings.Split(p[1:], "/")
	r := Path{Raw: p, Collection: len(segs)%2 == 1}
	for k := 1; k < len(segs); k += 2 {
		r.Names = append(r.Names, segs[k])
	}
	last := segs[(len(segs)-1)/2*2]
	switch strings.ToLower(last) {
	case "resourcegroups":
		r.Type = TypeResourceGroup
		if !r.Collection {
			r.Names = r.Names[len(r.Names)-1:]
		}
	case "subscriptions":
		r.Type = TypeSubscription
	default:
		r.Type = "Microsoft.Resources/" + last
	}
	return r
}

// Name of the resource, or of the collection or action.
func (p Path) Name() string { return p.Raw[strings.LastIndex(p.Raw, "/")+1:] }

// Up is the path without its last segment: the resource a collection or an action belongs to.
func (p Path) Up() string { return p.Raw[:strings.LastIndex(p.Raw, "/")] }

// Depth is the number of type segments after the namespace.
func (p Path) Depth() int { return strings.Count(p.Type, "/") }

// Parent is the id of the resource that a child resource lives in, "" for one that is no child.
func (p Path) Parent() string {
	if p.Collection {
		if p.Depth() > 1 {
			return p.Up()
		}
		return ""
	}
	if p.Depth() < 2 {
		return ""
	}
	up := p.Up()
	return up[:strings.LastIndex(up, "/")]
}

// ResourceGroup is the id of the resource group that the path is in, "" when it is in none.
func (p Path) ResourceGroup() string { return ResourceGroupOf(p.Raw) }

// ResourceGroupOf is the id of the resource group that an id is in, "" when it is in none.
func ResourceGroupOf(id string) string {
	segs := strings.SplitN(id, "/", 6)
	if len(segs) < 5 || !strings.EqualFold(segs[1], "subscriptions") || !strings.EqualFold(segs[3], "resourceGroups") {
		return ""
	}
	return strings.Join(segs[:5], "/")
}

// Key is an id as documents are stored under it: lower-cased, with one leading and no trailing slash.
func Key(id string) string { return strings.ToLower("/" + strings.Trim(id, "/")) }

// LastSegment is what follows the last slash.
func LastSegment(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// SegmentAfter returns the segment that follows the named one, ignoring case.
func SegmentAfter(id, name string) string {
	segs := strings.Split(id, "/")
	for i := 0; i+1 < len(segs); i++ {
		if strings.EqualFold(segs[i], name) {
			return segs[i+1]
		}
	}
	return ""
}

// SegmentsBefore is the part of an id that is before a segment, ignoring case, all of it when there is none.
func SegmentsBefore(id, segment string) string {
	if i := strings.LastIndex(strings.ToLower(id), strings.ToLower(segment)); i >= 0 {
		return id[:i]
	}
	return id
}
