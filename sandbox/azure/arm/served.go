package arm

import (
	_ "embed"
	"net/http"
	"slices"
	"strings"
	"sync"

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

// apiVersions are what the description of each resource type names; any date is taken.
var apiVersions = []any{"2024-07-01", "2024-03-01", "2023-01-31", "2022-04-01", "2018-09-01"}

// served refuses what the embedded Azure does not have, before anybody looks at rights or documents: a resource that is only stored would look
// made.
func (c *call) served() error {
	if findRoute(c.req.Method, c.path.Raw) != nil || scopeRoute(c.path) != nil || c.path.Type == typeSubscription || c.servesType() {
		return nil
	}
	ns, typ, _ := strings.Cut(c.path.Type, "/")
	if exists := foreignNamespace(ns) || c.path.Scope == "" || azureTypes()[strings.ToLower(c.path.Type)]; !exists {
		return failf(http.StatusNotFound, "InvalidResourceType", "The resource type '%s' could not be found in the namespace '%s' for api version '%s'. The supported api-versions are '%s'.",
			typ, ns, c.req.URL.Query().Get("api-version"), joined(apiVersions))
	}
	if err := c.scopeExists(); err != nil {
		return err
	}
	return failf(wire.NotServedStatus, wire.NotServedCode, "%s", wire.NotServed("'"+c.path.Type+"'"))
}

func (c *call) servesType() bool {
	typ := strings.ToLower(c.path.Type)
	if c.req.Method == http.MethodPost {
		return actions[typ] != nil
	}
	if kindTable[typ] != nil {
		return true
	}
	last := strings.LastIndex(typ, "/")
	return slices.ContainsFunc(kindOf(typ[:max(last, 0)]).inline, func(field string) bool { return strings.EqualFold(field, typ[last+1:]) })
}

// scopeExists has a request about something of a resource that is not there answered with what is wrong first.
func (c *call) scopeExists() error {
	scope, err := ParsePath(c.path.Scope)
	if err != nil || scope.Collection || c.get(scope.Raw) != nil {
		return nil
	}
	if group := scope.ResourceGroup(); group != "" && c.get(group) == nil {
		return groupNotFound(lastSegment(group))
	}
	if scope.Scope != "" && kindTable[strings.ToLower(scope.Type)] != nil {
		return notFound(scope)
	}
	return nil
}

func joined(list []any) string {
	var out []string
	for _, v := range list {
		out = append(out, v.(string))
	}
	return strings.Join(out, ",")
}
