package arm

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/schema"
)

// What a provider registers must be reachable, and must not hide what another one serves: the tables are by lower-cased names, and the last
// row of a name would win silently.
func TestProvidersDoNotCollide(t *testing.T) {
	r := newRegistry()
	rows := append([]provider.Spec{r.namespaces.Spec()}, specs...)
	kinds, routes := map[string]bool{}, map[string]bool{}
	for _, s := range rows {
		for _, k := range s.Kinds {
			if name := strings.ToLower(k.Type); kinds[name] {
				t.Errorf("two kinds are %s", k.Type)
			} else {
				kinds[name] = true
			}
			if !strings.HasPrefix(k.Type, s.Namespace+"/") {
				t.Errorf("%s is not in the namespace %s of its provider", k.Type, s.Namespace)
			}
		}
		for _, rt := range s.Routes {
			if at := rt.Method + " " + rt.Pattern; routes[at] {
				t.Errorf("two routes are %s", at)
			} else {
				routes[at] = true
			}
			if rt.Pattern != strings.ToLower(rt.Pattern) || rt.Method != http.MethodGet && rt.Method != http.MethodPost {
				t.Errorf("no request can match the route %s %s", rt.Method, rt.Pattern)
			}
		}
		for name := range s.Actions {
			typ := name[:strings.LastIndex(name, "/")]
			if name != strings.ToLower(name) || !r.kinds.Has(typ) {
				t.Errorf("the action %s is of no kind, or not lower-cased", name)
			}
		}
	}
}

// Every kind has a schema for what is put and answered, and api-versions.
func TestEveryKindHasASchema(t *testing.T) {
	for _, k := range newRegistry().kinds {
		if len(schema.Versions(k.Type)) == 0 {
			t.Errorf("no api-version is known of %s", k.Type)
		}
		for _, method := range []string{http.MethodPut, http.MethodGet} {
			if o := schema.Find(method, k.Type, false, schema.Newest(k.Type)); o == nil || !o.Exact {
				t.Errorf("%s of %s has no schema", method, k.Type)
			}
		}
	}
}

// The children that a kind embeds or keeps inline must be found again by their own paths.
func TestEmbeddedChildrenHaveKinds(t *testing.T) {
	r := newRegistry()
	for _, k := range r.kinds {
		for _, ch := range k.Embed {
			if !r.kinds.Has(ch.Type) || !strings.EqualFold(ch.Type, k.Type+"/"+ch.Prop) {
				t.Errorf("%s embeds %s as %s, which its path does not lead to", k.Type, ch.Type, ch.Prop)
			}
		}
	}
}

func TestRoutes(t *testing.T) {
	r := newRegistry()
	const sub = "/subscriptions/s"
	const def = sub + "/providers/Microsoft.Authorization/roleDefinitions/d"
	for _, c := range []struct {
		method, path string
		special      bool
	}{
		{http.MethodGet, sub, true},
		{http.MethodHead, sub, true}, // a HEAD is answered as its GET
		{http.MethodPut, sub, false},
		{http.MethodGet, sub + "/PROVIDERS/microsoft.compute", true},
		{http.MethodPost, sub + "/providers/Microsoft.Compute/register", true},
		{http.MethodGet, sub + "/providers/Microsoft.Compute/register", false},
		{http.MethodGet, sub + "/resourceGroups/rg", false},
		{http.MethodGet, sub + "/resourceGroups/rg/resources", true},
		{http.MethodGet, def, true},
		{http.MethodPut, def, false}, // writes go the common way
		{http.MethodDelete, def, false},
		{http.MethodGet, sub + "/providers/Microsoft.Authorization/roleAssignments", true},
		{http.MethodGet, sub + "/providers/Microsoft.Authorization/roleAssignments/a", false}, // only the collection is special
		{http.MethodPatch, sub + "/resourceGroups/rg/providers/Microsoft.Resources/tags/default", true},
	} {
		p, err := provider.ParsePath(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.route(c.method, p) != nil; got != c.special {
			t.Errorf("%s %s: answered apart %v, want %v", c.method, c.path, got, c.special)
		}
	}
}
