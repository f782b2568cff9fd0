// Package support says which parts of a HostedCluster or NodePool nothing acts on, so that its user is told instead of left to believe:
// the controllers refuse or warn by it, and the command line refuses by it before it makes anything.
//
// The rule of the tables: what would harm somebody who believes that it acts (what guards, encrypts, lets in, or changes addresses) is
// refused, as is what nobody would miss until it is too late. What only OpenShift's own programs read, and does no harm by being
// absent, is accepted with a warning, so that manifests written for OpenShift apply.
package support

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// Verdict is what becomes of a member that nothing acts on.
type Verdict string

// The verdicts.
const (
	// Refused: the object is not acted on while it has the member.
	Refused Verdict = "refused"
	// Inert: the object is acted on without the member, and a condition says so.
	Inert Verdict = "inert"
)

// Problem is a member of an object that nothing acts on.
type Problem struct {
	// Field is the member's path, such as spec.fips.
	Field string
	// Why says why nothing acts on it, and what to do.
	Why     string
	Verdict Verdict
	// Unless is the key of the payload's image whose program would act on it; empty where no payload has one.
	Unless string
}

func (p Problem) String() string { return p.Field + ": " + p.Why }

// Join makes one text of several problems.
func Join(problems []Problem) string {
	all := make([]string, len(problems))
	for i, p := range problems {
		all[i] = p.String()
	}
	return strings.Join(all, "; ")
}

// Of returns the problems with a verdict.
func Of(problems []Problem, verdict Verdict) []Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool { return p.Verdict != verdict })
}

// Certain leaves out what a payload may act on: what there is to say while the payload is not read.
func Certain(problems []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool { return p.Unless != "" })
}

// Images are those of a release payload by key. Without any, everything is a problem that some payload has no program for.
type Images map[string]string

// Cluster looks at a HostedCluster.
func Cluster(hc *hyperv1.HostedCluster, payload Images) []Problem {
	problems := annotated(hc.Annotations, payload)
	return append(problems, evaluate(clusterRules, &hc.Spec, payload)...)
}

// Pool looks at a NodePool; what its spec.config refers to is looked at where it is read.
func Pool(spec *hyperv1.NodePoolSpec, payload Images) []Problem {
	return evaluate(poolRules, spec, payload)
}

// rule is about the values at a path of the spec.
type rule struct {
	// path below spec; "[]" after a member goes through its items.
	path string
	// is tells whether the rule is about such a value; nil stands for one that says anything at all.
	is func(any) bool
	// tells gives the reason, in place of why, from what the value says; empty, the rule is not about it.
	tells func(any) string
	// unless names the payload's image whose program reads the member.
	unless  string
	verdict Verdict
	why     string
}

func evaluate(rules []rule, spec any, payload Images) []Problem {
	content, err := decode(spec)
	if err != nil { // the API server has stored it
		return []Problem{{Field: "spec", Why: err.Error(), Verdict: Refused}}
	}
	var problems []Problem
	for _, r := range rules {
		if r.unless != "" && payload[r.unless] != "" {
			continue
		}
		for _, found := range at(content, strings.Split(r.path, "."), "spec") {
			if why := r.about(found.value); why != "" {
				problems = append(problems, Problem{Field: found.path, Why: why, Verdict: r.verdict, Unless: r.unless})
			}
		}
	}
	return problems
}

// about is the reason that the rule gives for a value; empty, it has none against it.
func (r rule) about(value any) string {
	switch {
	case !says(value):
		return ""
	case r.tells != nil:
		return r.tells(value)
	case r.is == nil || r.is(value):
		return strings.ReplaceAll(r.why, "VALUE", fmt.Sprint(value))
	}
	return ""
}

func decode(spec any) (map[string]any, error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode the spec: %w", err)
	}
	content := map[string]any{}
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, fmt.Errorf("decode the spec: %w", err)
	}
	return content, nil
}

// says: what is absent, false, zero or empty asks for nothing.
func says(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case map[string]any:
		for _, member := range v {
			if says(member) {
				return true
			}
		}
		return false
	case []any:
		return len(v) > 0
	}
	return !reflect.ValueOf(value).IsZero()
}

type located struct {
	path  string
	value any
}

func at(value any, path []string, place string) []located {
	if len(path) == 0 {
		return []located{{place, value}}
	}
	members, _ := value.(map[string]any)
	name, isList := strings.CutSuffix(path[0], "[]")
	member, ok := members[name]
	if !ok {
		return nil
	}
	place += "." + name
	if !isList {
		return at(member, path[1:], place)
	}
	items, _ := member.([]any)
	var found []located
	for i, item := range items {
		found = append(found, at(item, path[1:], fmt.Sprintf("%s[%d]", place, i))...)
	}
	return found
}

func oneOf(values ...string) func(any) bool {
	return func(value any) bool { return slices.Contains(values, fmt.Sprint(value)) }
}

func noneOf(values ...string) func(any) bool {
	return func(value any) bool { return !slices.Contains(values, fmt.Sprint(value)) }
}
