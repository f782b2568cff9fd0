// Package policy is Azure Policy, as far as an assignment denies what is written: conditions on fields, joined by allOf, anyOf and not. Other
// effects do nothing.
package policy

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const (
	typePolicyDefinition = "Microsoft.Authorization/policyDefinitions"
	typePolicyAssignment = "Microsoft.Authorization/policyAssignments"
)

// Modes of a definition. Other ones are about what is inside a resource, such as the objects of a Kubernetes cluster.
const (
	modeAll     = "All"
	modeIndexed = "Indexed" // only what has a place and tags; what az sends, and so what an absent mode means here
)

// Spec is what the gateway serves of policies.
var Spec = provider.Spec{Namespace: "Microsoft.Authorization", Kinds: []*provider.Kind{
	{Type: typePolicyDefinition, Always201: true, NoState: true, NoLocation: true, DeleteBody: true, Put: putPolicyDefinition},
	{Type: typePolicyAssignment, Always201: true, NoState: true, NoLocation: true, DeleteBody: true, Put: putPolicyAssignment},
}}

func putPolicyDefinition(_ *provider.Call, r *provider.Resource, _ wire.Doc) error {
	p := wire.EnsureProps(r.Body)
	if len(wire.Sub(wire.Sub(p, "policyRule"), "if")) == 0 || wire.Text(wire.Sub(wire.Sub(p, "policyRule"), "then"), "effect") == "" {
		return provider.BadRequest("InvalidPolicyRule", "The policy definition '%s' needs a policyRule with 'if' and 'then.effect'.", r.Name)
	}
	if err := checkCondition(wire.Sub(p, "policyRule")["if"]); err != nil {
		return provider.BadRequest("InvalidPolicyRule", "Failed to parse policy rule: '%v'.", err)
	}
	wire.Default(p, "policyType", "Custom")
	wire.Default(p, "mode", modeIndexed)
	return nil
}

func putPolicyAssignment(c *provider.Call, r *provider.Resource, _ wire.Doc) error {
	p := wire.EnsureProps(r.Body)
	if id := wire.Text(p, "policyDefinitionId"); c.Get(id) == nil {
		return provider.Failf(http.StatusNotFound, "PolicyDefinitionNotFound", "The policy definition '%s' could not be found.", id)
	}
	p["scope"] = c.Path.Scope
	wire.Default(p, "enforcementMode", "Default")
	return nil
}

// Allows evaluates the policies that are assigned above a resource.
func Allows(c *provider.Call, r *provider.Resource) error {
	if strings.HasPrefix(r.Type, "Microsoft.Authorization/") {
		return nil
	}
	for _, a := range policyAssignments(c) {
		if definition, e := evaluate(c, a, r); e != nil {
			return e.denied(r, a, definition)
		}
	}
	return nil
}

// evaluate tells whether an assignment denies a resource: the evaluation is nil where it does not.
func evaluate(c *provider.Call, a, r *provider.Resource) (*provider.Resource, *evaluation) {
	p := wire.Props(a.Body)
	if !assignedTo(p, r) {
		return nil, nil
	}
	definition := c.Get(wire.Text(p, "policyDefinitionId"))
	if definition == nil || !looksAt(wire.Text(wire.Props(definition.Body), "mode"), r) {
		return nil, nil
	}
	e := &evaluation{resource: r.Body, definition: wire.Props(definition.Body), assignment: p}
	rule := wire.Sub(e.definition, "policyRule")
	if effect, _ := e.value(wire.Sub(rule, "then")["effect"]).(string); !strings.EqualFold(effect, "deny") || !e.holds(wire.Sub(rule, "if")) {
		return nil, nil
	}
	return definition, e
}

// assignedTo tells whether an assignment, by its properties, is enforced on a resource.
func assignedTo(assignment wire.Doc, r *provider.Resource) bool {
	covers := func(scope string) bool {
		return provider.Key(r.ID) == provider.Key(scope) || strings.HasPrefix(provider.Key(r.ID), provider.Key(scope)+"/")
	}
	return covers(wire.Text(assignment, "scope")) && !slices.ContainsFunc(wire.Texts(assignment, "notScopes"), covers) &&
		!strings.EqualFold(wire.Text(assignment, "enforcementMode"), "DoNotEnforce")
}

// looksAt tells whether definitions of a mode are evaluated on a resource.
func looksAt(mode string, r *provider.Resource) bool {
	if strings.EqualFold(mode, modeIndexed) {
		return !strings.EqualFold(r.Type, provider.TypeResourceGroup) && wire.Text(r.Body, "location") != ""
	}
	return strings.EqualFold(mode, modeAll)
}

