//go:build ignore

// Generates tables/*.txt.gz: what requests and answers of the resource manager look like, read from the sources of Azure's SDK modules at the
// versions that carry the api-versions in use. Run by go generate. The format is described in decode.go.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
)

const sdk = "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/"

// source is a module and what of it is kept.
type source struct {
	name   string // of the table
	module string
	types  prefixes // lower-cased prefixes of the types that are kept, nil for all
}

var (
	networkTypes = prefixed("microsoft.network/", "virtualnetworks", "networksecuritygroups", "applicationsecuritygroups", "publicipaddresses", "publicipprefixes", "loadbalancers",
		"networkinterfaces", "natgateways", "routetables", "privateendpoints", "privatelinkservices", "locations")
	computeTypes = prefixed("microsoft.compute/", "virtualmachines", "disks", "snapshots", "images", "availabilitysets", "galleries", "diskencryptionsets", "locations", "skus")
)

// sources in the order in which one is preferred to another that carries the same api-version.
var sources = []source{
	{"resources", "resources/armresources@v1.2.0", prefixes{"microsoft.resources", "*"}},
	{"subscriptions", "resources/armsubscriptions@v1.3.0", nil},
	{"deployments", "resources/armdeployments@v1.0.0", nil},
	{"locks", "resources/armlocks@v1.2.0", nil},
	{"policy", "resources/armpolicy@v0.10.0", prefixed("microsoft.authorization/", "policyassignments", "policydefinitions")},
	{"authorization", "authorization/armauthorization/v2@v2.2.0", prefixed("microsoft.authorization/", "roleassignments", "roledefinitions", "permissions")},
	{"marketplace", "marketplaceordering/armmarketplaceordering@v1.2.0", nil},
	{"msi-2024", "msi/armmsi@v1.3.0", nil},
	{"msi-2023", "msi/armmsi@v1.2.0", nil},
	{"dns", "dns/armdns@v1.2.0", nil},
	{"privatedns-2024", "privatedns/armprivatedns@v1.3.0", nil},
	{"privatedns-2020", "privatedns/armprivatedns@v1.2.0", nil},
	{"keyvault-2024", "keyvault/armkeyvault@v1.5.0", nil},
	{"keyvault-2023", "keyvault/armkeyvault@v1.4.0", nil},
	{"storage-2024", "storage/armstorage@v1.8.1", nil},
	{"storage-2023-05", "storage/armstorage@v1.6.0", nil},
	{"storage-2023-01", "storage/armstorage@v1.5.0", nil},
	{"storage-2022", "storage/armstorage@v1.3.0", nil},
	{"network-2025-03", "network/armnetwork/v8@v8.0.0", networkTypes},
	{"network-2025-01", "network/armnetwork/v7@v7.2.0", networkTypes},
	{"network-2024", "network/armnetwork/v6@v6.2.0", networkTypes},
	{"network-2023", "network/armnetwork/v4@v4.3.0", networkTypes},
	{"network-2022", "network/armnetwork@v1.1.0", networkTypes},
	{"compute-2025", "compute/armcompute/v7@v7.3.0", computeTypes},
	{"compute-2024-11", "compute/armcompute/v6@v6.4.0", computeTypes},
	{"compute-2024-03", "compute/armcompute/v5@v5.7.0", computeTypes},
	{"compute-2023", "compute/armcompute/v5@v5.5.0", computeTypes},
	{"compute-2022-11", "compute/armcompute/v4@v4.2.1", computeTypes},
	{"compute-2022-03", "compute/armcompute@v1.0.0", computeTypes},
}

// open are enumerations of the SDKs that name only examples: Azure has many more values.
var open = []string{"VirtualMachineSizeTypes"}

type prefixes []string

func prefixed(ns string, types ...string) (out prefixes) {
	for _, t := range types {
		out = append(out, ns+t)
	}
	return out
}

func main() {
	old, err := filepath.Glob("tables/*.gz")
	check(err)
	for _, f := range old {
		check(os.Remove(f))
	}
	seen := map[string]bool{}
	var index bytes.Buffer
	for _, s := range sources {
		ops, models := read(s).table(s, seen)
		fmt.Fprintf(&index, "table %s\n", s.name)
		for _, o := range ops {
			fmt.Fprintf(&index, "%s\t%s\t%s\t%s\n", o.key, o.version, o.request, o.response)
		}
		write(s.name, models)
	}
	write("index", index.Bytes())
}

