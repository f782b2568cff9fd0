package kubetest

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Right is one verb on one resource of one group; resource and verb may be "*".
type Right struct{ Group, Resource, Verb string }

func (r Right) String() string { return r.Verb + " " + r.Resource + "." + r.Group }

// Rights are several verbs on one resource.
func Rights(group, resource string, verbs ...string) []Right {
	var out []Right
	for _, verb := range verbs {
		out = append(out, Right{group, resource, verb})
	}
	return out
}

// Expand takes rules apart.
func Expand(rules []rbacv1.PolicyRule) []Right {
	var out []Right
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				out = append(out, Rights(group, resource, rule.Verbs...)...)
			}
		}
	}
	return out
}

// Covers tells whether what is held includes what is needed.
func Covers(held []Right, needed Right) bool {
	return slices.ContainsFunc(held, func(h Right) bool {
		return h.Group == needed.Group && (h.Resource == "*" || h.Resource == needed.Resource) && (h.Verb == "*" || h.Verb == needed.Verb)
	})
}

// Calls remembers the rights that requests take.
type Calls struct {
	mu   sync.Mutex
	used map[Right]bool
}

// Record reads a request as the API server's authorization does.
func (c *Calls) Record(request *http.Request) {
	right, ok := rightOf(request)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used == nil {
		c.used = map[Right]bool{}
	}
	c.used[right] = true
	// An apply makes what is not there, and the API server asks for the right to that as well.
	if right.Verb == "patch" && strings.Contains(request.Header.Get("Content-Type"), "apply-patch") && !strings.Contains(right.Resource, "/") {
		c.used[Right{right.Group, right.Resource, "create"}] = true
	}
}

// Used are the rights so far, in order.
func (c *Calls) Used() []Right {
	c.mu.Lock()
	defer c.mu.Unlock()
	used := make([]Right, 0, len(c.used))
	for right := range c.used {
		used = append(used, right)
	}
	slices.SortFunc(used, func(a, b Right) int { return strings.Compare(a.String(), b.String()) })
	return used
}

// rightOf is false for discovery, which everybody may do.
func rightOf(request *http.Request) (Right, bool) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	default:
		return Right{}, false
	}
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		parts = parts[2:]
	}
	resource, named := parts[0], len(parts) > 1
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	return Right{group, resource, verbOf(request, named)}, true
}

func verbOf(request *http.Request, named bool) string {
	switch {
	case request.Method == http.MethodDelete && !named:
		return "deletecollection"
	case request.Method == http.MethodGet && request.URL.Query().Get("watch") != "":
		return "watch"
	case request.Method == http.MethodGet && named:
		return "get"
	case request.Method == http.MethodGet:
		return "list"
	}
	return map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[request.Method]
}
