package change

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// TestConditionsAreKnown: what the API's package names can be waited for, but what is of another kind.
func TestConditionsAreKnown(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../../api/v1beta1/conditions.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	others, found := regexp.MustCompile(`^of (HostedControlPlane, |ControlPlaneComponent|HCPEtcdBackup)`), []int{0, 0}
	lists, at := [][]string{clusterConditions, poolConditions}, 0
	for _, declaration := range file.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST || at == len(lists) {
			continue
		}
		for _, spec := range block.Specs {
			constant := spec.(*ast.ValueSpec)
			value, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found[at]++
			if !slices.Contains(lists[at], value) && !others.MatchString(constant.Comment.Text()) {
				t.Errorf("%s cannot be waited for", value)
			}
		}
		at++
	}
	if found[0] < len(clusterConditions) || found[1] != len(poolConditions) {
		t.Errorf("%v conditions are named, and %d and %d can be waited for", found, len(clusterConditions), len(poolConditions))
	}
}