func write(name string, text []byte) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	check(err)
	_, err = w.Write(text)
	check(err)
	check(w.Close())
	check(os.WriteFile("tables/"+name+".txt.gz", out.Bytes(), 0o644))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// module is a package of the SDK, taken apart.
type module struct {
	structs    map[string]*ast.StructType
	interfaces map[string]bool
	enums      map[string][]string          // values by type
	names      map[string]map[string]string // JSON name by struct and field
	times      map[string]map[string]string // kind of time by struct and field
	implements map[string][]string          // models by interface
	functions  []*ast.FuncDecl
}

func read(s source) *module {
	out, err := exec.Command("go", "mod", "download", "-json", sdk+s.module).Output()
	check(err)
	var found struct{ Dir string }
	check(json.Unmarshal(out, &found))
	isSource := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	packages, err := parser.ParseDir(token.NewFileSet(), found.Dir, isSource, parser.ParseComments)
	check(err)
	m := &module{structs: map[string]*ast.StructType{}, interfaces: map[string]bool{}, enums: map[string][]string{}, names: map[string]map[string]string{},
		times: map[string]map[string]string{}, implements: map[string][]string{}}
	for _, p := range packages {
		for _, f := range p.Files {
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.GenDecl:
					m.declared(d)
				case *ast.FuncDecl:
					m.function(d)
				}
			}
		}
	}
	return m
}

func (m *module) declared(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			switch t := spec.Type.(type) {
			case *ast.StructType:
				m.structs[spec.Name.Name] = t
			case *ast.InterfaceType:
				m.interfaces[spec.Name.Name] = true
			case *ast.Ident:
				m.enums[spec.Name.Name] = append(m.enums[spec.Name.Name], []string{}...)
			}
		case *ast.ValueSpec:
			typ, ok := spec.Type.(*ast.Ident)
			if !ok || d.Tok != token.CONST || len(spec.Values) != 1 {
				continue
			}
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				m.enums[typ.Name] = append(m.enums[typ.Name], unquote(lit))
			}
		}
	}
}

func unquote(lit *ast.BasicLit) string {
	s, err := strconv.Unquote(lit.Value)
	check(err)
	return s
}

func (m *module) function(f *ast.FuncDecl) {
	recv := receiver(f)
	switch {
	case recv == "":
	case f.Name.Name == "UnmarshalJSON":
		m.unmarshals(recv, f)
	case strings.HasPrefix(f.Name.Name, "Get") && len(f.Type.Params.List) == 0 && f.Type.Results != nil && len(f.Type.Results.List) == 1:
		i := strings.TrimPrefix(f.Name.Name, "Get") + "Classification"
		m.implements[i] = append(m.implements[i], recv)
	case strings.HasSuffix(f.Name.Name, "CreateRequest"):
		m.functions = append(m.functions, f)
	}
}

func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	return strings.TrimPrefix(typeText(f.Recv.List[0].Type), "*")
}

// unmarshals reads the JSON names of a model's fields off the function that reads them: case "name": err = unpopulate(val, "Field", &x.Field).
func (m *module) unmarshals(model string, f *ast.FuncDecl) {
	m.names[model], m.times[model] = map[string]string{}, map[string]string{}
	recv := f.Recv.List[0].Names[0].Name
	ast.Inspect(f.Body, func(n ast.Node) bool {
		c, ok := n.(*ast.CaseClause)
		if !ok || len(c.List) == 0 {
			return true
		}
		lit, ok := c.List[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		field, kind := "", ""
		for _, s := range c.Body {
			ast.Inspect(s, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == recv && field == "" {
						field = n.Sel.Name
					}
				case *ast.Ident:
					if strings.HasPrefix(n.Name, "unpopulate") && n.Name != "unpopulate" {
						kind = strings.TrimPrefix(n.Name, "unpopulate")
					}
				}
				return true
			})
		}
		if field != "" {
			m.names[model][field], m.times[model][field] = unquote(lit), kind
		}
		return true
	})
}

func typeText(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return "*" + typeText(t.X)
	case *ast.ArrayType:
		return "[]" + typeText(t.Elt)
	case *ast.MapType:
		return "map " + typeText(t.Value)
	case *ast.SelectorExpr:
		return typeText(t.X) + "." + t.Sel.Name
	case *ast.InterfaceType:
		return "any"
	}
	return "?"
}

