package preflight_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/preflight/preflighttest"
)

// makers are the functions that make a check of the name that is their first argument.
var makers = []string{"Verdict", "OfError", "Skipped", "unanswered", "unseen"}

// source is a package whose checks are named in it.
type source struct {
	files []*ast.File
	funcs map[string][]*ast.FuncDecl
}

func parse(t *testing.T, dir string) *source {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatal(dir, err)
	}
	s := &source{funcs: map[string][]*ast.FuncDecl{}}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, raw, 0)
		if err != nil {
			t.Fatal(err)
		}
		s.files = append(s.files, file)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				s.funcs[f.Name.Name] = append(s.funcs[f.Name.Name], f)
			}
		}
	}
	return s
}

// calls visits the calls of a function by its name, with the function in which each stands.
func (s *source) calls(names []string, visit func(in *ast.FuncDecl, call *ast.CallExpr)) {
	for _, of := range s.funcs {
		for _, f := range of {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				name := ""
				switch fun := call.Fun.(type) {
				case *ast.Ident:
					name = fun.Name
				case *ast.SelectorExpr:
					name = fun.Sel.Name
				}
				if slices.Contains(names, name) {
					visit(f, call)
				}
				return true
			})
		}
	}
}

// texts are what an expression can be, with {} for what the source does not say.
func (s *source) texts(in *ast.FuncDecl, e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return []string{text}
		}
	case *ast.BinaryExpr:
		var out []string
		for _, x := range s.texts(in, e.X) {
			for _, y := range s.texts(in, e.Y) {
				out = append(out, x+y)
			}
		}
		return out
	case *ast.CallExpr:
		if fun, ok := e.Fun.(*ast.SelectorExpr); ok && fun.Sel.Name == "Sprintf" {
			out := s.texts(in, e.Args[0])
			for _, arg := range e.Args[1:] {
				var next []string
				for _, text := range out {
					for _, value := range s.texts(in, arg) {
						at := strings.Index(text, "%")
						next = append(next, text[:at]+value+text[at+2:])
					}
				}
				out = next
			}
			return out
		}
	case *ast.Ident:
		if found := s.named(in, e.Name); len(found) > 0 {
			return found
		}
	}
	return []string{"{}"}
}

// named are the texts that a name has: where it is set in the function or the package, or what callers give.
func (s *source) named(in *ast.FuncDecl, name string) []string {
	var out []string
	set := func(names []ast.Expr, values []ast.Expr) {
		for i, n := range names {
			if ident, ok := n.(*ast.Ident); ok && ident.Name == name && len(values) == len(names) {
				out = append(out, s.texts(in, values[i])...)
			}
		}
	}
	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			set(n.Lhs, n.Rhs)
		case *ast.ValueSpec:
			var names []ast.Expr
			for _, ident := range n.Names {
				names = append(names, ident)
			}
			set(names, n.Values)
		}
		return true
	}
	ast.Inspect(in, look)
	if len(out) > 0 {
		return out
	}
	at := 0
	for _, p := range in.Type.Params.List {
		for _, ident := range p.Names {
			if ident.Name == name {
				s.calls([]string{in.Name.Name}, func(caller *ast.FuncDecl, call *ast.CallExpr) { out = append(out, s.texts(caller, call.Args[at])...) })
				return out
			}
			at++
		}
	}
	for _, file := range s.files {
		for _, d := range file.Decls {
			if of, ok := d.(*ast.GenDecl); ok {
				ast.Inspect(of, look)
			}
		}
	}
	return out
}

// anything stands in a name for what differs from one check to another.
var anything = regexp.MustCompile(`\{[^}]*\}`)

// TestEveryCheckHasARow: whatever the source calls a check is a row, and each row is a check of the source. That a test provokes each row is held
// where the tests are, by preflighttest.
func TestEveryCheckHasARow(t *testing.T) {
	rows := map[string]bool{}
	for _, row := range preflight.Rows() {
		name := anything.ReplaceAllLiteralString(row.Name, "{}")
		if _, twice := rows[name]; twice {
			t.Errorf("row %q is there twice", row.Name)
		}
		rows[name] = false
	}
	named := func(where, name string) {
		if _, ok := rows[name]; !ok {
			t.Errorf("%s has a check %q and preflight.Rows has no such row", where, name)
		}
		rows[name] = true
	}
	for _, dir := range []string{".", "../cli/feasibility", "../cli/cluster"} {
		s := parse(t, dir)
		s.calls(makers, func(in *ast.FuncDecl, call *ast.CallExpr) {
			if slices.Contains(makers, in.Name.Name) {
				return // gives its own name on
			}
			for _, name := range s.texts(in, call.Args[0]) {
				named(fmt.Sprintf("%s of %s", in.Name.Name, dir), name)
			}
		})
	}
	// What verify looks at is named by an area and a name, and one row may have several names of an area; DNS is not looked at again here.
	s := parse(t, "../provision/verify")
	s.calls([]string{"verdict"}, func(in *ast.FuncDecl, call *ast.CallExpr) {
		for _, area := range s.texts(in, call.Args[0]) {
			for _, name := range s.texts(in, call.Args[1]) {
				if area == "DNS" || area == "ExternalDNS" {
					continue
				}
				full := area + " " + name
				if _, exact := rows[full]; !exact {
					if at := slices.IndexFunc(preflight.Rows(), func(row preflight.Row) bool { return preflighttest.Pattern(row.Name).MatchString(full) }); at >= 0 {
						full = anything.ReplaceAllLiteralString(preflight.Rows()[at].Name, "{}")
					}
				}
				named("verify", full)
			}
		}
	})
	for name, seen := range rows {
		if !seen {
			t.Errorf("nothing is called %q", name)
		}
	}
}
