// Package template evaluates the templates of the resource manager: parameters, variables, conditions, loops of resources and the functions
// that templates of this field use. What it does not know is refused by name.
package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Doc is a JSON object.
type Doc = map[string]any

// mostCopies is Azure's limit of a loop.
const mostCopies = 800

// Error is a template that cannot be deployed. Its code is InvalidTemplate.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

func failf(format string, args ...any) error {
	return &Error{"Deployment template validation failed: '" + fmt.Sprintf(format, args...) + "'."}
}

// Resource is one that a template asks for.
type Resource struct {
	ID, Type   string
	APIVersion string
	DependsOn  []string // ids
	source     Doc
	loop       []copied
}

// Plan is a validated template.
type Plan struct {
	Resources []*Resource
	scope     *scope
	outputs   Doc
}

// Parse validates a template and its parameters, and names the resources.
func Parse(doc, parameters Doc, s Surroundings) (*Plan, error) {
	for _, required := range []string{"$schema", "contentVersion", "resources"} {
		if doc[required] == nil {
			return nil, &Error{fmt.Sprintf("Deployment template parse failed: 'Required property '%s' not found in JSON.'.", required)}
		}
	}
	list, ok := doc["resources"].([]any)
	if !ok {
		return nil, &Error{"Deployment template parse failed: 'The property 'resources' must be an array: symbolic names are not supported by the embedded Azure.'."}
	}
	p := &Plan{scope: &scope{Surroundings: s, pending: map[string]bool{}, symbols: map[string]string{}}}
	p.outputs, _ = doc["outputs"].(Doc)
	p.scope.variables, _ = doc["variables"].(Doc)
	if _, loops := p.scope.variables["copy"]; loops {
		return nil, failf("The embedded Azure does not support the property 'copy' of variables")
	}
	declared, _ := doc["parameters"].(Doc)
	if err := p.bind(declared, parameters); err != nil {
		return nil, err
	}
	if err := p.collect(list, nil); err != nil {
		return nil, err
	}
	for _, r := range p.Resources {
		if err := p.resolve(r); err != nil {
			return nil, err
		}
	}
	return p, p.acyclic()
}

// collect names the resources of a list, and of those inside them.
func (p *Plan) collect(list []any, parent *Resource) error {
	for _, e := range list {
		source, ok := e.(Doc)
		if !ok {
			return &Error{"Deployment template parse failed: 'A resource must be an object.'."}
		}
		count, loop := 1, Doc(nil)
		if loop, ok = source["copy"].(Doc); ok {
			n, err := p.scope.evaluate(loop["count"])
			if err != nil {
				return failf("%v", err)
			}
			if count, ok = asNumber(n); !ok || count < 0 || count > mostCopies {
				return failf("The copy count of '%v' is not valid: it must be a number from 0 to %d", source["name"], mostCopies)
			}
		}
		for i := range count {
			r := &Resource{source: source}
			if loop != nil {
				r.loop = []copied{{asText(loop["name"]), i}}
			}
			if err := p.name(r, parent); err != nil {
				return err
			}
		}
	}
	return nil
}

// wanted evaluates the condition of a resource.
func (p *Plan) wanted(r *Resource, name string) (bool, error) {
	condition, has := r.source["condition"]
	if !has {
		return true, nil
	}
	v, err := p.in(r).evaluate(condition)
	if err != nil {
		return false, failf("The template resource '%s' is not valid: Unable to process template language expressions. '%v'", name, err)
	}
	return v == true, nil
}

// below completes the type and the name of a resource that is written inside its parent.
func below(parent *Resource, typ, name string) (fullType, fullName string) {
	if !strings.Contains(typ, "/") {
		typ = parent.Type + "/" + typ
	}
	if !strings.Contains(name, "/") {
		name = namesOf(parent.ID, parent.Type) + "/" + name
	}
	return typ, name
}

// base is the scope of a resource as its source has it; a nested deployment may name a resource group.
func (p *Plan) base(get func(field string) (string, error)) (string, error) {
	scope, err := get("scope")
	if err != nil {
		return "", err
	}
	group, err := get("resourceGroup")
	if err != nil || group == "" {
		return scope, err
	}
	return "/subscriptions/" + p.scope.Subscription + "/resourceGroups/" + group, nil
}