// shape is a type as tables spell it.
func (m *module) shape(text string) string {
	text = strings.TrimPrefix(text, "*")
	switch text {
	case "string", "bool", "any":
		return text
	case "int32", "int64":
		return "int"
	case "float32", "float64":
		return "number"
	case "[]byte":
		return "bytes"
	case "time.Time":
		return "time"
	}
	for _, prefix := range []string{"[]", "map "} {
		if of, ok := strings.CutPrefix(text, prefix); ok {
			return prefix + m.shape(of)
		}
	}
	if slices.Contains(open, text) {
		return "string"
	}
	_, isEnum := m.enums[text]
	if !isEnum && m.structs[text] == nil && !m.interfaces[text] {
		return "any"
	}
	return text
}

type operation struct{ key, version, request, response string }

// operations of all clients.
func (m *module) operations() (out []operation) {
	for _, f := range m.functions {
		o := operation{request: "-", response: "-"}
		path, method := "", ""
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if id, ok := n.Lhs[0].(*ast.Ident); ok && id.Name == "urlPath" && path == "" {
					if lit, ok := n.Rhs[0].(*ast.BasicLit); ok {
						path = unquote(lit)
					}
				}
			case *ast.CallExpr:
				switch callee := typeText(n.Fun); {
				case callee == "runtime.NewRequest":
					method = strings.ToUpper(strings.TrimPrefix(typeText(n.Args[1]), "http.Method"))
				case strings.HasSuffix(callee, ".Set"):
					if k, ok := n.Args[0].(*ast.BasicLit); ok && unquote(k) == "api-version" {
						if v, ok := n.Args[1].(*ast.BasicLit); ok {
							o.version = unquote(v)
						}
					}
				case callee == "runtime.MarshalAsJSON":
					o.request = m.shape(m.argument(f, n.Args[1]))
				}
			}
			return true
		})
		key, ok := operationKey(method, path)
		if !ok || o.version == "" {
			continue
		}
		o.key = key
		o.response = m.response(receiver(f), strings.TrimSuffix(f.Name.Name, "CreateRequest"))
		out = append(out, o)
	}
	return out
}

// argument is the type of what a request carries: a parameter of the function, or a field of its options.
func (m *module) argument(f *ast.FuncDecl, e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	name, field := "", ""
	switch e := e.(type) {
	case *ast.Ident:
		name = e.Name
	case *ast.SelectorExpr:
		name, field = typeText(e.X), e.Sel.Name
	}
	for _, p := range f.Type.Params.List {
		for _, n := range p.Names {
			if n.Name != name {
				continue
			}
			if field == "" {
				return typeText(p.Type)
			}
			if s := m.structs[strings.TrimPrefix(typeText(p.Type), "*")]; s != nil {
				for _, f := range s.Fields.List {
					if len(f.Names) == 1 && f.Names[0].Name == field {
						return typeText(f.Type)
					}
				}
			}
		}
	}
	return "any"
}

// response is the model that an operation answers, "-" for none.
func (m *module) response(client, operation string) string {
	name := client + strings.ToUpper(operation[:1]) + operation[1:] + "Response"
	s := m.structs[name]
	if s == nil {
		return "-"
	}
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 {
			return m.shape(typeText(f.Type))
		}
		if len(f.Names) == 1 && (f.Names[0].Name == "Value" || strings.HasSuffix(f.Names[0].Name, "Array") || strings.HasSuffix(f.Names[0].Name, "Map")) && f.Tag == nil {
			return m.shape(typeText(f.Type))
		}
	}
	return "-"
}

// operationKey is the method and the type that a path is about, with a slash behind it when it ends with no name. A type that is a parameter
// is a star.
func operationKey(method, path string) (string, bool) {
	path = strings.Trim(path, "/")
	typ, names := "microsoft.resources/", false
	if i := strings.LastIndex("/"+path, "/providers/"); i >= 0 {
		segs := strings.Split(path[i+len("providers/"):], "/")
		typ = star(segs[0])
		for k := 1; k < len(segs); k += 2 {
			typ += "/" + star(segs[k])
		}
		names = len(segs)%2 == 1
	} else {
		segs := strings.Split(path, "/")
		if path == "" || strings.HasPrefix(segs[0], "{") {
			return "", false
		}
		typ += star(segs[(len(segs)-1)/2*2])
		names = len(segs)%2 == 0
	}
	if !names {
		typ += "/"
	}
	return method + " " + strings.ToLower(typ), true
}

func star(segment string) string {
	if strings.HasPrefix(segment, "{") {
		return "*"
	}
	return segment
}

