package template

import (
	"fmt"
	"slices"
	"strings"
)

// bind checks the given parameters against the declared ones.
func (p *Plan) bind(declared, given Doc) error {
	names := sortedKeys(declared)
	var foreign []string
	for _, name := range sortedKeys(given) {
		if declaredName(names, name) == "" {
			foreign = append(foreign, name)
		}
	}
	if len(foreign) > 0 {
		return failf("The template parameters '%s' in the parameters file are not valid; they are not present in the original template and can therefore not be provided at deployment time. The only supported parameters for this template are '%s'. Please see https://aka.ms/arm-pass-parameter-values for usage details",
			strings.Join(foreign, ", "), strings.Join(names, ", "))
	}
	p.scope.parameters = Doc{}
	for _, name := range names {
		rule, ok := declared[name].(Doc)
		if !ok {
			return failf("The template parameter '%s' is not an object", name)
		}
		v, err := p.argument(name, rule, given)
		if err != nil {
			return err
		}
		if err := fitsRule(name, rule, v); err != nil {
			return err
		}
		p.scope.parameters[name] = v
	}
	return nil
}

func declaredName(names []string, name string) string {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return n
		}
	}
	return ""
}

func (p *Plan) argument(name string, rule, given Doc) (any, error) {
	for k, v := range given {
		if !strings.EqualFold(k, name) {
			continue
		}
		holder, ok := v.(Doc)
		if !ok || holder["value"] == nil {
			return nil, failf("The value of deployment parameter '%s' is null. Please specify the value or use the parameter reference. See https://aka.ms/arm-create-parameter-file for details", name)
		}
		return holder["value"], nil
	}
	byDefault, has := rule["defaultValue"]
	if !has {
		return nil, failf("The value for the template parameter '%s' is not provided. Please see https://aka.ms/arm-create-parameter-file for usage details", name)
	}
	v, err := p.scope.evaluate(byDefault)
	if err != nil {
		return nil, failf("The default value of template parameter '%s' is not valid. '%v'", name, err)
	}
	return v, nil
}

// fitsRule checks type, allowed values and limits.
func fitsRule(name string, rule Doc, v any) error {
	want := strings.ToLower(asText(rule["type"]))
	if is := typeOf(v); is != strings.TrimPrefix(want, "secure") {
		return failf("Template parameter JToken type is not valid. Expected '%s'. Actual '%s'. The value is that of template parameter '%s'. Please see https://aka.ms/resource-manager-parameter-files for usage details", rule["type"], is, name)
	}
	if allowed := asList(rule["allowedValues"]); len(allowed) > 0 && !slices.ContainsFunc(allowed, func(a any) bool { return asText(a) == asText(v) }) {
		return failf("The provided value '%s' for the template parameter '%s' is not valid. The value '%s' is not part of the allowed value(s): '%s'.", asText(v), name, asText(v), joined(allowed, ","))
	}
	n, isNumber := asNumber(v)
	if !isNumber {
		n = length(v)
	}
	for _, limit := range []struct {
		rule    string
		number  bool
		tooMany bool
	}{{"minValue", true, false}, {"maxValue", true, true}, {"minLength", false, false}, {"maxLength", false, true}} {
		bound, has := asNumber(rule[limit.rule])
		if has && limit.number == isNumber && (limit.tooMany && n > bound || !limit.tooMany && n < bound) {
			return failf("The provided value for the template parameter '%s' is not valid: %s", name, fmt.Sprintf("its %s is %d", limit.rule, bound))
		}
	}
	return nil
}

func typeOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "bool"
	case float64, int:
		return "int"
	case []any:
		return "array"
	case Doc:
		return "object"
	}
	return "null"
}
