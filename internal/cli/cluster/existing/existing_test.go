package existing

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// Every path of the tables leads to a field of the API: a comparison that looks at nothing finds nothing.
func TestComparedFieldsExist(t *testing.T) {
	for _, tc := range []struct {
		of     any
		fields []field
	}{{hyperv1.HostedCluster{}, clusterFields}, {hyperv1.NodePool{}, poolFields}} {
		for _, f := range tc.fields {
			if err := leads(reflect.TypeOf(tc.of), f.path); err != nil {
				t.Errorf("%s: %v", strings.Join(f.path, "."), err)
			}
		}
	}
}

func leads(in reflect.Type, path []string) error {
	for in.Kind() == reflect.Pointer {
		in = in.Elem()
	}
	if len(path) == 0 {
		return nil
	}
	if in.Kind() == reflect.Map { // any key may be there
		return nil
	}
	for i := range in.NumField() {
		if name, _, _ := strings.Cut(in.Field(i).Tag.Get("json"), ","); name == path[0] {
			return leads(in.Field(i).Type, path[1:])
		}
	}
	return fmt.Errorf("%s has no member %s", in, path[0])
}

// What the API server adds beside what is asked for is no difference.
func TestFulfils(t *testing.T) {
	object := func(pairs ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i].(string)] = pairs[i+1]
		}
		return out
	}
	for _, tc := range []struct {
		name         string
		found, asked any
		want         bool
	}{
		{"same", "a", "a", true},
		{"other", "a", "b", false},
		{"number", int64(2), int64(3), false},
		{"nothing asked, nothing there", nil, nil, true},
		{"nothing asked, something there", "a", nil, false},
		{"false and absent", nil, false, true},
		{"empty and absent", nil, "", true},
		{"defaults beside it", object("a", "x", "b", "y"), object("a", "x"), true},
		{"a member differs", object("a", "x"), object("a", "z"), false},
		{"a list", []any{object("cidr", "1", "hostPrefix", int64(23))}, []any{object("cidr", "1")}, true},
		{"a longer list", []any{"1", "2"}, []any{"1"}, false},
		{"an id of Azure", "/subscriptions/A/resourceGroups/g", "/subscriptions/a/resourcegroups/G", true},
	} {
		if got := fulfils(tc.found, tc.asked); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
