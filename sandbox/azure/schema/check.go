package schema

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"
)

// What can be wrong with a value.
const (
	Unknown = "unknown property"
	Type    = "wrong type"
	Value   = "not among the values"
	Missing = "missing property"
)

// Problem is one thing that is wrong with a document.
type Problem struct {
	Kind   string // Unknown, Type, Value, Missing
	Path   string // properties.subnets[0].properties.addressPrefix
	Member string // the last segment of the path, without an index
	Object string // the SDK's name of the object that has, or lacks, the member; of the enumeration, for a Value
	Detail string // what was expected, or is there
}

func (p Problem) String() string {
	return p.Kind + ": " + p.Path + " of " + p.Object + p.Detail
}

// checker walks a document along a shape.
type checker struct {
	problems []Problem
	mend     bool            // read-only members go; names and values get the SDK's spelling
	drop     map[string]bool // paths that go
	exact    bool            // spelling counts
}

// Request checks what a client sends, and makes of it what Azure does: members that are read-only or unknown are left out, and
// names and values of enumerations, whose case does not count, are spelled as in Azure.
func (o *Operation) Request(doc map[string]any) []Problem {
	found := o.check(doc, entry.asked, true)
	o.mend(doc, found)
	if !o.merges {
		return found
	}
	return slices.DeleteFunc(found, func(p Problem) bool { return p.Kind == Missing })
}

func (e entry) asked() *shape    { return e.find(e.request) }
func (e entry) answered() *shape { return e.find(e.response) }

// Pages tells whether the answer is a list that comes in pages, at every version that it is held against.
func (o *Operation) Pages() bool {
	for _, e := range o.entries {
		s := e.answered()
		if s == nil || s.model == nil {
			return false
		}
		if _, ok := s.model.fields["nextLink"]; !ok {
			return false
		}
	}
	return len(o.entries) > 0
}

// check is what the entries agree on.
func (o *Operation) check(doc any, side func(entry) *shape, request bool) []Problem {
	var best []Problem
	first := true
	for _, e := range o.entries {
		s := side(e)
		if s == nil {
			return nil
		}
		c := checker{exact: !request}
		c.value(doc, s, "", "")
		switch {
		case first:
			best = c.problems
		case o.Exact && len(c.problems) < len(best): // scopes differ in what they ask for
			best = c.problems
		case !o.Exact:
			best = both(best, c.problems)
		}
		first = false
	}
	if o.Exact {
		return best
	}
	return slices.DeleteFunc(best, func(p Problem) bool { return p.Kind == Missing || !o.between && p.Kind != Type })
}

// mend makes of a request's document what Azure makes of it.
func (o *Operation) mend(doc any, found []Problem) {
	c := checker{mend: true, drop: map[string]bool{}}
	for _, p := range found {
		if p.Kind == Unknown {
			c.drop[p.Path] = true
		}
	}
	if s := o.entries[0].asked(); s != nil {
		c.value(doc, s, "", "")
	}
}

// both keeps the problems that are in both lists.
func both(a, b []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(a), func(p Problem) bool {
		return !slices.ContainsFunc(b, func(q Problem) bool { return p.Kind == q.Kind && p.Path == q.Path })
	})
}

// Answer checks what is answered. A member that the type has at another api-version only is left out of what it returns, as Azure does: documents
// are stored once, and shown at every api-version. The document itself is not changed.
func (o *Operation) Answer(body any) (any, []Problem) {
	found := o.check(body, entry.answered, false)
	foreign := map[string]bool{}
	for _, p := range found {
		if p.Kind == Unknown && o.elsewhere(body, p.Path) {
			foreign[p.Path] = true
		}
	}
	if len(foreign) == 0 {
		return body, found
	}
	body = clone(body)
	c := checker{drop: foreign}
	c.value(body, o.entries[0].answered(), "", "")
	return body, slices.DeleteFunc(found, func(p Problem) bool { return p.Kind == Unknown && foreign[p.Path] })
}

// elsewhere tells whether another api-version has a member.
func (o *Operation) elsewhere(body any, path string) bool {
	for _, e := range o.others {
		s := e.answered()
		if s == nil {
			continue
		}
		c := checker{exact: true}
		c.value(body, s, "", "")
		if !slices.ContainsFunc(c.problems, func(p Problem) bool {
			return p.Kind == Unknown && (p.Path == path || strings.HasPrefix(path, p.Path+"."))
		}) {
			return true
		}
	}
	return false
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	}
	return v
}

func (c *checker) add(kind, path, object, detail string) {
	member := path[strings.LastIndexByte(path, '.')+1:]
	member, _, _ = strings.Cut(member, "[")
	c.problems = append(c.problems, Problem{kind, path, member, object, detail})
}

