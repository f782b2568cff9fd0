package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const conditionsPreamble = `# Conditions and reasons

Generated from the constants of api/v1beta1 by hack/generate.sh. A condition that nobody has reported yet is Unknown with reason
StatusUnknown. What is marked so is a name of the contract that no program here sets.
`

var apiConstant = regexp.MustCompile(`\bhyperv1\.([A-Z]\w*)`)

// usedConstants are the names of the API's package that programs use, tests left out.
func usedConstants(folders ...string) (map[string]bool, error) {
	used := map[string]bool{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range apiConstant.FindAllSubmatch(text, -1) {
				used[string(match[1])] = true
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look for what programs set: %w", err)
		}
	}
	return used, nil
}

// conditions renders every block of constants of conditions.go as a table under the block's comment.
func conditions() (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "api/v1beta1/conditions.go", nil, parser.ParseComments)
	if err != nil {
		return "", err
	}
	used, err := usedConstants("internal", "cmd")
	if err != nil {
		return "", err
	}
	var page strings.Builder
	page.WriteString(conditionsPreamble)
	for _, declaration := range file.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		fmt.Fprintf(&page, "\n## %s\n\n| Value | Meaning | Constant |\n|---|---|---|\n", strings.TrimSuffix(oneLine(block.Doc.Text()), "."))
		for _, spec := range block.Specs {
			constant := spec.(*ast.ValueSpec)
			name := constant.Names[0].Name
			literal, ok := constant.Values[0].(*ast.BasicLit)
			if !ok {
				return "", fmt.Errorf("%s is not a literal", name)
			}
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				return "", fmt.Errorf("%s: %w", name, err)
			}
			meaning := oneLine(constant.Doc.Text() + " " + constant.Comment.Text())
			if meaning == "" {
				return "", fmt.Errorf("%s has no comment: say what it means", name)
			}
			if !used[name] {
				meaning += "; **not set here**"
			}
			fmt.Fprintf(&page, "| `%s` | %s | `%s` |\n", value, cell(meaning), name)
		}
	}
	return page.String(), nil
}
