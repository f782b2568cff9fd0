package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func surroundings() Surroundings {
	return Surroundings{Name: "d", Subscription: "sub", Tenant: "ten", ResourceGroup: Doc{"id": "/subscriptions/sub/resourceGroups/rg", "name": "rg", "location": "eastus"},
		Reference: func(id string) (Doc, bool) {
			return Doc{"id": id, "properties": Doc{"port": 443.0}}, !strings.HasSuffix(id, "missing")
		}}
}

func TestExpressions(t *testing.T) {
	s := &scope{Surroundings: surroundings(), parameters: Doc{"Name": "demo", "list": []any{"a", "b"}, "n": 3.0}, variables: Doc{"twice": "[concat(parameters('name'), '-', parameters('name'))]"},
		copies: []copied{{"c", 4}}}
	for text, want := range map[string]string{
		"plain":                          `"plain"`,
		"[[escaped]":                     `"[escaped]"`,
		"[concat('it''s ', 'x')]":        `"it's x"`,
		"[variables('twice')]":           `"demo-demo"`,
		"[parameters('list')[1]]":        `"b"`,
		"[last(parameters('list'))]":     `"b"`,
		"[length(parameters('list'))]":   `2`,
		"[add(parameters('n'), 1)]":      `4`,
		"[mod(7, 4)]":                    `3`,
		"[less(2, 10)]":                  `true`,
		"[if(false(), div(1, 0), 'ok')]": `"ok"`,
		"[and(equals('a', 'a'), not(empty('x')), or(false(), true()))]": `true`,
		"[equals('A', 'a')]":                       `false`,
		"[equals(toLower('A'), toLower('a'))]":     `true`,
		"[equals(1, '1')]":                         `false`,
		"[equals(createArray(1), createArray(1))]": `true`,
		"[contains('Abc', 'b')]":                   `true`,
		"[contains('Abc', 'B')]":                   `false`,
		"[contains(createObject('K', 1), 'k')]":    `true`,
		"[union(createObject('a', createObject('x', 1)), createObject('a', createObject('y', 2), 'b', 3))]": `{"a":{"x":1,"y":2},"b":3}`,
		"[union(createObject('a', createArray(1)), createObject('a', createArray(2)))]":                     `{"a":[2]}`,
		"[startsWith('Abc', 'aB')]":    `true`,
		"[endsWith('Abc', 'BC')]":      `true`,
		"[first('abc')]":               `"a"`,
		"[empty('')]":                  `true`,
		"[sub(3, 5)]":                  `-2`,
		"[mul(3, 5)]":                  `15`,
		"[div(7, 2)]":                  `3`,
		"[greater('b', 'a')]":          `true`,
		"[lessOrEquals(3, 3)]":         `true`,
		"[bool('TRUE')]":               `true`,
		"[bool(0)]":                    `false`,
		"[int('7')]":                   `7`,
		"[trim(' a ')]":                `"a"`,
		"[replace('a-b-c', '-', '+')]": `"a+b+c"`,
		"[string(createArray('a'))]":   `"[\"a\"]"`,
		"[concat(createArray('a'), createArray('b'))]": `["a","b"]`,
		"[array('a')]":                                            `["a"]`,
		"[substring('abc', 3)]":                                   `""`,
		"[toUpper(substring('abcdef', 1, 3))]":                    `"BCD"`,
		"[join(split('a,b', ','), '+')]":                          `"a+b"`,
		"[json('{\"a\":[1]}').a[0]]":                              `1`,
		"[createObject('k', createArray(1, 'x'))]":                `{"k":[1,"x"]}`,
		"[union(createArray('a'), createArray('a', 'A', 'b'))]":   `["a","A","b"]`,
		"[contains(parameters('list'), 'b')]":                     `true`,
		"[contains(parameters('list'), 'B')]":                     `false`,
		"[coalesce(null(), 'x')]":                                 `"x"`,
		"[range(2, 3)]":                                           `[2,3,4]`,
		"[copyIndex(1)]":                                          `5`,
		"[format('{0}:{1}', resourceGroup().name, 7)]":            `"rg:7"`,
		"[resourceId('A.B/c/d', 'x', 'y')]":                       `"/subscriptions/sub/resourceGroups/rg/providers/A.B/c/x/d/y"`,
		"[resourceId('other', 'A.B/c', 'x')]":                     `"/subscriptions/sub/resourceGroups/other/providers/A.B/c/x"`,
		"[extensionResourceId(resourceGroup().id, 'A.B/c', 'x')]": `"/subscriptions/sub/resourceGroups/rg/providers/A.B/c/x"`,
		"[subscriptionResourceId('A.B/c', 'x')]":                  `"/subscriptions/sub/providers/A.B/c/x"`,
		"[tenantResourceId('A.B/c', 'x')]":                        `"/providers/A.B/c/x"`,
		"[reference('/x').port]":                                  `443`,
		"[length(uniqueString('a'))]":                             `13`,
		"[base64('a')]":                                           `"YQ=="`,
	} {
		v, err := s.evaluate(text)
		if got, _ := json.Marshal(v); err != nil || string(got) != want {
			t.Errorf("%s gave %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"[]", "[concat(]", "[concat('a']", "[concat('a) ]", "[nonsense()]", "[substring('a', 2)]", "[div(1, 0)]", "[parameters('none')]", "[parameters('list')[2]]",
		"[resourceGroup().none]", "[resourceId('A.B/c')]", "[reference('/missing')]", "[concat('a') 'b']", "[int('x')]", "[toLower('a', 'b')]"} {
		if v, err := s.evaluate(text); err == nil {
			t.Errorf("%s gave %v", text, v)
		}
	}
}

func TestOrderOfDeployment(t *testing.T) {
	var doc Doc
	if err := json.Unmarshal([]byte(`{"$schema":"s","contentVersion":"1","resources":[
		{"type":"N.S/lb","apiVersion":"1","name":"last","tags":{"v":"[reference('mid').port]"}},
		{"type":"N.S/lb","apiVersion":"1","name":"mid","dependsOn":["[resourceId('N.S/net','first')]"]},
		{"type":"N.S/net","apiVersion":"1","name":"first","resources":[{"type":"sub","apiVersion":"1","name":"child"}]},
		{"type":"N.S/lb","apiVersion":"1","name":"none","condition":false}]}`), &doc); err != nil {
		t.Fatal(err)
	}
	plan, err := Parse(doc, nil, surroundings())
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	if _, err := plan.Deploy(func(r *Resource, body Doc) error {
		order = append(order, strings.TrimPrefix(r.ID, "/subscriptions/sub/resourceGroups/rg/providers/N.S/"))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(order); got != "[net/first net/first/sub/child lb/mid lb/last]" && got != "[net/first lb/mid net/first/sub/child lb/last]" {
		t.Errorf("order %s", got)
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add(`{"$schema":"s","contentVersion":"1","parameters":{"p":{"type":"string","defaultValue":"[concat('a','b')]"}},"resources":[{"type":"A.B/c","apiVersion":"1","name":"[parameters('p')]","copy":{"name":"l","count":2}}]}`)
	f.Add(`{"$schema":"s","contentVersion":"1","resources":[{"type":"A.B/c","apiVersion":"1","name":"[if(equals(1,2)]","dependsOn":["x"]}],"outputs":{"o":{"value":"[range(1,900)]"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var doc Doc
		if json.Unmarshal([]byte(text), &doc) != nil {
			return
		}
		plan, err := Parse(doc, nil, surroundings())
		var wrong *Error
		if err == nil {
			_, err = plan.Deploy(func(*Resource, Doc) error { return nil })
		}
		if err != nil && !errors.As(err, &wrong) {
			t.Fatalf("%q gave %T %v", text, err, err)
		}
	})
}

// TestEndlessTemplates: whoever evaluates one must not follow it until the stack, and so the process, is gone.
func TestEndlessTemplates(t *testing.T) {
	deep := strings.Repeat("concat(", 1200) + "'x'" + strings.Repeat(")", 1200)
	for name, c := range map[string]struct {
		variables Doc
		want      string
	}{
		"itself":    {Doc{"a": "[variables('A')]"}, "Circular reference detected on template variable 'a': a -> a"},
		"in turns":  {Doc{"a": Doc{"x": "[variables('b').x]"}, "b": "[variables('a')]"}, "a -> b -> a"},
		"deep":      {Doc{"a": "[" + deep + "]"}, "nested more than 1000 levels"},
		"long":      {Doc{"a": "[concat('" + strings.Repeat("x", mostCharacters) + "')]"}, "length limit exceeded"},
		"steps":     {Doc{"a": "[json('{}')" + strings.Repeat(".a", 1200) + "]"}, "nested more than 1000 levels"},
		"not a one": {Doc{"a": "[concat(variables('b'), variables('b'))]", "b": "x"}, ""},
	} {
		for field, resource := range map[string]Doc{
			"name": {"type": "A.B/c", "apiVersion": "1", "name": "[variables('a')]"}, "condition": {"type": "A.B/c", "apiVersion": "1", "name": "n", "condition": "[equals(variables('a'), 'xx')]"},
		} {
			_, err := Parse(Doc{"$schema": "s", "contentVersion": "1", "variables": c.variables, "resources": []any{resource}}, nil, surroundings())
			var wrong *Error
			if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &wrong) || !strings.Contains(wrong.Message, c.want)) {
				t.Errorf("%s in %s: %v", name, field, err)
			}
		}
	}
}

func TestSecretOutputs(t *testing.T) {
	plan, err := Parse(Doc{"$schema": "s", "contentVersion": "1", "resources": []any{}, "parameters": Doc{"p": Doc{"type": "secureString"}},
		"outputs": Doc{"a": Doc{"type": "SecureString", "value": "[parameters('p')]"}, "b": Doc{"type": "secureObject", "value": Doc{"k": "hush"}}, "c": Doc{"type": "string", "value": "shown"}}},
		Doc{"p": Doc{"value": "hush"}}, surroundings())
	if err != nil {
		t.Fatal(err)
	}
	out, err := plan.Deploy(nil)
	if got := fmt.Sprint(out); err != nil || got != "map[a:map[type:SecureString] b:map[type:secureObject] c:map[type:string value:shown]]" {
		t.Errorf("outputs %s, %v", got, err)
	}
}
