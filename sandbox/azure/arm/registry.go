package arm

import (
	"maps"
	"net/http"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/resources"
)

// registry is what all providers serve.
type registry struct {
	kinds      provider.Table
	routes     []provider.Route
	scoped     []provider.ScopedRoute
	actions    map[string]provider.Action
	namespaces resources.Namespaces
}

func newRegistry() *registry {
	r := &registry{actions: map[string]provider.Action{}, namespaces: resources.NamespacesOf(specs)}
	all := append([]provider.Spec{r.namespaces.Spec()}, specs...)
	for _, s := range all {
		r.routes = append(r.routes, s.Routes...)
		r.scoped = append(r.scoped, s.Scoped...)
		maps.Copy(r.actions, s.Actions)
	}
	r.kinds = provider.NewTable(all)
	return r
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
