package provider

import (
	"regexp"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

var (
	equalRe      = regexp.MustCompile(`(?i)([\w/]+)\s+eq\s+'((?:[^']|'')*)'`)
	assignedToRe = regexp.MustCompile(`(?i)assignedTo\('([^']*)'\)`)
)

// Condition is one "key eq 'value'" of a $filter.
type Condition struct{ Key, Value string }

// Conditions reads the conjunctions of equality that ARM supports; functions other than assignedTo say nothing here.
func Conditions(filter string) []Condition {
	var out []Condition
	for _, m := range equalRe.FindAllStringSubmatch(filter, -1) {
		out = append(out, Condition{strings.ToLower(m[1]), strings.ReplaceAll(m[2], "''", "'")})
	}
	if m := assignedToRe.FindStringSubmatch(filter); m != nil {
		out = append(out, Condition{"principalid", m[1]})
	}
	return out
}

// ParseFilter makes a $filter a test of resources; what it does not understand holds for all.
func ParseFilter(filter string) func(*Resource) bool {
	conds := Conditions(filter)
	name, named := valueOf(conds, tagName)
	value, valued := valueOf(conds, tagValue)
	return func(r *Resource) bool {
		if named && valued && !hasTag(wire.Sub(r.Body, "tags"), name, func(v any) bool { return v == value }) {
			return false // both are of one tag
		}
		for _, c := range conds {
			if !c.holds(r) {
				return false
			}
		}
		return true
	}
}

// Keys of conditions on tags.
const (
	tagName  = "tagname"
	tagValue = "tagvalue"
)

func valueOf(conds []Condition, key string) (value string, found bool) {
	for _, c := range conds {
		if c.Key == key {
			return c.Value, true
		}
	}
	return "", false
}

// hasTag looks for a tag, of any name when that is empty. Names of tags ignore case, values do not.
func hasTag(tags Doc, name string, is func(value any) bool) bool {
	for k, v := range tags {
		if (name == "" || strings.EqualFold(k, name)) && is(v) {
			return true
		}
	}
	return false
}

func (c Condition) holds(r *Resource) bool {
	tags := wire.Sub(r.Body, "tags")
	switch c.Key {
	case "resourcetype":
		return strings.EqualFold(r.Type, c.Value)
	case "resourcegroup":
		return strings.EqualFold(LastSegment(ResourceGroupOf(r.ID)), c.Value)
	case "name":
		return strings.EqualFold(r.Name, c.Value)
	case "location":
		return strings.EqualFold(wire.Text(r.Body, "location"), c.Value)
	case tagName:
		return hasTag(tags, c.Value, func(any) bool { return true })
	case tagValue:
		return hasTag(tags, "", func(v any) bool { return v == c.Value })
	}
	for k, v := range wire.Props(r.Body) {
		if s, ok := v.(string); ok && strings.EqualFold(k, c.Key) {
			return strings.EqualFold(s, c.Value)
		}
	}
	return false
}