// name works out the id of a resource and keeps it, unless its condition says no.
func (p *Plan) name(r, parent *Resource) error {
	get := func(field string) (string, error) {
		v, err := p.in(r).evaluate(r.source[field])
		if err != nil {
			return "", failf("The template resource '%v' is not valid: Unable to process template language expressions. '%v'", r.source["name"], err)
		}
		text, _ := v.(string)
		return text, nil
	}
	typ, err := get("type")
	if err != nil {
		return err
	}
	name, err := get("name")
	if err != nil {
		return err
	}
	r.APIVersion, err = get("apiVersion")
	if err != nil {
		return err
	}
	if typ == "" || name == "" || r.APIVersion == "" {
		return failf("The template resource '%s' of type '%s' is not valid. The properties 'type', 'name' and 'apiVersion' are required. Please see https://aka.ms/arm-syntax-resources for usage details", name, typ)
	}
	if parent != nil {
		typ, name = below(parent, typ, name)
		r.DependsOn = append(r.DependsOn, parent.ID)
	}
	if strings.Count(typ, "/") != strings.Count(name, "/")+1 {
		return failf("The template resource '%s' for type '%s' has incorrect segment lengths. A nested resource type must have identical number of segments as its resource name. A root resource type must have segment length one greater than its resource name. Please see https://aka.ms/arm-syntax-resources for usage details", name, typ)
	}
	base, err := p.base(get)
	if err != nil {
		return err
	}
	r.Type, r.ID = typ, p.place(base, typ, name)
	if wanted, err := p.wanted(r, name); err != nil || !wanted {
		return err
	}
	key := strings.ToLower(r.ID)
	if p.scope.pending[key] {
		return failf("The resource '%s' is defined multiple times in a template. Please see https://aka.ms/arm-syntax-resources for usage details", r.ID)
	}
	p.scope.pending[key] = true
	p.scope.symbols[strings.ToLower(name)] = r.ID
	p.scope.symbols[strings.ToLower(typ+"/"+name)] = r.ID
	p.Resources = append(p.Resources, r)
	children, _ := r.source["resources"].([]any)
	return p.collect(children, r)
}

// place is the id of a resource below the scope it names, or the deployment's.
func (p *Plan) place(base, typ, name string) string {
	switch {
	case base != "" && !strings.HasPrefix(base, "/"): // another resource of the template
		if id, ok := p.scope.symbols[strings.ToLower(base)]; ok {
			base = id
		}
	case base == "":
		base = "/subscriptions/" + p.scope.Subscription
		if p.scope.ResourceGroup != nil {
			base = asText(p.scope.ResourceGroup["id"])
		}
	}
	if strings.EqualFold(typ, "Microsoft.Resources/resourceGroups") {
		return base + "/resourceGroups/" + name
	}
	segments := []any{typ}
	for _, n := range strings.Split(name, "/") {
		segments = append(segments, n)
	}
	id, _ := identifier(strings.TrimRight(base, "/"), segments) // the number of segments was compared
	return asText(id)
}

// namesOf are the names in an id, slashes between.
func namesOf(id, typ string) string {
	segments := strings.Split(id, "/")
	n := strings.Count(typ, "/")
	var out []string
	for i := len(segments) - 2*n + 1; i < len(segments); i += 2 {
		out = append(out, segments[i])
	}
	return strings.Join(out, "/")
}

// resolve turns the dependencies of a resource into ids. One that a condition left out is none.
func (p *Plan) resolve(r *Resource) error {
	list, _ := r.source["dependsOn"].([]any)
	for _, e := range list {
		v, err := p.in(r).evaluate(e)
		if err != nil {
			return failf("The template resource '%s' is not valid: Unable to process template language expressions. '%v'", lastOf(r.ID), err)
		}
		name := asText(v)
		if strings.HasPrefix(name, "/") {
			if p.scope.pending[strings.ToLower(name)] {
				r.DependsOn = append(r.DependsOn, name)
			}
			continue
		}
		id, ok := p.scope.symbols[strings.ToLower(name)]
		loops := p.loops(name)
		if !ok && len(loops) == 0 {
			return failf("The resource '%s' is not defined in the template. Please see https://aka.ms/arm-syntax for usage details", name)
		}
		if ok {
			loops = append(loops, id)
		}
		r.DependsOn = append(r.DependsOn, loops...)
	}
	return nil
}

