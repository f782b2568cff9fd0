package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	optionfield "github.com/hypershift-on-azure/hypershift/internal/field"
)

// domains are the packages whose errors name fields.
var domains = []string{"../install", "../provision"}

// domainFiles calls do with every file of the domains, tests left out.
func domainFiles(t *testing.T, do func(path string, file *ast.File)) {
	t.Helper()
	for _, root := range domains {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err == nil {
				do(path, file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// allFlags are the names of the flags of every command.
func allFlags() map[string]bool {
	all := map[string]bool{}
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
			set.VisitAll(func(f *pflag.Flag) { all[f.Name] = true })
		}
		for _, child := range cmd.Commands() {
			add(child)
		}
	}
	add(NewRoot())
	return all
}

// TestEveryFieldIsAFlag looks for the constants of the domains' fields.
func TestEveryFieldIsAFlag(t *testing.T) {
	flags, found := allFlags(), 0
	domainFiles(t, func(path string, file *ast.File) {
		if filepath.Base(path) != "fields.go" {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found++
			if want := file.Name.Name + "." + strings.TrimPrefix(spec.Names[0].Name, "Field"); name != want {
				t.Errorf("%s: the field is named %s, not %s", path, name, want)
			}
			if flag, ok := strings.CutPrefix(optionfield.Field(name).String(), "--"); !ok || !flags[flag] {
				t.Errorf("%s: no command has a flag for %s", path, name)
			}
			return true
		})
	})
	if found < 80 {
		t.Errorf("only %d fields are found", found)
	}
}

// anotherProgram are arguments of the programs that are installed, and a command of az.
var anotherProgram = regexp.MustCompile("^--[a-z-]+=|^--allow-private-registries$|az storage blob .*--static-website")

// TestDomainsKnowNoFlag reads every text of the domains.
func TestDomainsKnowNoFlag(t *testing.T) {
	flags, named := allFlags(), regexp.MustCompile(`--([a-z][a-z0-9-]*)`)
	domainFiles(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if !ok || text.Kind != token.STRING || anotherProgram.MatchString(strings.Trim(text.Value, "`\"")) {
				return true
			}
			for _, m := range named.FindAllStringSubmatch(text.Value, -1) {
				if flags[m[1]] {
					t.Errorf("%s: %s names the flag --%s; name the field", path, text.Value, m[1])
				}
			}
			return true
		})
	})
}
