package support

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// TestEvaluate is the grammar of rules: where a value stands, when it says anything, and what is said of it.
func TestEvaluate(t *testing.T) {
	spec := map[string]any{
		"yes": true, "no": false, "zero": 0, "text": "ppc", "empty": "", "list": []any{}, "full": []any{nil},
		"nested": map[string]any{"zero": 0, "deeper": map[string]any{"empty": ""}}, "told": map[string]any{"deeper": map[string]any{"x": 1}},
		"items": []any{map[string]any{"kind": "a"}, "odd", map[string]any{"kind": "b"}, map[string]any{}},
	}
	for name, c := range map[string]struct {
		rule    rule
		payload Images
		want    string
	}{
		"true":               {rule{path: "yes", why: "w"}, nil, "spec.yes: w"},
		"false":              {rule{path: "no", why: "w"}, nil, ""},
		"zero":               {rule{path: "zero", why: "w"}, nil, ""},
		"absent":             {rule{path: "none", why: "w"}, nil, ""},
		"empty":              {rule{path: "empty", why: "w"}, nil, ""},
		"an empty list":      {rule{path: "list", why: "w"}, nil, ""},
		"a list":             {rule{path: "full", why: "w"}, nil, "spec.full: w"},
		"empty all through":  {rule{path: "nested", why: "w"}, nil, ""},
		"says something":     {rule{path: "told", why: "w"}, nil, "spec.told: w"},
		"its value":          {rule{path: "text", why: "no VALUE; not VALUE"}, nil, "spec.text: no ppc; not ppc"},
		"one of":             {rule{path: "text", is: oneOf("arm", "ppc"), why: "w"}, nil, "spec.text: w"},
		"none of":            {rule{path: "text", is: noneOf("arm", "ppc"), why: "w"}, nil, ""},
		"items":              {rule{path: "items[].kind", is: noneOf("a"), why: "VALUE"}, nil, "spec.items[2].kind: b"},
		"items of no list":   {rule{path: "text[].kind", why: "w"}, nil, ""},
		"a list as no items": {rule{path: "items.kind", why: "w"}, nil, ""},
		"tells":              {rule{path: "text", tells: func(v any) string { return fmt.Sprint(v, "!") }, why: "w"}, nil, "spec.text: ppc!"},
		"tells nothing":      {rule{path: "text", tells: func(any) string { return "" }, why: "w"}, nil, ""},
		"tells of nothing":   {rule{path: "empty", tells: func(any) string { return "x" }}, nil, ""},
		"no program":         {rule{path: "yes", unless: "p", why: "w"}, Images{"q": "x"}, "spec.yes: w"},
		"an empty image":     {rule{path: "yes", unless: "p", why: "w"}, Images{"p": ""}, "spec.yes: w"},
		"a program":          {rule{path: "yes", unless: "p", why: "w"}, Images{"p": "x"}, ""},
	} {
		if got := Join(evaluate([]rule{c.rule}, spec, c.payload)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := evaluate(nil, func() {}, nil); len(got) != 1 || got[0].Verdict != Refused {
		t.Errorf("a spec that cannot be read: %v", got)
	}
}

// TestChoices: neither choice changes the list that it chooses from.
func TestChoices(t *testing.T) {
	all := []Problem{{Field: "a", Verdict: Inert}, {Field: "b", Verdict: Refused, Unless: "p"}, {Field: "c", Verdict: Refused}}
	fields := func(problems []Problem) string {
		var names []string
		for _, p := range problems {
			names = append(names, p.Field)
		}
		return strings.Join(names, " ")
	}
	if fields(Of(all, Refused)) != "b c" || fields(Of(all, Inert)) != "a" || fields(Certain(all)) != "a c" || fields(all) != "a b c" {
		t.Errorf("%v", all)
	}
}

// TestPools: an architecture for which Azure has no machines is refused; tuning is, unless the payload has who tunes; other platforms' blocks are told.
func TestPools(t *testing.T) {
	for _, c := range []struct {
		arch string
		want bool
	}{{"amd64", false}, {"arm64", false}, {"", false}, {"s390x", true}, {"ppc64le", true}} {
		spec := &hyperv1.NodePoolSpec{Arch: c.arch}
		got := Pool(spec, nil)
		if refused := slices.ContainsFunc(got, func(p Problem) bool {
			return p.Field == "spec.arch" && p.Verdict == Refused && strings.Contains(p.Why,
				c.arch)
		}); refused != c.want {
			t.Errorf("%s: %v", c.arch, got)
		}
	}
	spec := map[string]any{"tuningConfig": []any{map[string]any{"name": "t"}}, "platform": map[string]any{"aws": map[string]any{"instanceType": "m"},
		"azure": map[string]any{"vmSize": "x"}}}
	for payload, want := range map[string]string{"": "spec.tuningConfig spec.platform.aws", nodeTuning: "spec.platform.aws"} {
		var got []string
		for _, p := range evaluate(poolRules, spec, Images{payload: "x"}) {
			got = append(got, p.Field)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("payload %q: %v", payload, got)
		}
	}
}

// TestRulesAreWhole: a rule without words, or with a verdict that nobody asks for, would be followed by nobody.
func TestRulesAreWhole(t *testing.T) {
	for _, r := range slices.Concat(clusterRules, poolRules) {
		if r.path == "" || r.why == "" && r.tells == nil || r.verdict != Refused && r.verdict != Inert {
			t.Errorf("%+v", r)
		}
	}
}