// loops are the resources of the loop with a name.
func (p *Plan) loops(name string) []string {
	var out []string
	for _, r := range p.Resources {
		if slices.ContainsFunc(r.loop, func(c copied) bool { return strings.EqualFold(c.name, name) }) {
			out = append(out, r.ID)
		}
	}
	return out
}

func lastOf(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// acyclic refuses resources that wait for each other.
func (p *Plan) acyclic() error {
	done := map[string]bool{}
	for range p.Resources {
		for _, r := range p.Resources {
			ready := !slices.ContainsFunc(r.DependsOn, func(id string) bool { return !done[strings.ToLower(id)] })
			done[strings.ToLower(r.ID)] = done[strings.ToLower(r.ID)] || ready
		}
	}
	for _, r := range p.Resources {
		if !done[strings.ToLower(r.ID)] {
			return failf("Circular dependency detected on resource: '%s'. Please see https://aka.ms/arm-syntax-resources for usage details", r.ID)
		}
	}
	return nil
}

func (p *Plan) in(r *Resource) *scope {
	s := *p.scope
	s.copies = r.loop
	return &s
}

// envelope are the members of a resource in a template that are the template's business.
var envelope = []string{"type", "name", "apiVersion", "dependsOn", "condition", "copy", "scope", "comments", "resources", "metadata", "resourceGroup", "subscriptionId"}

// Deploy calls make for each resource in an order that respects all dependencies, those of references too, and returns the outputs.
func (p *Plan) Deploy(make func(r *Resource, body Doc) error) (Doc, error) {
	left := slices.Clone(p.Resources)
	for len(left) > 0 {
		before := len(left)
		var waiting error
		for _, r := range slices.Clone(left) {
			if slices.ContainsFunc(r.DependsOn, func(id string) bool { return p.scope.pending[strings.ToLower(id)] }) {
				continue
			}
			body, err := p.body(r)
			var early *notYet
			if errors.As(err, &early) {
				waiting = err
				continue
			}
			if err != nil {
				return nil, failf("The template resource '%s' is not valid: Unable to process template language expressions. '%v'", lastOf(r.ID), err)
			}
			if err := make(r, body); err != nil {
				return nil, err
			}
			delete(p.scope.pending, strings.ToLower(r.ID))
			left = slices.DeleteFunc(left, func(o *Resource) bool { return o == r })
		}
		if len(left) == before {
			return nil, failf("Circular dependency detected: %v", waiting)
		}
	}
	return p.output()
}

func (p *Plan) body(r *Resource) (Doc, error) {
	source := Doc{}
	for k, v := range r.source {
		if !slices.Contains(envelope, k) {
			source[k] = v
		}
	}
	// The expressions inside a nested deployment are its own.
	if strings.EqualFold(r.Type, "Microsoft.Resources/deployments") {
		if properties, ok := source["properties"].(Doc); ok {
			return p.nested(r, source, properties)
		}
	}
	v, err := p.in(r).evaluate(source)
	if err != nil {
		return nil, err
	}
	return v.(Doc), nil
}

func (p *Plan) nested(r *Resource, source, properties Doc) (Doc, error) {
	inner := properties["template"]
	rest := Doc{}
	for k, v := range properties {
		if k != "template" {
			rest[k] = v
		}
	}
	source["properties"] = rest
	v, err := p.in(r).evaluate(source)
	if err != nil {
		return nil, err
	}
	out := v.(Doc)
	if inner != nil {
		out["properties"].(Doc)["template"] = inner
	}
	return out, nil
}

func (p *Plan) output() (Doc, error) {
	out := Doc{}
	for name, e := range p.outputs {
		o, _ := e.(Doc)
		v, err := p.scope.evaluate(o["value"])
		if err != nil {
			return nil, failf("The template output '%s' is not valid: %v", name, err)
		}
		out[name] = Doc{"type": o["type"], "value": v}
		if strings.HasPrefix(strings.ToLower(asText(o["type"])), "secure") { // nobody reads a secret from a deployment
			out[name] = Doc{"type": o["type"]}
		}
	}
	return out, nil
}
