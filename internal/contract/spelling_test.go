package contract

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// namelike are texts that name something: a DNS label with a dash, the key of a file with a dot, an environment variable, a label or annotation.
var namelike = regexp.MustCompile(`^([a-z][a-z0-9]*(-[a-z0-9]+)+|[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|([a-z0-9-]+\.)*openshift\.io/[A-Za-z0-9._-]*)$`)

// keylike are further texts that are spelt once if a constant has them: keys of data, and labels of others.
var keylike = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(/[a-z-]+)?$`)

// place is a literal in a package.
type place struct{ literal, dir string }

// TestNamesAreSpeltOnce: who needs a name that a constant has uses the constant, and a name that two packages need has one.
func TestNamesAreSpeltOnce(t *testing.T) {
	constants := map[string]string{}
	for dir, prefix := range map[string]string{"internal/contract": "contract.", "api/v1beta1": "hyperv1."} {
		for name, value := range constantsOf(t, dir) {
			if namelike.MatchString(value) || keylike.MatchString(value) {
				constants[value] = prefix + name
			}
		}
	}
	spelt := map[string][]string{}
	for _, p := range places(t) {
		if !slices.Contains(spelt[p.literal], p.dir) {
			spelt[p.literal] = append(spelt[p.literal], p.dir)
		}
	}
	for _, word := range words {
		if len(spelt[word]) < 2 {
			t.Errorf("%q is no longer spelt out twice: take it from the words", word)
		}
	}
	for name, dirs := range homonyms {
		for _, dir := range dirs {
			if !slices.Contains(spelt[name], dir) {
				t.Errorf("%q is no longer spelt out in %s: take it from the homonyms", name, dir)
			}
		}
	}
	for _, literal := range slices.Sorted(maps.Keys(spelt)) {
		dirs := slices.DeleteFunc(spelt[literal], func(dir string) bool { return dir == "internal/contract" || isCoincidence(literal, dir) })
		switch constant := constants[literal]; {
		case constant != "" && len(dirs) > 0:
			t.Errorf("%q is %s, and is spelt out in %s", literal, constant, strings.Join(dirs, ", "))
		case constant == "" && len(dirs) > 1 && namelike.MatchString(literal):
			t.Errorf("%q is spelt out in %s: give it a constant in internal/contract", literal, strings.Join(dirs, ", "))
		}
	}
}

func isCoincidence(literal, dir string) bool {
	if slices.Contains(words, literal) {
		return true
	}
	return slices.Contains(homonyms[literal], dir)
}

// places are the literals of internal and cmd that may name something outside of their package.
func places(t *testing.T) []place {
	files := map[string]*ast.File{}
	for _, dir := range []string{"internal", "cmd"} {
		maps.Copy(files, parse(t, dir))
	}
	flags := map[string]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if literal := flagOf(n); literal != nil {
				flags[text(literal)] = true
			}
			return true
		})
	}
	var found []place
	for path, file := range files {
		dir := filepath.ToSlash(filepath.Dir(path))
		local := localOf(file)
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING || local[literal] {
				return true
			}
			// The command line talks of its flags by their names.
			if value := text(literal); !strings.HasPrefix(dir, "internal/cli") || !flags[value] {
				found = append(found, place{value, dir})
			}
			return true
		})
	}
	return found
}

// localOf are the literals that mean something only where they stand: imports, tags, flags, volumes and containers of a pod.
func localOf(file *ast.File) map[*ast.BasicLit]bool {
	local := map[*ast.BasicLit]bool{}
	add := func(e ast.Expr) {
		if literal, ok := e.(*ast.BasicLit); ok {
			local[literal] = true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			add(n.Path)
		case *ast.Field:
			if n.Tag != nil {
				add(n.Tag)
			}
		case *ast.CallExpr:
			if literal := flagOf(n); literal != nil {
				add(literal)
			}
			if len(n.Args) > 0 && slices.Contains(volumes, called(n)) {
				add(n.Args[0])
			}
		case *ast.CompositeLit:
			fields := map[string]ast.Expr{}
			for _, e := range n.Elts {
				if pair, ok := e.(*ast.KeyValueExpr); ok {
					if key, ok := pair.Key.(*ast.Ident); ok {
						fields[key.Name] = pair.Value
					}
				}
			}
			if fields["MountPath"] != nil || fields["VolumeSource"] != nil || fields["Image"] != nil {
				add(fields["Name"])
			}
		}
		return true
	})
	return local
}

// flagOf is the literal by which a call names a flag.
func flagOf(n ast.Node) *ast.BasicLit {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	at := 0
	if name := called(call); strings.HasSuffix(name, "Var") || strings.HasSuffix(name, "VarP") {
		at = 1
	} else if !slices.Contains([]string{"Lookup", "Changed", "MarkHidden"}, name) {
		return nil
	}
	literal, _ := call.Args[min(at, len(call.Args)-1)].(*ast.BasicLit)
	return literal
}

// called is the name of the function or method that is called, without its package.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

// constantsOf are the constants of a package whose values are literals.
func constantsOf(t *testing.T, dir string) map[string]string {
	values := map[string]string{}
	for _, file := range parse(t, dir) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Names) != len(spec.Values) {
				return true
			}
			for i, name := range spec.Names {
				if literal, ok := spec.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING && name.IsExported() {
					values[name.Name] = text(literal)
				}
			}
			return true
		})
	}
	return values
}

// parse reads the files below a directory but tests and what only tests use.
func parse(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasSuffix(path, "test") || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		files[name] = file
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func text(literal *ast.BasicLit) string {
	value, _ := strconv.Unquote(literal.Value)
	return value
}

// volumes are functions whose first argument names a volume of the pod.
var volumes = []string{"SecretVolume", "ConfigMapVolume", "EmptyDirVolume", "cert", "bundle", "certificateOf"}

// words are no names that packages share, or name something of its own in each.
var words = []string{
	// Containers and volumes of pods.
	"cloud-token", "csi-driver", "oauth-audit-webhook", "service-account-kubeconfig", "snapshot-controller",
	// Settings of programs that are not ours.
	"RELEASE_IMAGE", "feature-gates",
	// Short names of identities, of stacks and of what is cleaned up.
	"cloud-provider", "image-registry", "oidc-issuer",
	// What a port is called in a pod, and in a monitor of the guest.
	"etcd-metrics",
	// Words of HTML and encodings, of the command line and of addresses.
	"color-scheme", "sign-in", "sign-key", "utf-8",
}

// homonyms are called as a constant says in packages that mean something else.
var homonyms = map[string][]string{
	AdminKubeconfig:      {"internal/controlplane/ingressoperator"},                 // a volume
	ControlPlaneOperator: {"internal/hostedcluster", "internal/provision/identity"}, // a step, an identity
	ExternalDNS:          {"internal/explain", "internal/provision/dns"},            // a cause, a stack
	PullSecret:           {"internal/explain"},                                      // a cause
	RouterNamespace:      {"internal/hostedcluster/isolation"},                      // a network policy
}