// value checks a value at a path, in an object of the SDK's name, and returns it in the SDK's spelling.
func (c *checker) value(v any, s *shape, path, object string) any {
	if v == nil {
		return v
	}
	switch s.kind {
	case "any":
	case "model":
		if doc, ok := generic(v).(map[string]any); ok {
			c.object(doc, s.model, path)
		} else {
			c.wrong(v, path, object, s.model.name)
		}
	case "list":
		list, ok := generic(v).([]any)
		if !ok {
			c.wrong(v, path, object, "array")
			return v
		}
		for i, e := range list {
			list[i] = c.value(e, s.of, fmt.Sprintf("%s[%d]", path, i), object)
		}
	case "map":
		doc, ok := generic(v).(map[string]any)
		if !ok {
			c.wrong(v, path, object, "object")
			return v
		}
		for k, e := range doc {
			c.value(e, s.of, join(path, k), object)
		}
	case "enum":
		return c.choice(v, s.enum, path, object)
	default:
		if !fits(v, s.kind) {
			c.wrong(v, path, object, s.kind)
		}
	}
	return v
}

func (c *checker) wrong(v any, path, object, want string) {
	shown, err := json.Marshal(v)
	if err != nil || len(shown) > 80 {
		shown = fmt.Appendf(nil, "%T", v)
	}
	c.add(Type, path, object, fmt.Sprintf(": %s is no %s", shown, want))
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (c *checker) object(doc map[string]any, m *model, path string) {
	for name, v := range doc {
		at := join(path, name)
		if c.drop[at] {
			delete(doc, name)
			continue
		}
		f, canonical, ok := c.field(m, name)
		switch {
		case !ok:
			if !m.extra {
				c.add(Unknown, at, m.name, "")
			}
			continue
		case c.mend && f.readOnly:
			delete(doc, name)
			continue
		case !c.exact && f.readOnly && c.drop == nil: // what a client sends there does not count
			continue
		}
		now := c.value(v, f.shape, at, m.name)
		if !c.mend {
			continue
		}
		if canonical != name && doc[canonical] == nil {
			delete(doc, name)
			doc[canonical] = now
		} else if f.shape.kind == "enum" {
			doc[name] = now
		}
	}
	c.missing(doc, m, path)
}

// field finds a property by its name, whose case counts in answers alone.
func (c *checker) field(m *model, name string) (f field, canonical string, ok bool) {
	if f, ok = m.fields[name]; ok || c.exact {
		return f, name, ok
	}
	canonical = m.folded[strings.ToLower(name)]
	f, ok = m.fields[canonical]
	return f, canonical, ok
}

func (c *checker) missing(doc map[string]any, m *model, path string) {
	for _, name := range m.must {
		if _, ok := doc[name]; !ok && !hasFolded(doc, name) && (c.exact || !m.fields[name].readOnly) {
			c.add(Missing, join(path, name), m.name, "")
		}
	}
}

func hasFolded(doc map[string]any, name string) bool {
	for k := range doc {
		if strings.EqualFold(k, name) {
			return true
		}
	}
	return false
}

// choice checks a value of an enumeration, whose case does not count in requests.
func (c *checker) choice(v any, e *enum, path, object string) any {
	text, ok := v.(string)
	if !ok {
		c.wrong(v, path, object, "string")
		return v
	}
	canonical, ok := e.values[strings.ToLower(text)]
	if !ok || c.exact && canonical != text {
		values := make([]string, 0, len(e.values))
		for _, v := range e.values {
			values = append(values, v)
		}
		sort.Strings(values)
		c.add(Value, path, e.name, fmt.Sprintf(": '%s' is none of %s", text, strings.Join(values, ", ")))
		return v
	}
	return canonical
}

// generic makes of Go's typed documents what decoded JSON has.
func generic(v any) any {
	switch v := v.(type) {
	case map[string]any, []any, string, bool, float64, nil:
		return v
	case []string:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = e
		}
		return out
	case []map[string]any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = e
		}
		return out
	case map[string]string:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = e
		}
		return out
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var out any
	if json.Unmarshal(raw, &out) != nil {
		return v
	}
	return out
}

// fits tells whether a value is one of a plain kind.
func fits(v any, kind string) bool {
	switch kind {
	case "bool":
		_, ok := v.(bool)
		return ok
	case "int", "number":
		switch n := v.(type) {
		case int, int32, int64, uint64:
			return true
		case float64:
			return kind == "number" || n == math.Trunc(n)
		}
		return false
	}
	text, ok := v.(string)
	if !ok {
		text, ok = generic(v).(string)
	}
	switch {
	case !ok:
		return false
	case kind == "time":
		_, err := time.Parse(time.RFC3339Nano, text)
		return err == nil
	case kind == "bytes":
		_, err := base64.StdEncoding.DecodeString(text)
		return err == nil
	}
	return true
}
