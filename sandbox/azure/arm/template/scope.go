package template

import (
	"fmt"
	"slices"
	"strings"
)

// Surroundings of a deployment.
type Surroundings struct {
	Name          string // of the deployment
	Subscription  string
	Tenant        string
	ResourceGroup Doc // as the resource manager shows it; nil for a deployment to the subscription
	// Reference reads the properties of a resource by its id; false when there is none.
	Reference func(id string) (Doc, bool)
}

// scope is what an expression may refer to.
type scope struct {
	Surroundings
	parameters, variables Doc
	pending               map[string]bool   // lower-cased ids that the template will make
	symbols               map[string]string // lower-cased name of a resource -> its id
	copies                []copied
	evaluating            []string // lower-cased variables that are being evaluated, the outermost first
	depth                 int      // of what is being evaluated
}

const (
	mostCharacters = 24576 // of an expression; Azure's limit
	mostNested     = 1000  // values and calls inside each other: a stack that overflows ends the whole process
)

// enter goes one step deeper into what is evaluated; leave comes back.
func (s *scope) enter() error {
	if s.depth++; s.depth > mostNested {
		return invalid("The template is nested more than %d levels deep.", mostNested)
	}
	return nil
}

func (s *scope) leave() { s.depth-- }

// copied is the loop that a resource is in.
type copied struct {
	name  string
	index int
}

// notYet says that a resource has to be made before the expression can be evaluated.
type notYet struct{ id string }

func (e *notYet) Error() string { return "the resource '" + e.id + "' is not deployed yet" }

// invalid is an error in Azure's words.
func invalid(format string, args ...any) error { return fmt.Errorf(format, args...) }

