package template

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// function of the template language; most -1 is any number of arguments.
type function struct {
	least, most int
	call        func(*scope, []any) (any, error)
}

// pure is a function that cannot fail and needs nothing but its arguments.
func pure(least, most int, call func([]any) any) function {
	return function{least, most, func(_ *scope, a []any) (any, error) { return call(a), nil }}
}

var functions map[string]function

func init() {
	functions = map[string]function{}
	for _, table := range []map[string]function{textFunctions, logicFunctions, listFunctions, scopeFunctions()} {
		maps.Copy(functions, table)
	}
}

var textFunctions = map[string]function{
	"concat": {1, -1, func(_ *scope, a []any) (any, error) {
		if _, lists := a[0].([]any); lists {
			var out []any
			for _, l := range a {
				out = append(out, asList(l)...)
			}
			return out, nil
		}
		return joined(a, ""), nil
	}},
	"format":  pure(1, -1, func(a []any) any { return formatted(asText(a[0]), a[1:]) }),
	"tolower": pure(1, 1, func(a []any) any { return strings.ToLower(asText(a[0])) }),
	"toupper": pure(1, 1, func(a []any) any { return strings.ToUpper(asText(a[0])) }),
	"trim":    pure(1, 1, func(a []any) any { return strings.TrimSpace(asText(a[0])) }),
	"replace": pure(3, 3, func(a []any) any { return strings.ReplaceAll(asText(a[0]), asText(a[1]), asText(a[2])) }),
	"startswith": pure(2, 2, func(a []any) any {
		return strings.HasPrefix(strings.ToLower(asText(a[0])), strings.ToLower(asText(a[1])))
	}),
	"endswith": pure(2, 2, func(a []any) any {
		return strings.HasSuffix(strings.ToLower(asText(a[0])), strings.ToLower(asText(a[1])))
	}),
	"string":    pure(1, 1, func(a []any) any { return asText(a[0]) }),
	"base64":    pure(1, 1, func(a []any) any { return base64.StdEncoding.EncodeToString([]byte(asText(a[0]))) }),
	"substring": {2, 3, substring},
	"split": pure(2, 2, func(a []any) any {
		var out []any
		for _, s := range strings.Split(asText(a[0]), asText(a[1])) {
			out = append(out, s)
		}
		return out
	}),
	"join": pure(2, 2, func(a []any) any { return joined(asList(a[0]), asText(a[1])) }),
	"json": {1, 1, func(_ *scope, a []any) (any, error) {
		var v any
		err := json.Unmarshal([]byte(asText(a[0])), &v)
		return v, err
	}},
	"int": {1, 1, func(_ *scope, a []any) (any, error) {
		n, ok := asNumber(a[0])
		if text, isText := a[0].(string); isText {
			return strconv.Atoi(text)
		}
		if !ok {
			return nil, fmt.Errorf("'%v' is no number", a[0])
		}
		return n, nil
	}},
	// Deterministic as Azure's, but another value.
	"uniquestring": pure(1, -1, func(a []any) any {
		sum := sha256.Sum256([]byte(joined(a, "|")))
		return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:13]
	}),
	"guid":    pure(1, -1, func(a []any) any { return uuid.NewSHA1(guidSpace, []byte(joined(a, "-"))).String() }),
	"newguid": pure(0, 0, func([]any) any { return uuid.NewString() }),
	"utcnow":  pure(0, 1, func([]any) any { return time.Now().UTC().Format("20060102T150405Z") }),
}

// guidSpace is the name space of the function guid.
var guidSpace = uuid.MustParse("11fb06fb-712d-4ddd-98c7-e71bbd588830")

var logicFunctions = map[string]function{
	"true":  pure(0, 0, func([]any) any { return true }),
	"false": pure(0, 0, func([]any) any { return false }),
	"null":  pure(0, 0, func([]any) any { return nil }),
	"bool": pure(1, 1, func(a []any) any {
		return a[0] == true || strings.EqualFold(asText(a[0]), "true") || asText(a[0]) == "1"
	}),
	"not":      pure(1, 1, func(a []any) any { return a[0] != true }),
	"and":      pure(2, -1, func(a []any) any { return !slices.ContainsFunc(a, func(v any) bool { return v != true }) }),
	"or":       pure(2, -1, func(a []any) any { return slices.Contains(a, any(true)) }),
	"equals":   pure(2, 2, func(a []any) any { return equal(a[0], a[1]) }),
	"coalesce": pure(1, -1, func(a []any) any { return firstNot(a, nil) }),
	"less":     compare(func(n int) bool { return n < 0 }), "lessorequals": compare(func(n int) bool { return n <= 0 }),
	"greater": compare(func(n int) bool { return n > 0 }), "greaterorequals": compare(func(n int) bool { return n >= 0 }),
	"add": arithmetic(func(a, b int) int { return a + b }), "sub": arithmetic(func(a, b int) int { return a - b }), "mul": arithmetic(func(a, b int) int { return a * b }),
	"div": {2, 2, division(func(a, b int) int { return a / b })}, "mod": {2, 2, division(func(a, b int) int { return a % b })},
}

