package arm

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
)

// registry is what all providers serve, and the gateway itself.
type registry struct {
	kinds      provider.Table
	routes     []provider.Route
	scoped     []provider.ScopedRoute
	actions    map[string]provider.Action
	namespaces []string // that have kinds of their own here, in order
}

func newRegistry() *registry {
	r := &registry{actions: map[string]provider.Action{}}
	all := append([]provider.Spec{r.own()}, specs...)
	for _, s := range all {
		r.routes = append(r.routes, s.Routes...)
		r.scoped = append(r.scoped, s.Scoped...)
		maps.Copy(r.actions, s.Actions)
		r.namespaces = append(r.namespaces, s.Namespace)
	}
	slices.Sort(r.namespaces)
	r.namespaces = slices.Compact(r.namespaces)
	r.kinds = provider.NewTable(all)
	return r
}

// own is what the gateway answers itself: what describes the subscription, resource groups, and the tags of any resource.
func (r *registry) own() provider.Spec {
	handle := func(f func(*call) (*provider.Reply, error)) provider.Handler {
		return func(c *provider.Call) (*provider.Reply, error) { return f(&call{Call: c, registry: r}) }
	}
	return provider.Spec{Namespace: "Microsoft.Resources",
		Kinds: []*provider.Kind{{Type: provider.TypeResourceGroup, AsyncDelete: true, Name: groupName, Put: putResourceGroup}},
		Routes: []provider.Route{
			{Method: "GET", Pattern: "tenants", Handle: handle((*call).tenants)},
			{Method: "GET", Pattern: "subscriptions", Handle: handle((*call).subscriptions)},
			{Method: "GET", Pattern: "subscriptions/*", Handle: handle((*call).subscription)},
			{Method: "GET", Pattern: "subscriptions/*/locations", Handle: handle((*call).locations)},
			{Method: "GET", Pattern: "providers", Handle: handle((*call).providers)},
			{Method: "GET", Pattern: "subscriptions/*/providers", Handle: handle((*call).providers)},
			{Method: "GET", Pattern: "subscriptions/*/providers/*", Handle: handle((*call).showProvider)},
			{Method: "POST", Pattern: "subscriptions/*/providers/*/register", Handle: handle((*call).registerProvider)},
			{Method: "POST", Pattern: "subscriptions/*/providers/*/unregister", Handle: handle((*call).unregisterProvider)},
			{Method: "GET", Pattern: "subscriptions/*/resources", Handle: handle((*call).resources)},
			{Method: "GET", Pattern: "subscriptions/*/resourcegroups/*/resources", Handle: handle((*call).resources)},
		},
		Scoped: []provider.ScopedRoute{{Type: "microsoft.resources/tags", Handle: handle((*call).tags)}},
	}
}

// route finds who answers a path that is not a plain document, nil when it is one.
func (r *registry) route(method string, p provider.Path) provider.Handler {
	asked := method
	if method == http.MethodHead {
		asked = http.MethodGet
	}
	segs := strings.Split(strings.ToLower(p.Raw[1:]), "/")
	for _, rt := range r.routes {
		if rt.Method == asked && matches(rt.Pattern, segs) {
			return rt.Handle
		}
	}
	common := method == http.MethodPut || method == http.MethodDelete
	for _, rt := range r.scoped {
		if strings.EqualFold(rt.Type, p.Type) && (p.Collection || !rt.Collection) && !(common && rt.CommonWrites) {
			return rt.Handle
		}
	}
	return nil
}

func matches(pattern string, segs []string) bool {
	ps := strings.Split(pattern, "/")
	if len(ps) != len(segs) {
		return false
	}
	for i, p := range ps {
		if p != "*" && p != segs[i] {
			return false
		}
	}
	return true
}
