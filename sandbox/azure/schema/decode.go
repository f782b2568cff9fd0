package schema

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

//go:embed tables/*.gz versions.txt
var files embed.FS

// The index names operations by table: "table NAME", then lines of method and type, api-version, shape of the request and of the answer; - is
// none. A table has models, "model NAME" ("extra" behind it: members of any name are taken), with a line per member: name, flags (! required,
// r read-only), shape; and enumerations, "enum NAME" and their values. A shape is string, bool, int, number, time, bytes, any, the name of a
// model or enumeration, "[]" or "map " before another.

// shape is the type of a value.
type shape struct {
	kind  string // string, bool, int, number, time, bytes, any, list, map, model, enum
	of    *shape // of a list's and a map's elements
	model *model
	enum  *enum
}

type model struct {
	name   string
	extra  bool
	fields map[string]field
	folded map[string]string // names by their lower case
	must   []string          // required names
}

type field struct {
	required, readOnly bool
	shape              *shape
}

type enum struct {
	name   string
	values map[string]string // by their lower case
}

// table is what one module of the SDK says.
type table struct {
	models map[string]*model
	enums  map[string]*enum
	shapes map[string]*shape
}

// text of an embedded file.
func text(name string) []byte {
	packed, err := files.ReadFile("tables/" + name + ".txt.gz")
	if err == nil {
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(packed)); err == nil {
			var out []byte
			if out, err = io.ReadAll(r); err == nil {
				return out
			}
		}
	}
	panic(fmt.Sprintf("the embedded table %s: %v", name, err)) // what is embedded was read when it was generated
}

func decode(name string) *table {
	t := &table{models: map[string]*model{}, enums: map[string]*enum{}, shapes: map[string]*shape{}}
	var m *model
	lines := bufio.NewScanner(bytes.NewReader(text(name)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, " "):
			f := strings.Split(line[1:], "\t")
			m.fields[f[0]] = field{required: strings.Contains(f[1], "!"), readOnly: strings.Contains(f[1], "r"), shape: t.shape(f[2])}
			m.folded[strings.ToLower(f[0])] = f[0]
			if strings.Contains(f[1], "!") {
				m.must = append(m.must, f[0])
			}
		case strings.HasPrefix(line, "model "):
			f := strings.Fields(line)
			m = t.model(f[1])
			m.extra = len(f) > 2
		case strings.HasPrefix(line, "enum "):
			f := strings.Split(line[len("enum "):], "\t")
			e := t.enum(f[0])
			for _, v := range f[1:] {
				e.values[strings.ToLower(v)] = v
			}
		}
	}
	for _, s := range t.shapes {
		t.name(s)
	}
	return t
}

func (t *table) model(name string) *model {
	if t.models[name] == nil {
		t.models[name] = &model{name: name, fields: map[string]field{}, folded: map[string]string{}}
	}
	return t.models[name]
}

func (t *table) enum(name string) *enum {
	if t.enums[name] == nil {
		t.enums[name] = &enum{name: name, values: map[string]string{}}
	}
	return t.enums[name]
}

var plain = []string{"string", "bool", "int", "number", "time", "bytes", "any"}

// shape reads one; what it names is found once everything is read.
func (t *table) shape(text string) *shape {
	if s := t.shapes[text]; s != nil {
		return s
	}
	s := &shape{kind: text}
	t.shapes[text] = s
	if of, ok := strings.CutPrefix(text, "[]"); ok {
		s.kind, s.of = "list", t.shape(of)
	} else if of, ok := strings.CutPrefix(text, "map "); ok {
		s.kind, s.of = "map", t.shape(of)
	}
	return s
}

func (t *table) name(s *shape) {
	switch {
	case s.of != nil || slices.Contains(plain, s.kind) || s.model != nil || s.enum != nil:
	case t.enums[s.kind] != nil:
		s.kind, s.enum = "enum", t.enums[s.kind]
	case t.models[s.kind] != nil:
		s.kind, s.model = "model", t.models[s.kind]
	default:
		panic("a table names " + s.kind + " and does not have it")
	}
}

// entry is a line of the index.
type entry struct {
	table, version    string
	request, response string
}

// index has the entries of each operation.
var index = sync.OnceValue(func() map[string][]entry {
	out := map[string][]entry{}
	name := ""
	for line := range strings.Lines(string(text("index"))) {
		line = strings.TrimSuffix(line, "\n")
		if after, ok := strings.CutPrefix(line, "table "); ok {
			name = after
			continue
		}
		f := strings.Split(line, "\t")
		out[f[0]] = append(out[f[0]], entry{name, f[1], f[2], f[3]})
	}
	return out
})

var (
	tablesMu sync.Mutex
	tables   = map[string]*table{}
)

// tableOf decodes a table when it is first asked for.
func tableOf(name string) *table {
	tablesMu.Lock()
	defer tablesMu.Unlock()
	if tables[name] == nil {
		tables[name] = decode(name)
	}
	return tables[name]
}

// find is a shape that the index names, nil for none.
func (e entry) find(text string) *shape {
	if text == "-" {
		return nil
	}
	t := tableOf(e.table)
	tablesMu.Lock()
	defer tablesMu.Unlock()
	s := t.shape(text)
	t.name(s)
	for in := s; in.of != nil; in = in.of {
		t.name(in.of)
	}
	return s
}
