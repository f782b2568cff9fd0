package arm

import (
	_ "embed"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/resources"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/schema"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

//go:embed types.txt
var typesText string

// azureTypes are the resource types and actions of Azure in the namespaces that are served, lower-cased.
var azureTypes = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(typesText) {
		out[strings.TrimSpace(line)] = true
	}
	return out
})

// served refuses what the embedded Azure does not have, before anybody looks at rights or documents: a resource that is only stored would look
// made.
func (c *call) served() error {
	if c.route(c.Req.Method, c.Path) != nil || c.Path.Type == provider.TypeSubscription || c.servesType() {
		return nil
	}
	ns, typ, _ := strings.Cut(c.Path.Type, "/")
	if exists := resources.Foreign(ns) || c.Path.Scope == "" || azureTypes()[strings.ToLower(c.Path.Type)]; !exists {
		return provider.Failf(http.StatusNotFound, "InvalidResourceType", "The resource type '%s' could not be found in the namespace '%s' for api version '%s'. The supported api-versions are '%s'.",
			typ, ns, c.Req.URL.Query().Get("api-version"), strings.Join(schema.Versions(c.Path.Type), ","))
	}
	if err := c.ScopeExists(); err != nil {
		return err
	}
	return provider.Failf(wire.NotServedStatus, wire.NotServedCode, "%s", wire.NotServed("'"+c.Path.Type+"'"))
}

func (c *call) servesType() bool {
	typ := strings.ToLower(c.Path.Type)
	if c.Req.Method == http.MethodPost {
		return c.actions[typ] != nil
	}
	if c.Kinds.Has(typ) {
		return true
	}
	last := strings.LastIndex(typ, "/")
	return slices.ContainsFunc(c.Kinds.Of(typ[:max(last, 0)]).Inline, func(field string) bool { return strings.EqualFold(field, typ[last+1:]) })
}
