// Package compare tells in what an object that is there differs from one that is made from a file: path by path, without what machines
// write and what the API sets by itself.
package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Difference is a path at which the objects are not the same.
type Difference struct {
	Path string
	// OnlyMade says that the object that is there has nothing at the path.
	OnlyMade bool
}

// Of compares spec, labels and annotations. A path in told, or beneath one, is left out.
func Of(live *unstructured.Unstructured, made client.Object, told []string) ([]Difference, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(made)
	if err != nil {
		return nil, fmt.Errorf("cannot compare %s %s: %w", live.GetKind(), live.GetName(), err)
	}
	sides := [2]map[string]any{}
	for i, object := range []*unstructured.Unstructured{live, {Object: content}} {
		if sides[i], err = judged(live.GetKind(), object); err != nil {
			return nil, fmt.Errorf("cannot compare %s %s: %w", live.GetKind(), live.GetName(), err)
		}
	}
	var found []Difference
	walk("", sides[0], sides[1], func(d Difference) {
		if !slices.ContainsFunc(told, func(path string) bool { return IsWithin(d.Path, path) }) {
			found = append(found, d)
		}
	})
	return found, nil
}

// IsWithin tells whether a path is another one, or leads on from it.
func IsWithin(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// judged is what of an object is compared, with what the API sets by itself.
func judged(kind string, object *unstructured.Unstructured) (map[string]any, error) {
	metadata := map[string]any{"labels": OwnLabels(object.GetLabels()), "annotations": OwnAnnotations(object.GetAnnotations())}
	raw, err := json.Marshal(map[string]any{"metadata": metadata, "spec": object.Object["spec"]})
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil { // all numbers are of one type then
		return nil, err
	}
	spec, _ := out["spec"].(map[string]any)
	if spec == nil {
		return pruned(out).(map[string]any), nil
	}
	if err := setDefaults(kind, spec); err != nil {
		return nil, err
	}
	return pruned(out).(map[string]any), nil
}

// pruned is a value without the objects and lists in it that are empty, which say nothing.
func pruned(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			if v[key] = pruned(v[key]); isVoid(v[key]) {
				delete(v, key)
			}
		}
	case []any:
		for i := range v {
			v[i] = pruned(v[i])
		}
	}
	return value
}

func isVoid(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return value == nil
}

func walk(path string, live, made any, tell func(Difference)) {
	switch l := live.(type) {
	case map[string]any:
		if m, ok := made.(map[string]any); ok {
			walkMembers(path, l, m, tell)
			return
		}
	case []any:
		if m, ok := made.([]any); ok && len(l) == len(m) {
			for i := range l {
				walk(fmt.Sprintf("%s[%d]", path, i), l[i], m[i], tell)
			}
			return
		}
	}
	if !reflect.DeepEqual(live, made) {
		tell(Difference{Path: path})
	}
}

func walkMembers(path string, live, made map[string]any, tell func(Difference)) {
	keys := maps.Clone(live)
	maps.Copy(keys, made)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		at := Member(path, key)
		l, isThere := live[key]
		m, isMade := made[key]
		switch {
		case isThere && isMade:
			walk(at, l, m, tell)
		case isThere:
			walkThere(at, l, tell)
		case !isNothing(m):
			tell(Difference{Path: at, OnlyMade: true})
		}
	}
}

// walkThere tells what is only there, by its members where these are still of a part and not of a setting.
func walkThere(path string, live any, tell func(Difference)) {
	members, ok := live.(map[string]any)
	if !ok || strings.Count(path, ".")+strings.Count(path, "[") > 2 {
		tell(Difference{Path: path})
		return
	}
	walkMembers(path, members, nil, tell)
}

// isNothing tells whether a value says the same as none.
func isNothing(value any) bool {
	if members, ok := value.(map[string]any); ok {
		for _, member := range members {
			if !isNothing(member) {
				return false
			}
		}
		return true
	}
	return value == nil || value == "" || value == false || value == float64(0) || value == "0s"
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// Member is the path of a member: a key with other characters than those of a name is in brackets.
func Member(path, key string) string {
	switch {
	case !plain.MatchString(key):
		return path + "[" + key + "]"
	case path == "":
		return key
	}
	return path + "." + key
}