// evaluate replaces every expression inside a value.
func (s *scope) evaluate(v any) (any, error) {
	defer s.leave()
	if err := s.enter(); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case Doc:
		out := Doc{}
		for k, e := range v {
			name, err := s.evaluate(k)
			if err != nil {
				return nil, err
			}
			if out[asText(name)], err = s.evaluate(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = s.evaluate(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case string:
		return s.text(v)
	}
	return v, nil
}

func (s *scope) text(text string) (any, error) {
	if !strings.HasPrefix(text, "[") || !strings.HasSuffix(text, "]") {
		return text, nil
	}
	if strings.HasPrefix(text, "[[") { // an escaped bracket
		return text[1:], nil
	}
	if len(text) > mostCharacters {
		return nil, invalid("The template language expression length limit exceeded. Limit: '%d' and actual: '%d'.", mostCharacters, len(text))
	}
	e, err := parseExpression(text[1 : len(text)-1])
	if err != nil {
		return nil, err
	}
	return e.evaluate(s)
}

// scopeFunctions are those that look around; a function breaks the cycle between them and what evaluates them.
func scopeFunctions() map[string]function {
	return map[string]function{
		"parameters": {1, 1, func(s *scope, a []any) (any, error) { return lookUp("parameter", s.parameters, asText(a[0])) }},
		"variables":  {1, 1, func(s *scope, a []any) (any, error) { return s.variable(asText(a[0])) }},
		"subscription": {0, 0, func(s *scope, _ []any) (any, error) {
			return Doc{"id": "/subscriptions/" + s.Subscription, "subscriptionId": s.Subscription, "tenantId": s.Tenant, "displayName": "Sandbox"}, nil
		}},
		"tenant":     {0, 0, func(s *scope, _ []any) (any, error) { return Doc{"tenantId": s.Tenant}, nil }},
		"deployment": {0, 0, func(s *scope, _ []any) (any, error) { return Doc{"name": s.Name}, nil }},
		"resourcegroup": {0, 0, func(s *scope, _ []any) (any, error) {
			if s.ResourceGroup == nil {
				return nil, invalid("The template function 'resourceGroup' is not expected at this location: the deployment is not to a resource group.")
			}
			return s.ResourceGroup, nil
		}},
		"resourceid":             {2, -1, (*scope).resourceID},
		"subscriptionresourceid": {2, -1, func(s *scope, a []any) (any, error) { return identifier("/subscriptions/"+s.Subscription, a) }},
		"tenantresourceid":       {2, -1, func(_ *scope, a []any) (any, error) { return identifier("", a) }},
		"extensionresourceid":    {3, -1, func(_ *scope, a []any) (any, error) { return identifier(asText(a[0]), a[1:]) }},
		"reference":              {1, 3, (*scope).reference},
		"copyindex":              {0, 2, (*scope).copyIndex},
	}
}

// variable evaluates a variable, which may be made of others but not of itself.
func (s *scope) variable(name string) (any, error) {
	v, err := lookUp("variable", s.variables, name)
	if err != nil {
		return nil, err
	}
	name = strings.ToLower(name)
	if slices.Contains(s.evaluating, name) {
		return nil, invalid("Circular reference detected on template variable '%s': %s. Please see https://aka.ms/arm-syntax-variables for usage details.",
			name, strings.Join(append(slices.Clone(s.evaluating), name), " -> "))
	}
	s.evaluating = append(s.evaluating, name)
	defer func() { s.evaluating = s.evaluating[:len(s.evaluating)-1] }()
	return s.evaluate(v)
}

func lookUp(kind string, in Doc, name string) (any, error) {
	for k, v := range in {
		if strings.EqualFold(k, name) {
			return v, nil
		}
	}
	return nil, invalid("The template %s '%s' is not found. Please see https://aka.ms/arm-syntax-%ss for usage details.", kind, name, kind)
}

// resourceID takes an optional subscription and an optional group in front of the type.
func (s *scope) resourceID(a []any) (any, error) {
	at := slices.IndexFunc(a, func(v any) bool { return strings.Contains(asText(v), "/") })
	subscription, group := s.Subscription, asText(s.ResourceGroup["name"])
	switch at {
	case 0:
	case 1:
		group = asText(a[0])
	case 2:
		subscription, group = asText(a[0]), asText(a[1])
	default:
		return nil, invalid("The template function 'resourceId' needs a resource type such as Microsoft.Network/virtualNetworks.")
	}
	base := "/subscriptions/" + subscription
	if s.ResourceGroup != nil || at > 0 {
		base += "/resourceGroups/" + group
	}
	return identifier(base, a[at:])
}

// identifier weaves a type and its names.
func identifier(base string, a []any) (any, error) {
	typ := strings.Split(asText(a[0]), "/")
	if len(typ) != len(a) || len(typ) < 2 {
		return nil, invalid("Unable to evaluate template language function 'resourceId': the type '%s' requires '%d' resource name argument(s). Please see https://aka.ms/arm-resource-functions/#resourceid for usage details.",
			asText(a[0]), len(typ)-1)
	}
	out := base + "/providers/" + typ[0]
	for i, segment := range typ[1:] {
		out += "/" + segment + "/" + asText(a[i+1])
	}
	return out, nil
}

func (s *scope) reference(a []any) (any, error) {
	id := asText(a[0])
	if known, ok := s.symbols[strings.ToLower(id)]; ok {
		id = known
	}
	if s.pending[strings.ToLower(id)] {
		return nil, &notYet{id}
	}
	found, ok := s.Reference(id)
	if !ok {
		return nil, invalid("The resource '%s' is not defined in the template and does not exist.", id)
	}
	if len(a) == 3 && strings.EqualFold(asText(a[2]), "Full") {
		return found, nil
	}
	properties, _ := found["properties"].(Doc)
	return properties, nil
}

func (s *scope) copyIndex(a []any) (any, error) {
	if len(s.copies) == 0 {
		return nil, invalid("The template function 'copyIndex' is not expected at this location.")
	}
	at, offset := s.copies[len(s.copies)-1], 0
	for _, v := range a {
		if n, ok := asNumber(v); ok {
			offset = n
		}
	}
	return at.index + offset, nil
}