var listFunctions = map[string]function{
	"createarray": pure(0, -1, func(a []any) any { return a }),
	"array": pure(1, 1, func(a []any) any {
		if l, ok := a[0].([]any); ok {
			return l
		}
		return a
	}),
	"createobject": pure(0, -1, func(a []any) any {
		out := Doc{}
		for i := 0; i+1 < len(a); i += 2 {
			out[asText(a[i])] = a[i+1]
		}
		return out
	}),
	"length":   pure(1, 1, func(a []any) any { return length(a[0]) }),
	"empty":    pure(1, 1, func(a []any) any { return length(a[0]) == 0 }),
	"first":    pure(1, 1, func(a []any) any { return edge(a[0], false) }),
	"last":     pure(1, 1, func(a []any) any { return edge(a[0], true) }),
	"contains": pure(2, 2, func(a []any) any { return contains(a[0], a[1]) }),
	"union":    pure(2, -1, union),
	"range": pure(2, 2, func(a []any) any {
		from, _ := asNumber(a[0])
		count, _ := asNumber(a[1])
		out := []any{}
		for i := range min(count, mostCopies) {
			out = append(out, from+i)
		}
		return out
	}),
}

func compare(is func(int) bool) function {
	return pure(2, 2, func(a []any) any {
		x, isNumber := asNumber(a[0])
		y, both := asNumber(a[1])
		if isNumber && both {
			return is(x - y)
		}
		return is(strings.Compare(asText(a[0]), asText(a[1])))
	})
}

func arithmetic(do func(a, b int) int) function {
	return pure(2, 2, func(a []any) any {
		x, _ := asNumber(a[0])
		y, _ := asNumber(a[1])
		return do(x, y)
	})
}

func division(do func(a, b int) int) func(*scope, []any) (any, error) {
	return func(_ *scope, a []any) (any, error) {
		x, _ := asNumber(a[0])
		y, _ := asNumber(a[1])
		if y == 0 {
			return nil, fmt.Errorf("division of '%d' by zero", x)
		}
		return do(x, y), nil
	}
}

func substring(_ *scope, a []any) (any, error) {
	text := asText(a[0])
	from, _ := asNumber(a[1])
	count := len(text) - from
	if len(a) == 3 {
		count, _ = asNumber(a[2])
	}
	if from < 0 || count < 0 || from+count > len(text) {
		return nil, invalid("The index and length parameters of function 'substring' must refer to a location within the string '%s'.", text)
	}
	return text[from : from+count], nil
}

func joined(a []any, separator string) string {
	parts := make([]string, len(a))
	for i, v := range a {
		parts[i] = asText(v)
	}
	return strings.Join(parts, separator)
}

func formatted(text string, args []any) string {
	for i, a := range args {
		text = strings.ReplaceAll(text, fmt.Sprintf("{%d}", i), asText(a))
	}
	return text
}

func firstNot(a []any, not any) any {
	for _, v := range a {
		if v != not {
			return v
		}
	}
	return nil
}

// equal compares as the function equals does: texts by their case, too. Bicep lower-cases both for its =~.
func equal(a, b any) bool {
	if x, ok := asNumber(a); ok {
		y, both := asNumber(b)
		return both && x == y
	}
	if x, ok := a.(string); ok {
		y, both := b.(string)
		return both && x == y
	}
	return asText(a) == asText(b)
}

func length(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		return len(v)
	case Doc:
		return len(v)
	}
	return 0
}

func edge(v any, last bool) any {
	n := length(v)
	if n == 0 {
		return nil
	}
	at := 0
	if last {
		at = n - 1
	}
	switch v := v.(type) {
	case string:
		return v[at : at+1]
	case []any:
		return v[at]
	}
	return nil
}

func contains(in, v any) bool {
	switch in := in.(type) {
	case string:
		return strings.Contains(in, asText(v))
	case []any:
		return slices.ContainsFunc(in, func(e any) bool { return equal(e, v) })
	case Doc:
		return slices.ContainsFunc(sortedKeys(in), func(k string) bool { return strings.EqualFold(k, asText(v)) })
	}
	return false
}

func union(a []any) any {
	if _, lists := a[0].([]any); lists {
		var out []any
		for _, l := range a {
			for _, v := range asList(l) {
				if !contains(out, v) {
					out = append(out, v)
				}
			}
		}
		return out
	}
	out := Doc{}
	for _, v := range a {
		if d, ok := v.(Doc); ok {
			out = merged(out, d)
		}
	}
	return out
}

// merged has the members of both, and of objects in both the members of both.
func merged(a, b Doc) Doc {
	out := maps.Clone(a)
	for k, v := range b {
		x, inA := out[k].(Doc)
		y, inB := v.(Doc)
		if inA && inB {
			v = merged(x, y)
		}
		out[k] = v
	}
	return out
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}

func asNumber(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case float64:
		return int(n), true
	}
	return 0, false
}

func asText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

func sortedKeys(d Doc) []string {
	out := slices.Collect(maps.Keys(d))
	sort.Strings(out)
	return out
}
