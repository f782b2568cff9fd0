package resources

import (
	"net/http"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/schema"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Registration states of a namespace in the subscription.
const (
	stateRegistered    = "Registered"
	stateNotRegistered = "NotRegistered"
	stateUnregistered  = "Unregistered"
)

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

// Foreign tells whether a namespace is Azure's and not served here.
func Foreign(name string) bool {
	return slices.ContainsFunc(foreignNamespaces, sameFold(name))
}

// Find spells a namespace as Azure does, "" when Azure has none of the name.
func (served Namespaces) Find(name string) string {
	for _, list := range [][]string{served, foreignNamespaces} {
		if i := slices.IndexFunc(list, sameFold(name)); i >= 0 {
			return list[i]
		}
	}
	return ""
}

// registration is the state of a namespace, which changes a while after it was asked to.
func (served Namespaces) registration(c *provider.Call, ns string) string {
	d := c.Tx.Get(store.Providers, strings.ToLower(ns))
	switch {
	case d == nil && (slices.Contains(served, ns) || slices.Contains(registrationFree, ns)):
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

// Registered refuses what would be made, or done, in a namespace that the subscription has not registered. What is there can be read and deleted.
func (served Namespaces) Registered(c *provider.Call) error {
	first, _, _ := strings.Cut(c.Path.Type, "/")
	ns := served.Find(first)
	reads := provider.Verbs[c.Req.Method] == "read" || c.Req.Method == http.MethodDelete
	if ns == "" || c.Path.Scope == "" || reads || slices.Contains(registrationFree, ns) || served.registration(c, ns) == stateRegistered || aboutRegistration(c) {
		return nil
	}
	err := provider.Conflict("MissingSubscriptionRegistration", "The subscription is not registered to use namespace '%s'. See https://aka.ms/rps-not-found for how to register subscriptions.", ns)
	err.Extra = wire.Doc{"details": []any{wire.Doc{"code": err.Code, "target": ns, "message": err.Message}}}
	return err
}

func aboutRegistration(c *provider.Call) bool {
	name := strings.ToLower(c.Path.Name())
	return c.Path.Depth() == 1 && c.Path.Collection && (name == "register" || name == "unregister")
}

func (served Namespaces) registerProvider(c *provider.Call) (*provider.Reply, error) {
	return served.changeRegistration(c, stateRegistered)
}
func (served Namespaces) unregisterProvider(c *provider.Call) (*provider.Reply, error) {
	return served.changeRegistration(c, stateUnregistered)
}

func (served Namespaces) changeRegistration(c *provider.Call, to string) (*provider.Reply, error) {
	name := provider.LastSegment(c.Path.Up())
	ns := served.Find(name)
	if ns == "" {
		return nil, NamespaceInvalid(name)
	}
	if slices.Contains(registrationFree, ns) || served.registration(c, ns) == to || to == stateUnregistered && served.registration(c, ns) == stateNotRegistered {
		return provider.Answer(http.StatusOK, served.providerDoc(c, ns)), nil
	}
	if to == stateUnregistered {
		for _, r := range c.Within("/subscriptions/"+c.Subscription, "") {
			if strings.HasPrefix(strings.ToLower(r.Type), strings.ToLower(ns)+"/") {
				return nil, provider.Conflict("CannotUnregisterNamespace", "The namespace '%s' cannot be unregistered because the subscription has resources of it, such as '%s'. Delete them first.", ns, r.ID)
			}
		}
	}
	c.Tx.Put(store.Providers, strings.ToLower(ns), wire.Doc{"state": to, "done": time.Now().Add(c.Pace.Operation("action", "")).UTC().Format(time.RFC3339Nano)})
	return provider.Answer(http.StatusOK, served.providerDoc(c, ns)), nil
}

// NamespaceInvalid is the answer for a namespace that Azure does not have.
func NamespaceInvalid(name string) *provider.Error {
	return provider.Failf(http.StatusNotFound, "InvalidResourceNamespace", "The resource namespace '%s' is invalid.", name)
}

func (served Namespaces) providers(c *provider.Call) (*provider.Reply, error) {
	var out []any
	for _, list := range [][]string{served, foreignNamespaces} {
		for _, ns := range list {
			out = append(out, served.providerDoc(c, ns))
		}
	}
	return provider.Answer(http.StatusOK, wire.Doc{"value": out}), nil
}

func (served Namespaces) showProvider(c *provider.Call) (*provider.Reply, error) {
	ns := served.Find(c.Path.Name())
	if ns == "" {
		return nil, NamespaceInvalid(c.Path.Name())
	}
	return provider.Answer(http.StatusOK, served.providerDoc(c, ns)), nil
}

// providerDoc describes a namespace: a foreign one has no resource types here.
func (served Namespaces) providerDoc(c *provider.Call, ns string) wire.Doc {
	var at []any
	for _, name := range RegionNames(c) {
		at = append(at, displayName(name))
	}
	at = append(at, "global")
	var names []string
	for _, k := range c.Kinds {
		if typ, ok := strings.CutPrefix(k.Type, ns+"/"); ok {
			names = append(names, typ)
		}
	}
	sort.Strings(names)
	var zones []any
	for _, name := range RegionNames(c) {
		zones = append(zones, wire.Doc{"location": displayName(name), "zones": []any{"1", "2", "3"}})
	}
	types := []any{}
	for _, n := range names {
		apiVersions := []any{}
		for _, v := range schema.Versions(ns + "/" + n) {
			apiVersions = append(apiVersions, v)
		}
		types = append(types, wire.Doc{"resourceType": n, "locations": at, "zoneMappings": zones, "apiVersions": apiVersions})
	}
	policy := "RegistrationRequired"
	if slices.Contains(registrationFree, ns) {
		policy = "RegistrationFree"
	}
	return wire.Doc{"id": "/subscriptions/" + c.Subscription + "/providers/" + ns, "namespace": ns, "registrationState": served.registration(c, ns), "registrationPolicy": policy, "resourceTypes": types}
}
