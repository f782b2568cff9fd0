package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

const conditionsPreamble = `# Conditions and reasons

Generated from the constants of api/v1beta1 by hack/generate.sh. A condition that nobody has reported yet is Unknown with reason
StatusUnknown.
`

// conditions renders every block of constants of conditions.go as a table under the block's comment.
func conditions() (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "api/v1beta1/conditions.go", nil, parser.ParseComments)
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
			fmt.Fprintf(&page, "| `%s` | %s | `%s` |\n", value, cell(meaning), name)
		}
	}
	return page.String(), nil
}
