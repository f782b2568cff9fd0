package table

import (
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

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// root of the sources, seen from this package.
const root = "../../../"

func rows(t *testing.T, name string) []Row {
	t.Helper()
	all, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEveryFieldHasARow walks the specs of the definitions, in both directions.
func TestEveryFieldHasARow(t *testing.T) {
	for name, table := range map[string]string{"hostedclusters": "hostedcluster", "nodepools": "nodepool"} {
		raw, err := os.ReadFile(root + "config/crd/hypershift/hypershift.openshift.io_" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(raw, definition); err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		for _, row := range rows(t, table) {
			for _, field := range row.For {
				known[field] = true
			}
		}
		all := fields(definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"], "")
		if len(all) < 50 {
			t.Fatalf("%s: only %d fields: the walk is broken", name, len(all))
		}
		for _, field := range all {
			if !covered(field, known) && !slices.ContainsFunc(all, func(other string) bool { return strings.HasPrefix(other, field+".") }) {
				t.Errorf("spec.%s of %s has no row in %s.yaml: does it act, is it refused, or is it without effect?", field, name, table)
			}
		}
		for field := range known {
			if !slices.Contains(all, field) {
				t.Errorf("%s.yaml has a row for spec.%s, which %s do not have", table, field, name)
			}
		}
	}
}

func covered(field string, rows map[string]bool) bool {
	for {
		if rows[field] {
			return true
		}
		at := strings.LastIndexByte(field, '.')
		if at < 0 {
			return false
		}
		field = field[:at]
	}
}

func fields(node apiextensionsv1.JSONSchemaProps, place string) []string {
	if node.Items != nil && node.Items.Schema != nil {
		return fields(*node.Items.Schema, place)
	}
	var all []string
	for name, member := range node.Properties {
		path := strings.TrimPrefix(place+"."+name, ".")
		all = append(append(all, path), fields(member, path)...)
	}
	return all
}

// The constants tell which annotations there are; labels that metrics read, and what pages mention, are beside them.
func TestEveryAnnotationHasARow(t *testing.T) {
	known := map[string]bool{}
	for _, row := range rows(t, "annotations") {
		for _, key := range row.For {
			known[key] = true
		}
	}
	users, controllers := constants(t)
	metrics := []string{"hypershift.openshift.io/silence-cluster-alerts", "hypershift.openshift.io/cluster-size-override", "api.openshift.com/limited-support"}
	for _, key := range append(slices.Clone(users), metrics...) {
		if !known[key] {
			t.Errorf("annotation %s has no row in annotations.yaml", key)
		}
	}
	for key := range known {
		if !slices.Contains(users, key) && !slices.Contains(metrics, key) {
			t.Errorf("annotations.yaml has a row for %s, which nothing knows", key)
		}
	}
	mentioned := regexp.MustCompile(`[a-z.]*hypershift\.openshift\.io/[A-Za-z-]{3,}`)
	pages := []string{root + "README.md", root + "SECURITY.md"}
	for _, folder := range []string{"docs/*.md", "docs/architecture/*.md", "docs/adr/*.md"} {
		found, err := filepath.Glob(root + folder)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", folder, found, err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range mentioned.FindAllString(string(text), -1) {
			if !known[key] && !slices.Contains(controllers, key) && !used(t, key) {
				t.Errorf("%s mentions %s, which nothing knows", page, key)
			}
		}
	}
}

// constants of api/v1beta1 that are keys: those that users set, and the others.
func constants(t *testing.T) (users, controllers []string) {
	file, err := parser.ParseFile(token.NewFileSet(), root+"api/v1beta1/keys.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range file.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		text := block.Doc.Text()
		byUsers := strings.Contains(text, "that a person sets") || strings.Contains(text, "that tune a single component")
		for _, spec := range block.Specs {
			value, err := strconv.Unquote(spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			if byUsers {
				users = append(users, value)
			} else {
				controllers = append(controllers, value)
			}
		}
	}
	if len(users) < 50 {
		t.Fatalf("only %d annotations of users: the walk is broken", len(users))
	}
	return users, controllers
}

// constantNames of api/v1beta1 by their values.
func constantNames(t *testing.T) map[string]string {
	raw, err := os.ReadFile(root + "api/v1beta1/keys.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^\t(\w+) += "([^"]+)"`).FindAllStringSubmatch(string(raw), -1) {
		names[match[2]] = match[1]
	}
	return names
}

// used tells whether a program has the key.
func used(t *testing.T, key string) bool {
	for _, source := range sources(t, "internal") {
		if strings.Contains(source, key) {
			return true
		}
	}
	return false
}

// TestRowsSayOneThing checks each row, and that what it names is there: the package reads the member, and the test exists.
func TestRowsSayOneThing(t *testing.T) {
	all := map[string][]Row{}
	for _, name := range []string{"hostedcluster", "nodepool", "annotations"} {
		all[name] = rows(t, name)
	}
	flags, err := LoadFlags()
	if err != nil {
		t.Fatal(err)
	}
	tests := testFiles(t)
	for _, group := range flags {
		for _, row := range group.Rows {
			all["flags"] = append(all["flags"], row.Row)
			// The sandbox is what the tests run on.
			if row.Acts != "" && row.Typed == "" && !strings.HasPrefix(group.Commands[0], "sandbox") {
				exercised(t, group.Commands, row.Row, tests)
			}
		}
	}
	for name, rows := range all {
		count := map[string]int{}
		for _, row := range rows {
			for _, key := range row.For {
				if row.When == "" && name != "flags" {
					count[key]++
				}
				if count[key] > 1 {
					t.Errorf("%s.yaml: %s is there twice, and not said when", name, key)
				}
			}
			if said := btoi(row.Acts != "") + btoi(row.Refused != "") + btoi(row.Inert != ""); said != 1 || len(row.For) == 0 {
				t.Errorf("%s.yaml: the row of %v says %d things, not one", name, row.For, said)
			}
			if row.Inert != "" && row.Seen == "" {
				t.Errorf("%s.yaml: who tells the user that %v is without effect?", name, row.For)
			}
			if row.OpenShift != nil {
				acts(t, name+withOpenShift, Row{For: row.For, Acts: row.OpenShift.Acts, Test: row.OpenShift.Test}, tests)
			}
			if row.Acts != "" {
				acts(t, name, row, tests)
			}
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// exercised: a test that does not type a flag shows nothing of it.
func exercised(t *testing.T, commands []string, row Row, tests map[string]string) {
	text, found := tests[row.Test]
	if !found {
		raw, err := os.ReadFile(root + row.Test)
		if err != nil {
			return // told as missing
		}
		text = string(raw)
	}
	letters := strings.ToLower(strings.ReplaceAll(text, "-", ""))
	for _, flag := range row.For {
		option := strings.ReplaceAll(flag, "-", "") // as the members of options are called
		if !strings.Contains(text, "--"+flag) && !strings.Contains(text, `"`+flag+`"`) && !strings.Contains(letters, option+":") && !strings.Contains(letters, option+" =") {
			t.Errorf("flags.yaml: %s does not type --%s of %v", row.Test, flag, commands)
		}
	}
}

// withOpenShift is said of what a row has for payloads of OpenShift.
const withOpenShift = " with OpenShift"

// acts: the test is there, and the package reads what the row is for.
func acts(t *testing.T, name string, row Row, tests map[string]string) {
	if tests[row.Test] == "" && !isTest(row.Test) {
		t.Errorf("%s.yaml: %v: there is no test or script %q", name, row.For, row.Test)
	}
	all := sources(t, row.Acts)
	if len(all) == 0 {
		t.Errorf("%s.yaml: %v: there is no package %s", name, row.For, row.Acts)
		return
	}
	text, reads := strings.Join(all, "\n"), member
	switch {
	case strings.HasPrefix(name, "flags"):
		return // many commands define theirs in a package that they share; exercised looks for the flag in the test
	case strings.HasPrefix(name, "annotations"):
		reads = annotation(t)
	case strings.HasSuffix(name, withOpenShift):
		reads = copied
	}
	for _, key := range row.For {
		if !reads(key).MatchString(text) {
			t.Errorf("%s.yaml: package %s does not read %s", name, row.Acts, key)
		}
	}
}

// demoScripts are typed by the command demo of the end-to-end scripts, which all begin with it: what they do not make, no script finds.
var demoScripts = []string{"hack/demo.sh", "hack/demo-lib.sh"}

// isTest tells whether a path is that of a script, or of a file with tests.
func isTest(path string) bool {
	info, err := os.Stat(root + path)
	kind := strings.HasSuffix(path, ".txtar") || strings.HasSuffix(path, "_test.go") || slices.Contains(demoScripts, path)
	return kind && err == nil && info.Mode().IsRegular()
}

// member is how a program reads a member of a spec: as a member of a struct, or by its name.
func member(path string) *regexp.Regexp {
	leaf := regexp.QuoteMeta(path[strings.LastIndexByte(path, '.')+1:])
	return regexp.MustCompile(`(?i)\.` + leaf + `\b|"` + leaf + `[",]`)
}

// copied is how a program reads a member of the configuration that a program of OpenShift is to find in the guest: itself, or all of the
// kind that it is of.
func copied(path string) *regexp.Regexp {
	parts := strings.Split(path, ".")
	if parts[0] != "configuration" || len(parts) < 3 {
		return member(path)
	}
	return regexp.MustCompile(member(path).String() + `|\.(?i:` + regexp.QuoteMeta(parts[1]) + `)\b`)
}

// annotation returns how a program reads an annotation: by its constant, or where there is none by its name.
func annotation(t *testing.T) func(key string) *regexp.Regexp {
	names := constantNames(t)
	return func(key string) *regexp.Regexp {
		if name := names[key]; name != "" {
			return regexp.MustCompile(`\bhyperv1\.` + name + `\b`)
		}
		return regexp.MustCompile(`"` + regexp.QuoteMeta(key) + `"`)
	}
}

func TestWhatReads(t *testing.T) {
	for _, test := range []struct {
		reads *regexp.Regexp
		text  string
		want  bool
	}{
		{member("a.b.port"), "x.Port = 1", true}, {member("a.b.port"), "x.Ports", false}, {member("a.b.clientCA"), "c.ClientCA.Name", true},
		{member("port"), `json:"port,omitempty"`, true}, {member("port"), `f("port")`, true}, {member("port"), `f("portal")`, false},
		{member("configuration.ingress.x"), "UserSpec(configuration.Ingress)", false}, {copied("configuration.ingress.x"), "UserSpec(configuration.Ingress)", true},
		{copied("configuration.ingress.x"), "UserSpec(configuration.Image)", false},
		{annotation(t)("hypershift.openshift.io/topology"), "hyperv1.TopologyAnnotation]", true},
		{annotation(t)("hypershift.openshift.io/topology"), "hyperv1.TopologyAnnotations]", false},
		{annotation(t)("api.openshift.com/limited-support"), `"api.openshift.com/limited-support"`, true},
	} {
		if got := test.reads.MatchString(test.text); got != test.want {
			t.Errorf("%s in %s: %t", test.reads, test.text, got)
		}
	}
}

// sources of a package and those below it, without tests.
func sources(t *testing.T, folder string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root+folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(all, string(text))
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return all
}

// testFiles are the sources of each test by its name.
func testFiles(t *testing.T) map[string]string {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	tests := map[string]string{}
	for _, folder := range []string{"internal", "test", "cmd", "api", "sandbox"} {
		err := filepath.WalkDir(root+folder, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
				tests[found[1]] += string(text)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return tests
}
