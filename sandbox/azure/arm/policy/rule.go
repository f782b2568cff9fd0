package policy

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// comparisons are the operators of a condition, by their lower-cased names.
var comparisons = map[string]func(found, target any) bool{
	"equals":                same,
	"notequals":             negated(same),
	"in":                    among,
	"notin":                 negated(among),
	"like":                  like,
	"notlike":               negated(like),
	"match":                 patterned(""),
	"notmatch":              negated(patterned("")),
	"matchinsensitively":    patterned("i"),
	"contains":              contains,
	"notcontains":           negated(contains),
	"exists":                func(f, t any) bool { return (f != nil) == same(t, "true") },
	"less":                  ordered(func(c int) bool { return c < 0 }),
	"lessorequals":          ordered(func(c int) bool { return c <= 0 }),
	"greater":               ordered(func(c int) bool { return c > 0 }),
	"greaterorequals":       ordered(func(c int) bool { return c >= 0 }),
	"notmatchinsensitively": negated(patterned("i")),
}

func negated(f func(found, target any) bool) func(found, target any) bool {
	return func(found, target any) bool { return !f(found, target) }
}

// checkCondition refuses what this evaluation would not understand: a policy that silently denies nothing is worse than none.
func checkCondition(v any) error {
	condition, ok := v.(wire.Doc)
	if !ok {
		return fmt.Errorf("a condition must be an object, found '%v'", v)
	}
	for name, inner := range condition {
		switch name {
		case "not":
			return checkOnly(condition, name, []any{inner})
		case "allOf", "anyOf":
			list, ok := inner.([]any)
			if !ok || len(list) == 0 {
				return fmt.Errorf("'%s' needs a list of conditions", name)
			}
			return checkOnly(condition, name, list)
		}
	}
	return checkComparison(condition)
}

// checkOnly checks the conditions inside another, which has no other member.
func checkOnly(condition wire.Doc, name string, inner []any) error {
	if len(condition) > 1 {
		return fmt.Errorf("'%s' stands alone in its condition", name)
	}
	for _, c := range inner {
		if err := checkCondition(c); err != nil {
			return err
		}
	}
	return nil
}

func checkComparison(condition wire.Doc) error {
	field := wire.Text(condition, "field")
	if field == "" {
		return fmt.Errorf("the embedded Azure evaluates conditions on a 'field', joined by 'allOf', 'anyOf' and 'not'; found one of '%s'", strings.Join(keysOf(condition), "', '"))
	}
	if strings.HasPrefix(field, "[") || strings.Contains(field, "[*]") {
		return fmt.Errorf("the embedded Azure does not evaluate the field '%s': name one property", field)
	}
	if len(condition) != 2 {
		return fmt.Errorf("the condition on the field '%s' needs exactly one operator, found '%s'", field, strings.Join(keysOf(condition), "', '"))
	}
	for operator, target := range condition {
		if operator == "field" {
			continue
		}
		if comparisons[strings.ToLower(operator)] == nil {
			return fmt.Errorf("the embedded Azure does not know the operator '%s' of the condition on the field '%s'", operator, field)
		}
		if text, _ := target.(string); strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "[[") && !parameterRe.MatchString(text) {
			return fmt.Errorf("the embedded Azure evaluates no expression but [parameters('name')] in a policy, found '%s'", text)
		}
	}
	return nil
}

func keysOf(d wire.Doc) []string {
	var out []string
	for k := range d {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// scalar is the text of a value that is no list and no object.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case int:
		return strconv.Itoa(v), true
	}
	return "", false
}

func same(a, b any) bool {
	x, isX := scalar(a)
	y, isY := scalar(b)
	return isX && isY && strings.EqualFold(x, y) || a == nil && b == nil
}

func among(found, target any) bool {
	list, _ := target.([]any)
	return slices.ContainsFunc(list, func(t any) bool { return same(found, t) })
}

// contains looks for a text inside a text, or for an element of a list.
func contains(found, target any) bool {
	if list, ok := found.([]any); ok {
		return among(target, list)
	}
	text, ok := scalar(found)
	part, is := scalar(target)
	return ok && is && strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// ordered compares numbers with numbers, and texts (dates among them) with texts.
func ordered(holds func(int) bool) func(found, target any) bool {
	return func(found, target any) bool {
		x, isX := number(found)
		y, isY := number(target)
		if isX && isY {
			return holds(cmp.Compare(x, y))
		}
		a, isA := found.(string)
		b, isB := target.(string)
		return isA && isB && holds(cmp.Compare(strings.ToLower(a), strings.ToLower(b)))
	}
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	}
	return 0, false
}

// like has * stand for any text, slashes too.
func like(found, target any) bool { return fits(found, target, "i", likeWords) }

// patterned has # stand for a digit, ? for a letter and . for any character.
func patterned(flags string) func(found, target any) bool {
	return func(found, target any) bool { return fits(found, target, flags, matchWords) }
}

var (
	likeWords  = strings.NewReplacer(`\*`, `.*`)
	matchWords = strings.NewReplacer(`#`, `[0-9]`, `\?`, `[A-Za-z]`, `\.`, `.`)
)

func fits(found, target any, flags string, words *strings.Replacer) bool {
	text, ok := scalar(found)
	pattern, is := scalar(target)
	if !ok || !is {
		return false
	}
	re, err := regexp.Compile("(?s" + flags + ")^(?:" + words.Replace(regexp.QuoteMeta(pattern)) + ")$")
	return err == nil && re.MatchString(text)
}
