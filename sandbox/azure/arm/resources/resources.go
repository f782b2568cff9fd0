// Package resources is Microsoft.Resources: what describes the subscription and its regions, the registration of namespaces, resource
// groups, and the tags of any resource.
package resources

import (
	"slices"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const namespace = "Microsoft.Resources"

// Namespaces are those that have kinds of their own here, in order.
type Namespaces []string

// NamespacesOf are the namespaces of these providers, and this one.
func NamespacesOf(specs []provider.Spec) Namespaces {
	served := Namespaces{namespace}
	for _, s := range specs {
		served = append(served, s.Namespace)
	}
	slices.Sort(served)
	return slices.Compact(served)
}

// Spec is the provider's row.
func (served Namespaces) Spec() provider.Spec {
	return provider.Spec{Namespace: namespace,
		Kinds: []*provider.Kind{{Type: provider.TypeResourceGroup, AsyncDelete: true, Name: groupName, Put: putResourceGroup}},
		Routes: []provider.Route{
			{Method: "GET", Pattern: "tenants", Handle: tenants},
			{Method: "GET", Pattern: "subscriptions", Handle: subscriptions},
			{Method: "GET", Pattern: "subscriptions/*", Handle: subscription},
			{Method: "GET", Pattern: "subscriptions/*/locations", Handle: locations},
			{Method: "GET", Pattern: "providers", Handle: served.providers},
			{Method: "GET", Pattern: "subscriptions/*/providers", Handle: served.providers},
			{Method: "GET", Pattern: "subscriptions/*/providers/*", Handle: served.showProvider},
			{Method: "POST", Pattern: "subscriptions/*/providers/*/register", Handle: served.registerProvider},
			{Method: "POST", Pattern: "subscriptions/*/providers/*/unregister", Handle: served.unregisterProvider},
			{Method: "GET", Pattern: "subscriptions/*/resources", Handle: listed},
			{Method: "GET", Pattern: "subscriptions/*/resourcegroups/*/resources", Handle: listed},
		},
		Scoped: []provider.ScopedRoute{{Type: "microsoft.resources/tags", Handle: tags}},
	}
}

var groupName = &provider.NameRule{Pattern: provider.Pattern(`^[\w.()-]{0,89}[\w()-]$`), Code: "InvalidResourceGroup", Demand: "The name can only be a letter, digit, '-', '.', '(', ')' or '_', must not end with '.' and has at most 90 characters."}

func putResourceGroup(_ *provider.Call, r *provider.Resource, old wire.Doc) error {
	at := wire.Text(r.Body, "location")
	if old != nil && wire.Text(old, "location") != at {
		return provider.Conflict("InvalidResourceGroupLocation", "Invalid resource group location '%s'. The Resource group already exists in location '%s'.", at, wire.Text(old, "location"))
	}
	return nil
}