// table is what of the module is kept, without operations that an earlier one has, and the models they are made of.
func (m *module) table(s source, seen map[string]bool) (ops []operation, models []byte) {
	for _, o := range m.operations() {
		_, typ, _ := strings.Cut(o.key, " ")
		kept := s.types == nil || slices.ContainsFunc(s.types, func(p string) bool { return typ == p || strings.HasPrefix(typ, strings.TrimSuffix(p, "/")+"/") })
		if kept && !seen[o.key+" "+o.version] {
			ops = append(ops, o)
		}
	}
	sort.Slice(ops, func(i, j int) bool { return fmt.Sprint(ops[i]) < fmt.Sprint(ops[j]) })
	ops = slices.Compact(ops)
	out := bytes.NewBufferString("# " + sdk + s.module + "\n")
	used := map[string]bool{}
	for _, o := range ops {
		seen[o.key+" "+o.version] = true
		m.reach(o.request, used)
		m.reach(o.response, used)
	}
	var names []string
	for n := range used {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		out.WriteString(m.model(n))
	}
	return ops, out.Bytes()
}

func element(shape string) string {
	for {
		switch {
		case strings.HasPrefix(shape, "[]"):
			shape = shape[2:]
		case strings.HasPrefix(shape, "map "):
			shape = shape[4:]
		default:
			return shape
		}
	}
}

// reach notes a type and all that its members are made of.
func (m *module) reach(shape string, used map[string]bool) {
	name := element(shape)
	_, isEnum := m.enums[name]
	if used[name] || !isEnum && m.structs[name] == nil && !m.interfaces[name] {
		return
	}
	used[name] = true
	for _, f := range m.fields(name) {
		m.reach(f.shape, used)
	}
}

// field of a model.
type field struct {
	name               string
	required, readOnly bool
	shape              string
}

// fields of a model; those of an interface are what any of its models has.
func (m *module) fields(name string) (out []field) {
	if m.interfaces[name] {
		for _, impl := range m.implements[name] {
			for _, f := range m.fields(impl) {
				f.required = false
				if !slices.ContainsFunc(out, func(o field) bool { return o.name == f.name }) {
					out = append(out, f)
				}
			}
		}
		return out
	}
	s := m.structs[name]
	if s == nil {
		return nil
	}
	for _, f := range s.Fields.List {
		if len(f.Names) != 1 || f.Names[0].Name == "AdditionalProperties" {
			continue
		}
		json := m.names[name][f.Names[0].Name]
		tag := ""
		if f.Tag != nil {
			tag = f.Tag.Value
			if _, after, ok := strings.Cut(tag, `json:"`); ok && json == "" {
				json, _, _ = strings.Cut(after, `"`)
				json, _, _ = strings.Cut(json, ",")
			}
		}
		if json == "" || json == "-" {
			continue
		}
		shape := m.shape(typeText(f.Type))
		if kind := m.times[name][f.Names[0].Name]; shape == "time" && kind != "" && kind != "DateTimeRFC3339" && kind != "TimeRFC3339" {
			shape = "string"
		}
		doc := f.Doc.Text() // a list's last page has no nextLink, whatever it says
		out = append(out, field{name: json, required: strings.HasPrefix(doc, "REQUIRED;") && json != "nextLink", shape: shape,
			readOnly: strings.HasPrefix(doc, "READ-ONLY;") || strings.Contains(doc, "; READ-ONLY;") || strings.Contains(tag, `azure:"ro"`)})
	}
	return out
}

// extra tells that a model takes members of any name.
func (m *module) extra(name string) bool {
	s := m.structs[name]
	return s != nil && slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool { return len(f.Names) == 1 && f.Names[0].Name == "AdditionalProperties" })
}

func (m *module) model(name string) string {
	var b strings.Builder
	if values, ok := m.enums[name]; ok {
		if len(values) == 0 {
			log.Fatalf("%s has no values", name)
		}
		sort.Strings(values)
		return "enum " + name + "\t" + strings.Join(values, "\t") + "\n"
	}
	b.WriteString("model " + name)
	if m.extra(name) {
		b.WriteString(" extra")
	}
	b.WriteString("\n")
	fields := m.fields(name)
	sort.Slice(fields, func(i, j int) bool { return fields[i].name < fields[j].name })
	for _, f := range fields {
		flags := ""
		if f.required {
			flags += "!"
		}
		if f.readOnly {
			flags += "r"
		}
		if flags == "" {
			flags = "-"
		}
		fmt.Fprintf(&b, " %s\t%s\t%s\n", f.name, flags, f.shape)
	}
	return b.String()
}
