package arm

import (
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Azure Policy, as far as an assignment denies what is written: conditions on fields, joined by allOf, anyOf and not. Other effects do nothing.

const (
	typePolicyDefinition = "Microsoft.Authorization/policyDefinitions"
	typePolicyAssignment = "Microsoft.Authorization/policyAssignments"
)

var policyKinds = []*Kind{
	{Type: typePolicyDefinition, always201: true, noState: true, deleteBody: true, put: putPolicyDefinition},
	{Type: typePolicyAssignment, always201: true, noState: true, deleteBody: true, put: putPolicyAssignment},
}

func putPolicyDefinition(_ *call, r *Resource, _ Doc) error {
	p := wire.EnsureProps(r.Body)
	if len(wire.Sub(wire.Sub(p, "policyRule"), "if")) == 0 || wire.Text(wire.Sub(wire.Sub(p, "policyRule"), "then"), "effect") == "" {
		return badRequest("InvalidPolicyRule", "The policy definition '%s' needs a policyRule with 'if' and 'then.effect'.", r.Name)
	}
	wire.Default(p, "policyType", "Custom")
	wire.Default(p, "mode", "All")
	return nil
}

func putPolicyAssignment(c *call, r *Resource, _ Doc) error {
	p := wire.EnsureProps(r.Body)
	if id := wire.Text(p, "policyDefinitionId"); c.get(id) == nil {
		return failf(http.StatusNotFound, "PolicyDefinitionNotFound", "The policy definition '%s' could not be found.", id)
	}
	p["scope"] = c.path.Scope
	wire.Default(p, "enforcementMode", "Default")
	return nil
}

// policyAllows evaluates the policies that are assigned above a resource.
func (c *call) policyAllows(r *Resource) error {
	if strings.HasPrefix(r.Type, "Microsoft.Authorization/") {
		return nil
	}
	for _, a := range c.policyAssignments() {
		p := wire.Props(a.Body)
		if scope := key(wire.Text(p, "scope")); key(r.ID) != scope && !strings.HasPrefix(key(r.ID), scope+"/") || wire.Text(p, "enforcementMode") == "DoNotEnforce" {
			continue
		}
		definition := c.get(wire.Text(p, "policyDefinitionId"))
		if definition == nil {
			continue
		}
		e := evaluation{resource: r.Body, definition: wire.Props(definition.Body), assignment: p}
		rule := wire.Sub(e.definition, "policyRule")
		if effect, _ := e.value(wire.Sub(rule, "then")["effect"]).(string); strings.EqualFold(effect, "deny") && e.holds(wire.Sub(rule, "if")) {
			return e.denied(r, a, definition)
		}
	}
	return nil
}

// policyAssignments asks every document, for few or none is one: sorting them all for every write would be felt.
func (c *call) policyAssignments() []*Resource {
	var out []*Resource
	c.tx.Each(store.ARM, func(_ string, d Doc) bool {
		if d["type"] == typePolicyAssignment {
			out = append(out, resourceOf(d))
		}
		return true
	})
	return out
}

// evaluation of one policy on one resource.
type evaluation struct {
	resource, definition, assignment Doc
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

func (e *evaluation) holds(condition Doc) bool {
	if inner, ok := condition["not"].(Doc); ok {
		return !e.holds(inner)
	}
	if list, ok := condition["allOf"]; ok {
		for _, c := range wire.Docs(Doc{"l": list}, "l") {
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
		e.seen = append(e.seen, Doc{"result": map[bool]string{true: "True", false: "False"}[result], "expressionKind": "Field", "expression": name, "path": name,
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

func walk(d Doc, dotted string) any {
	var at any = d
	for _, step := range strings.Split(dotted, ".") {
		doc, ok := at.(Doc)
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

var comparisons = map[string]func(found, target any) bool{
	"equals":    same,
	"notequals": func(f, t any) bool { return !same(f, t) },
	"in":        among,
	"notin":     func(f, t any) bool { return !among(f, t) },
	"like":      like,
	"notlike":   func(f, t any) bool { return !like(f, t) },
	"exists":    func(f, t any) bool { return (f != nil) == same(t, "true") },
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return map[bool]string{true: "true", false: "false"}[v]
	}
	return ""
}

func same(a, b any) bool {
	if text(a) != "" || text(b) != "" {
		return strings.EqualFold(text(a), text(b))
	}
	return a == nil && b == nil
}

func among(found, target any) bool {
	list, _ := target.([]any)
	for _, t := range list {
		if same(found, t) {
			return true
		}
	}
	return false
}

func like(found, target any) bool {
	ok, err := path.Match(strings.ToLower(text(target)), strings.ToLower(text(found)))
	return err == nil && ok
}

func (e *evaluation) denied(r, assignment, definition *Resource) error {
	name := func(d *Resource) string {
		if n := wire.Text(wire.Props(d.Body), "displayName"); n != "" {
			return n
		}
		return d.Name
	}
	refusal := failf(http.StatusForbidden, "RequestDisallowedByPolicy", `Resource '%s' was disallowed by policy. Policy identifiers: '[{"policyAssignment":{"name":"%s","id":"%s"},"policyDefinition":{"name":"%s","id":"%s"}}]'.`,
		r.Name, name(assignment), assignment.ID, name(definition), definition.ID)
	refusal.Extra = Doc{"target": r.Name, "additionalInfo": []any{Doc{"type": "PolicyViolation", "info": Doc{
		"evaluationDetails":    Doc{"evaluatedExpressions": e.seen},
		"policyDefinitionId":   definition.ID,
		"policyDefinitionName": definition.Name, "policyDefinitionDisplayName": name(definition), "policyDefinitionEffect": "deny",
		"policyAssignmentId": assignment.ID, "policyAssignmentName": assignment.Name, "policyAssignmentDisplayName": name(assignment),
		"policyAssignmentScope": wire.Props(assignment.Body)["scope"],
	}}}}
	return refusal
}
