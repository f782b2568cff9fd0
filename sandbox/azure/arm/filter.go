package arm

import (
	"regexp"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

var (
	equalRe      = regexp.MustCompile(`(?i)([\w/]+)\s+eq\s+'((?:[^']|'')*)'`)
	assignedToRe = regexp.MustCompile(`(?i)assignedTo\('([^']*)'\)`)
)

// condition is one "key eq 'value'" of a $filter.
type condition struct{ key, value string }

// conditions reads the conjunctions of equality that ARM supports; functions other than assignedTo say nothing here.
func conditions(filter string) []condition {
	var out []condition
	for _, m := range equalRe.FindAllStringSubmatch(filter, -1) {
		out = append(out, condition{strings.ToLower(m[1]), strings.ReplaceAll(m[2], "''", "'")})
	}
	if m := assignedToRe.FindStringSubmatch(filter); m != nil {
		out = append(out, condition{"principalid", m[1]})
	}
	return out
}

func parseFilter(filter string) func(*Resource) bool {
	conds := conditions(filter)
	return func(r *Resource) bool {
		for _, c := range conds {
			if !c.holds(r) {
				return false
			}
		}
		return true
	}
}

func (c condition) holds(r *Resource) bool {
	tags := wire.Sub(r.Body, "tags")
	switch c.key {
	case "resourcetype":
		return strings.EqualFold(r.Type, c.value)
	case "resourcegroup":
		return strings.EqualFold(lastSegment(resourceGroupOf(r.ID)), c.value)
	case "name":
		return strings.EqualFold(r.Name, c.value)
	case "location":
		return strings.EqualFold(wire.Text(r.Body, "location"), c.value)
	case "tagname":
		return tags[c.value] != nil
	case "tagvalue":
		for _, v := range tags {
			if v == c.value {
				return true
			}
		}
		return false
	}
	for k, v := range wire.Props(r.Body) {
		if s, ok := v.(string); ok && strings.EqualFold(k, c.key) {
			return strings.EqualFold(s, c.value)
		}
	}
	return false
}
