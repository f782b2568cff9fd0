package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

type schema = apiextensionsv1.JSONSchemaProps

const preamble = `# API reference: %s

Generated from the CustomResourceDefinitions by hack/generate.sh. Constraints are what the API server checks: "required" members
must be there whenever their parent is, a default is filled in by the server, and a sentence in italics is a rule with the text that a
refusal contains. Unknown members are dropped, except below those that keep them.
`

// page collects the reference; fields of a kind that equal those of an earlier kind are listed once.
type page struct {
	strings.Builder
	listed map[string]listing
	kind   string
}

type listing struct {
	kind string
	node schema
}

func fields() (string, error) {
	p := &page{listed: map[string]listing{}}
	fmt.Fprintf(p, preamble, "hypershift.openshift.io/v1beta1")
	const group = "/hypershift.openshift.io_"
	for _, name := range []string{
		"crd/hypershift" + group + "hostedclusters", "crd/hypershift" + group + "nodepools", "crd/hypershift" + group + "hostedcontrolplanes",
		"crd/hypershift" + group + "controlplanecomponents", "crd/hypershift" + group + "azureprivatelinkservices",
		"crd/hypershift" + group + "certificatesigningrequestapprovals", "techpreview" + group + "hcpetcdbackups",
	} {
		raw, err := os.ReadFile("config/" + name + ".yaml")
		if err != nil {
			return "", err
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(raw, definition); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		p.definition(definition)
	}
	return p.String(), nil
}

func (p *page) definition(definition *apiextensionsv1.CustomResourceDefinition) {
	names, version := definition.Spec.Names, definition.Spec.Versions[0]
	root := *version.Schema.OpenAPIV3Schema
	p.kind = names.Kind
	fmt.Fprintf(p, "\n## %s\n\n%s\n\nResource `%s`, short names `%s`", names.Kind, oneLine(root.Description), names.Plural, strings.Join(names.ShortNames, "`, `"))
	if len(names.Categories) > 0 {
		fmt.Fprintf(p, ", categories `%s`", strings.Join(names.Categories, "`, `"))
	}
	if version.Subresources != nil && version.Subresources.Scale != nil {
		fmt.Fprintf(p, ", scaled at `%s`", version.Subresources.Scale.SpecReplicasPath)
	}
	p.WriteString(".\n")
	for _, rule := range root.XValidations {
		fmt.Fprintf(p, "\n*%s*\n", rule.Message)
	}
	if columns := version.AdditionalPrinterColumns; len(columns) > 0 {
		p.WriteString("\n| Column | From |\n|---|---|\n")
		for _, column := range columns {
			wide := ""
			if column.Priority > 0 {
				wide = " (wide)"
			}
			fmt.Fprintf(p, "| %s%s | `%s` |\n", column.Name, wide, column.JSONPath)
		}
	}
	for _, part := range []string{"spec", "status"} {
		node := root.Properties[part]
		if len(node.Properties) == 0 {
			continue
		}
		fmt.Fprintf(p, "\n### %s %s\n\n", names.Kind, part)
		for _, rule := range node.XValidations {
			fmt.Fprintf(p, "*%s*\n\n", rule.Message)
		}
		p.WriteString("| Field | Type | Constraints | Meaning |\n|---|---|---|---|\n")
		p.members(part, node)
	}
}

func (p *page) members(path string, node schema) {
	for _, name := range slices.Sorted(maps.Keys(node.Properties)) {
		p.field(path+"."+name, node.Properties[name], slices.Contains(node.Required, name))
	}
}

func (p *page) field(path string, node schema, required bool) {
	constraints := constraints(node, required)
	earlier, known := p.listed[path]
	if node.Description == "" {
		node.Description = earlier.node.Description
	}
	if known && node.Properties != nil && reflect.DeepEqual(earlier.node, node) {
		p.row(path, node, constraints, fmt.Sprintf("%s Members as in %s.", oneLine(node.Description), earlier.kind))
		return
	}
	if !known {
		p.listed[path] = listing{p.kind, node}
	}
	p.row(path, node, constraints, oneLine(node.Description))
	p.members(path, node)
	if node.Items != nil && node.Items.Schema != nil {
		p.members(path+"[]", *node.Items.Schema)
	}
	if node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil {
		p.members(path+"{}", *node.AdditionalProperties.Schema)
	}
}

func (p *page) row(path string, node schema, constraints, meaning string) {
	_, path, _ = strings.Cut(path, ".")
	fmt.Fprintf(p, "| `%s` | %s | %s | %s |\n", path, typeOf(node), cell(constraints), cell(meaning))
}

func typeOf(node schema) string {
	switch {
	case node.XIntOrString:
		return "int or string"
	case node.Items != nil && node.Items.Schema != nil:
		return "[]" + typeOf(*node.Items.Schema)
	case node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(*node.AdditionalProperties.Schema)
	case node.Format != "":
		return node.Format
	}
	return node.Type
}

func constraints(node schema, required bool) string {
	var all []string
	add := func(format string, arguments ...any) { all = append(all, fmt.Sprintf(format, arguments...)) }
	if required {
		add("required")
	}
	if node.Default != nil {
		add("default `%s`", node.Default.Raw)
	}
	if node.Nullable {
		add("may be null")
	}
	if node.XPreserveUnknownFields != nil && *node.XPreserveUnknownFields {
		add("keeps unknown members")
	}
	if node.XListType != nil && *node.XListType != "atomic" {
		add("list type %s", *node.XListType)
	}
	all = append(all, bounds(node)...)
	if node.Items != nil && node.Items.Schema != nil {
		for _, b := range bounds(*node.Items.Schema) {
			add("each %s", b)
		}
	}
	return strings.Join(all, "; ")
}

// bounds are the constraints on the value itself.
func bounds(node schema) []string {
	var all []string
	for _, b := range []struct {
		name  string
		value any
	}{
		{"length ≥", node.MinLength}, {"length ≤", node.MaxLength}, {"items ≥", node.MinItems}, {"items ≤", node.MaxItems},
		{"≥", node.Minimum}, {"≤", node.Maximum}, {"properties ≥", node.MinProperties}, {"properties ≤", node.MaxProperties},
	} {
		if raw, err := json.Marshal(b.value); err == nil && string(raw) != "null" {
			all = append(all, fmt.Sprintf("%s %s", b.name, raw))
		}
	}
	if len(node.Enum) > 0 {
		var values []string
		for _, value := range node.Enum {
			text := string(value.Raw)
			if text != `""` {
				text = strings.Trim(text, `"`)
			}
			values = append(values, "`"+text+"`")
		}
		all = append(all, "one of "+strings.Join(values, " "))
	}
	if node.Pattern != "" {
		all = append(all, "matches `"+node.Pattern+"`")
	}
	for _, rule := range node.XValidations {
		message := rule.Message
		if message == "" {
			message = "`" + rule.Rule + "`"
		}
		all = append(all, "*"+message+"*")
	}
	return all
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// cell escapes what would end a cell of a table.
func cell(text string) string { return strings.ReplaceAll(oneLine(text), "|", `\|`) }
