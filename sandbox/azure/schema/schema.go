// Package schema knows what requests and answers of Azure's resource manager look like, per type and api-version: properties, their types, which
// are required or read-only, and the values of enumerations. It is generated from the sources of Azure's SDK modules (generate.go). What those do
// not say, patterns and lengths, is not known here.
package schema

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

//go:generate go run generate.go

// Operation is what the tables say of a method on a type at an api-version.
type Operation struct {
	// Exact: the tables carry the api-version itself. Otherwise the nearest ones stand in, and only what all of them object to counts.
	Exact   bool
	entries []entry
	others  []entry // of other api-versions
	between bool    // there are older and newer api-versions than this one
	merges  bool    // the request changes what is there, and need not be complete
}

// keys under which an operation may be found: types of which a segment is a parameter have a star.
func keys(method, typ string, collection bool) []string {
	typ = strings.ToLower(typ)
	_, rest, deep := strings.Cut(typ, "/")
	all := []string{typ}
	switch last := strings.LastIndexByte(typ, '/'); {
	case !deep:
		all = append(all, "*")
	case strings.Contains(rest, "/"):
		all = append(all, typ[:last]+"/*")
	default:
		all = append(all, "*/"+rest)
	}
	for i, t := range all {
		if collection {
			t += "/"
		}
		all[i] = method + " " + t
	}
	return all
}

// entriesOf an operation at all api-versions.
func entriesOf(method, typ string, collection bool) []entry {
	for _, key := range keys(method, typ, collection) {
		if known := index()[key]; known != nil {
			return known
		}
	}
	return nil
}

// Find looks an operation up by method, type ("Microsoft.Network/virtualNetworks/subnets"), whether its path ends without a name, and api-version.
// It is nil for one that no table has at any api-version.
func Find(method, typ string, collection bool, version string) *Operation {
	known := entriesOf(method, typ, collection)
	if known == nil {
		return nil
	}
	o := &Operation{merges: method == "PATCH"}
	older, newer := "", ""
	for _, e := range known {
		switch {
		case e.version == version:
			o.Exact = true
		case e.version < version:
			older = max(older, e.version)
		case newer == "" || e.version < newer:
			newer = e.version
		}
	}
	o.between = older != "" && newer != ""
	for _, e := range known {
		if o.Exact && e.version == version || !o.Exact && (e.version == newer || e.version == older) {
			o.entries = append(o.entries, e)
		} else {
			o.others = append(o.others, e)
		}
	}
	if !o.Exact { // the newer one has nearly everything that the older one has
		slices.SortStableFunc(o.entries, func(a, b entry) int { return strings.Compare(b.version, a.version) })
	}
	return o
}

// versions of versions.txt by its first column.
var versionLists = sync.OnceValue(func() map[string][]string {
	raw, err := files.ReadFile("versions.txt")
	if err != nil {
		panic("the embedded list of api-versions: " + err.Error())
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] != "#" {
			out[f[0]] = f[1:]
		}
	}
	return out
})

// generated api-versions by type.
var generatedVersions = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for key, entries := range index() {
		_, typ, _ := strings.Cut(key, " ")
		typ = strings.TrimSuffix(typ, "/")
		for _, e := range entries {
			if !slices.Contains(out[typ], e.version) {
				out[typ] = append(out[typ], e.version)
			}
		}
	}
	return out
})

// Versions are the api-versions that Azure takes for a type, newest first; nil for a type of which nothing is known.
func Versions(typ string) []string {
	typ = strings.ToLower(typ)
	if !strings.Contains(typ, "/") || strings.HasSuffix(typ, "/register") || strings.HasSuffix(typ, "/unregister") {
		typ = "microsoft.resources/providers" // the resource manager itself answers for its providers
	}
	lists := versionLists()
	listed := lists[typ]
	for at := strings.LastIndexByte(typ, '/'); listed == nil && at > 0; at = strings.LastIndexByte(typ[:at], '/') {
		listed = lists[typ[:at+1]]
	}
	out := slices.Clone(listed)
	for _, key := range keys("", typ, false) {
		for _, v := range generatedVersions()[strings.TrimPrefix(key, " ")] {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(b, a) })
	return out
}

// Newest is the newest api-version of a type at which the tables have its documents, "" for none.
func Newest(typ string) string {
	var out string
	for _, key := range keys("", typ, false) {
		for _, v := range generatedVersions()[strings.TrimPrefix(key, " ")] {
			if !strings.Contains(v, "preview") {
				out = max(out, v)
			}
		}
	}
	return out
}

var etags sync.Map // whether a type has one, by its lower-cased name

// HasETag tells whether the documents of a type have an etag.
func HasETag(typ string) bool {
	typ = strings.ToLower(typ)
	if known, ok := etags.Load(typ); ok {
		return known.(bool)
	}
	has, newest := false, entry{response: "-"}
	for _, e := range entriesOf("GET", typ, false) {
		if e.version > newest.version {
			newest = e
		}
	}
	if s := newest.answered(); s != nil && s.model != nil {
		_, has = s.model.fields["etag"]
	}
	etags.Store(typ, has)
	return has
}
