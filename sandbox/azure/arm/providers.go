package arm

import (
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Registration states of a namespace in the subscription.
const (
	stateRegistered    = "Registered"
	stateNotRegistered = "NotRegistered"
	stateUnregistered  = "Unregistered"
)

// namespaces that have kinds of their own here. The subscription begins with all of them registered, as one has that was in use before.
var namespaces = []string{"Microsoft.Authorization", "Microsoft.Compute", "Microsoft.KeyVault", "Microsoft.ManagedIdentity", "Microsoft.MarketplaceOrdering", "Microsoft.Network",
	"Microsoft.Resources", "Microsoft.Storage"}

// registrationFree are there for every subscription.
var registrationFree = []string{"Microsoft.Authorization", "Microsoft.Billing", "Microsoft.Consumption", "Microsoft.CostManagement", "Microsoft.Features", "Microsoft.MarketplaceOrdering",
	"Microsoft.ResourceGraph", "Microsoft.Resources", "Microsoft.SerialConsole", "Microsoft.Support"}

// foreignNamespaces are Azure's too; nothing in them is served.
var foreignNamespaces = []string{"Microsoft.AAD", "Microsoft.Advisor", "Microsoft.AlertsManagement", "Microsoft.ApiManagement", "Microsoft.App", "Microsoft.AppConfiguration", "Microsoft.Attestation",
	"Microsoft.Automation", "Microsoft.Batch", "Microsoft.Billing", "Microsoft.Cache", "Microsoft.Cdn", "Microsoft.CognitiveServices", "Microsoft.Consumption", "Microsoft.ContainerInstance",
	"Microsoft.ContainerRegistry", "Microsoft.ContainerService", "Microsoft.CostManagement", "Microsoft.DataFactory", "Microsoft.DataProtection", "Microsoft.Databricks", "Microsoft.DBforMySQL",
	"Microsoft.DBforPostgreSQL", "Microsoft.Devices", "Microsoft.DocumentDB", "Microsoft.DomainRegistration", "Microsoft.EventGrid", "Microsoft.EventHub", "Microsoft.ExtendedLocation",
	"Microsoft.Features", "Microsoft.GuestConfiguration", "Microsoft.HybridCompute", "Microsoft.Insights", "Microsoft.Kubernetes", "Microsoft.KubernetesConfiguration", "Microsoft.Kusto",
	"Microsoft.Logic", "Microsoft.MachineLearningServices", "Microsoft.Maintenance", "Microsoft.Management", "Microsoft.Monitor", "Microsoft.NetApp", "Microsoft.OperationalInsights",
	"Microsoft.OperationsManagement", "Microsoft.PolicyInsights", "Microsoft.Portal", "Microsoft.Quota", "Microsoft.RecoveryServices", "Microsoft.RedHatOpenShift", "Microsoft.Relay",
	"Microsoft.ResourceGraph", "Microsoft.ResourceHealth", "Microsoft.Search", "Microsoft.Security", "Microsoft.SerialConsole", "Microsoft.ServiceBus", "Microsoft.SignalRService", "Microsoft.Solutions",
	"Microsoft.Sql", "Microsoft.StorageSync", "Microsoft.Support", "Microsoft.Web"}

func sameFold(name string) func(string) bool {
	return func(ns string) bool { return strings.EqualFold(ns, name) }
}

func foreignNamespace(name string) bool {
	return slices.ContainsFunc(foreignNamespaces, sameFold(name))
}

// namespace spells a namespace as Azure does, "" when Azure has none of the name.
func namespace(name string) string {
	for _, list := range [][]string{namespaces, foreignNamespaces} {
		if i := slices.IndexFunc(list, sameFold(name)); i >= 0 {
			return list[i]
		}
	}
	return ""
}

// registration is the state of a namespace, which changes a while after it was asked to.
func (c *call) registration(ns string) string {
	d := c.tx.Get(store.Providers, strings.ToLower(ns))
	switch {
	case d == nil && (slices.Contains(namespaces, ns) || slices.Contains(registrationFree, ns)):
		return stateRegistered
	case d == nil:
		return stateNotRegistered
	case time.Now().After(wire.Time(d, "done")):
		return wire.Text(d, "state")
	case wire.Text(d, "state") == stateRegistered:
		return "Registering"
	}
	return "Unregistering"
}

// registered refuses what would be made, or done, in a namespace that the subscription has not registered. What is there can be read and deleted.
func (c *call) registered() error {
	first, _, _ := strings.Cut(c.path.Type, "/")
	ns := namespace(first)
	reads := verbs[c.req.Method] == "read" || c.req.Method == http.MethodDelete
	if ns == "" || c.path.Scope == "" || reads || slices.Contains(registrationFree, ns) || c.registration(ns) == stateRegistered || c.aboutRegistration() {
		return nil
	}
	err := conflict("MissingSubscriptionRegistration", "The subscription is not registered to use namespace '%s'. See https://aka.ms/rps-not-found for how to register subscriptions.", ns)
	err.Extra = Doc{"details": []any{Doc{"code": err.Code, "target": ns, "message": err.Message}}}
	return err
}

func (c *call) aboutRegistration() bool {
	name := strings.ToLower(c.path.Name())
	return c.path.Depth() == 1 && c.path.Collection && (name == "register" || name == "unregister")
}

func (c *call) registerProvider() (*reply, error)   { return c.changeRegistration(stateRegistered) }
func (c *call) unregisterProvider() (*reply, error) { return c.changeRegistration(stateUnregistered) }

func (c *call) changeRegistration(to string) (*reply, error) {
	name := lastSegment(c.path.Up())
	ns := namespace(name)
	if ns == "" {
		return nil, namespaceInvalid(name)
	}
	if slices.Contains(registrationFree, ns) || c.registration(ns) == to || to == stateUnregistered && c.registration(ns) == stateNotRegistered {
		return answer(http.StatusOK, c.providerDoc(ns)), nil
	}
	if to == stateUnregistered {
		for _, r := range c.within("/subscriptions/"+c.Subscription, "") {
			if strings.HasPrefix(strings.ToLower(r.Type), strings.ToLower(ns)+"/") {
				return nil, conflict("CannotUnregisterNamespace", "The namespace '%s' cannot be unregistered because the subscription has resources of it, such as '%s'. Delete them first.", ns, r.ID)
			}
		}
	}
	c.tx.Put(store.Providers, strings.ToLower(ns), Doc{"state": to, "done": time.Now().Add(c.OperationTime).UTC().Format(time.RFC3339Nano)})
	return answer(http.StatusOK, c.providerDoc(ns)), nil
}

func namespaceInvalid(name string) *Error {
	return failf(http.StatusNotFound, "InvalidResourceNamespace", "The resource namespace '%s' is invalid.", name)
}

func (c *call) providers() (*reply, error) {
	var out []any
	for _, list := range [][]string{namespaces, foreignNamespaces} {
		for _, ns := range list {
			out = append(out, c.providerDoc(ns))
		}
	}
	return answer(http.StatusOK, Doc{"value": out}), nil
}

func (c *call) provider() (*reply, error) {
	ns := namespace(c.path.Name())
	if ns == "" {
		return nil, namespaceInvalid(c.path.Name())
	}
	return answer(http.StatusOK, c.providerDoc(ns)), nil
}

// providerDoc describes a namespace: a foreign one has no resource types here.
func (c *call) providerDoc(ns string) Doc {
	var at []any
	for _, name := range c.regionNames() {
		at = append(at, displayName(name))
	}
	at = append(at, "global")
	var names []string
	for _, k := range kindTable {
		if typ, ok := strings.CutPrefix(k.Type, ns+"/"); ok {
			names = append(names, typ)
		}
	}
	sort.Strings(names)
	var zones []any
	for _, name := range c.regionNames() {
		zones = append(zones, Doc{"location": displayName(name), "zones": []any{"1", "2", "3"}})
	}
	types := []any{}
	for _, n := range names {
		types = append(types, Doc{"resourceType": n, "locations": at, "zoneMappings": zones, "apiVersions": apiVersions})
	}
	policy := "RegistrationRequired"
	if slices.Contains(registrationFree, ns) {
		policy = "RegistrationFree"
	}
	return Doc{"id": "/subscriptions/" + c.Subscription + "/providers/" + ns, "namespace": ns, "registrationState": c.registration(ns), "registrationPolicy": policy, "resourceTypes": types}
}