// policyAssignments asks every document, for few or none is one: sorting them all for every write would be felt.
func policyAssignments(c *provider.Call) []*provider.Resource {
	var out []*provider.Resource
	c.Tx.Each(store.ARM, func(_ string, d wire.Doc) bool {
		if d["type"] == typePolicyAssignment {
			out = append(out, provider.ResourceOf(d))
		}
		return true
	})
	return out
}

// evaluation of one policy on one resource.
type evaluation struct {
	resource, definition, assignment wire.Doc
	seen                             []any // the conditions that were looked at
}

var parameterRe = regexp.MustCompile(`^\[parameters\('([^']+)'\)\]$`)

// value resolves a parameter.
func (e *evaluation) value(v any) any {
	text, _ := v.(string)
	m := parameterRe.FindStringSubmatch(text)
	if m == nil {
		return v
	}
	if given, ok := wire.Sub(wire.Sub(e.assignment, "parameters"), m[1])["value"]; ok {
		return given
	}
	return wire.Sub(wire.Sub(e.definition, "parameters"), m[1])["defaultValue"]
}

func (e *evaluation) holds(condition wire.Doc) bool {
	if inner, ok := condition["not"].(wire.Doc); ok {
		return !e.holds(inner)
	}
	if list, ok := condition["allOf"]; ok {
		for _, c := range wire.Docs(wire.Doc{"l": list}, "l") {
			if !e.holds(c) {
				return false
			}
		}
		return true
	}
	for _, c := range wire.Docs(condition, "anyOf") {
		if e.holds(c) {
			return true
		}
	}
	name := wire.Text(condition, "field")
	if name == "" {
		return false
	}
	found := e.field(name)
	for operator, target := range condition {
		compare, ok := comparisons[strings.ToLower(operator)]
		if !ok {
			continue
		}
		target = e.value(target)
		result := compare(found, target)
		e.seen = append(e.seen, wire.Doc{"result": map[bool]string{true: "True", false: "False"}[result], "expressionKind": "Field", "expression": name, "path": name,
			"expressionValue": found, "targetValue": target, "operator": strings.ToUpper(operator[:1]) + operator[1:]})
		return result
	}
	return false
}

// field reads a property by its name or its alias, such as Microsoft.Network/publicIPAddresses/sku.name.
func (e *evaluation) field(name string) any {
	if tag, ok := strings.CutPrefix(name, "tags["); ok {
		return wire.Sub(e.resource, "tags")[strings.Trim(tag, `'"]`)]
	}
	typ := wire.Text(e.resource, "type")
	alias, isAlias := strings.CutPrefix(strings.ToLower(name), strings.ToLower(typ)+"/")
	if !isAlias {
		return walk(e.resource, name)
	}
	if v := walk(wire.Props(e.resource), alias); v != nil {
		return v
	}
	return walk(e.resource, alias)
}

func walk(d wire.Doc, dotted string) any {
	var at any = d
	for _, step := range strings.Split(dotted, ".") {
		doc, ok := at.(wire.Doc)
		if !ok {
			return nil
		}
		at = nil
		for k, v := range doc {
			if strings.EqualFold(k, step) {
				at = v
			}
		}
	}
	return at
}

func (e *evaluation) denied(r, assignment, definition *provider.Resource) error {
	name := func(d *provider.Resource) string {
		if n := wire.Text(wire.Props(d.Body), "displayName"); n != "" {
			return n
		}
		return d.Name
	}
	refusal := provider.Failf(http.StatusForbidden, "RequestDisallowedByPolicy", `Resource '%s' was disallowed by policy. Policy identifiers: '[{"policyAssignment":{"name":"%s","id":"%s"},"policyDefinition":{"name":"%s","id":"%s"}}]'.`,
		r.Name, name(assignment), assignment.ID, name(definition), definition.ID)
	refusal.Extra = wire.Doc{"target": r.Name, "additionalInfo": []any{wire.Doc{"type": "PolicyViolation", "info": wire.Doc{
		"evaluationDetails":    wire.Doc{"evaluatedExpressions": e.seen},
		"policyDefinitionId":   definition.ID,
		"policyDefinitionName": definition.Name, "policyDefinitionDisplayName": name(definition), "policyDefinitionEffect": "deny",
		"policyAssignmentId": assignment.ID, "policyAssignmentName": assignment.Name, "policyAssignmentDisplayName": name(assignment),
		"policyAssignmentScope": wire.Props(assignment.Body)["scope"],
	}}}}
	return refusal
}
