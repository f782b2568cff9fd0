package resources

import (
	"net/http"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/rights"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

func tenants(c *provider.Call) (*provider.Reply, error) {
	return provider.Answer(http.StatusOK, wire.Doc{"value": []any{wire.Doc{"id": "/tenants/" + c.Tenant, "tenantId": c.Tenant, "displayName": "Sandbox",
		"defaultDomain": "sandbox.onmicrosoft.com", "tenantCategory": "Home", "tenantType": "AAD", "countryCode": "US", "domains": []any{"sandbox.onmicrosoft.com"}}}}), nil
}

func subscriptionDoc(c *provider.Call) wire.Doc {
	return wire.Doc{"id": "/subscriptions/" + c.Subscription, "subscriptionId": c.Subscription, "tenantId": c.Tenant, "displayName": "Sandbox",
		"state": "Enabled", "authorizationSource": "RoleBased", "managedByTenants": []any{},
		"subscriptionPolicies": wire.Doc{"locationPlacementId": "Public_2014-09-01", "quotaId": "PayAsYouGo_2014-09-01", "spendingLimit": "Off"}}
}

func subscriptions(c *provider.Call) (*provider.Reply, error) {
	list := []any{}
	if rights.AllowedBelow(c, "", "/subscriptions/"+c.Subscription) {
		list = append(list, subscriptionDoc(c))
	}
	return provider.Answer(http.StatusOK, wire.Doc{"value": list}), nil
}

func subscription(c *provider.Call) (*provider.Reply, error) {
	if !strings.EqualFold(c.Path.Name(), c.Subscription) {
		return nil, provider.Failf(http.StatusNotFound, "SubscriptionNotFound", "The subscription '%s' could not be found.", c.Path.Name())
	}
	return provider.Answer(http.StatusOK, subscriptionDoc(c)), nil
}

// listed are the tracked resources: those that have a life of their own. As Azure does, it leaves zones out, and the state unless asked for it.
func listed(c *provider.Call) (*provider.Reply, error) {
	query := c.Req.URL.Query()
	match, expand := provider.ParseFilter(query.Get("$filter")), query.Get("$expand")
	if group := c.Path.ResourceGroup(); group != "" && c.Get(group) == nil {
		return nil, provider.GroupNotFound(provider.LastSegment(group))
	}
	out := []any{}
	for _, r := range c.Within(c.Path.Up(), "") {
		ns, _, _ := strings.Cut(r.Type, "/")
		if strings.Count(r.Type, "/") != 1 || ns == "Microsoft.Resources" || ns == "Microsoft.Authorization" || !match(r) || !rights.Visible(c, r) {
			continue
		}
		d := wire.Doc{"id": r.ID, "name": r.Name, "type": r.Type, "location": r.Body["location"]}
		if strings.Contains(expand, "provisioningState") {
			d["provisioningState"] = wire.Props(r.Body)["provisioningState"]
		}
		for _, optional := range []string{"tags", "sku", "kind", "plan", "managedBy", "identity"} {
			if v := r.Body[optional]; v != nil {
				d[optional] = v
			}
		}
		out = append(out, d)
	}
	return provider.Answer(http.StatusOK, wire.Doc{"value": out}), nil
}

// CloudMetadata is what clients read to learn a cloud's endpoints; the newer form is an array.
func CloudMetadata(r *http.Request) any {
	d := wire.Doc{"name": "AzureCloud", "portal": "https://portal.azure.com",
		"authentication":  wire.Doc{"loginEndpoint": "https://login.microsoftonline.com", "audiences": []any{"https://management.core.windows.net/", "https://management.azure.com/"}, "tenant": "common", "identityProvider": "AAD"},
		"resourceManager": "https://management.azure.com/", "graph": "https://graph.windows.net/", "graphAudience": "https://graph.windows.net/",
		"microsoftGraphResourceId": "https://graph.microsoft.com/", "gallery": "https://gallery.azure.com/", "batch": "https://batch.core.windows.net/",
		"suffixes": wire.Doc{"storage": "core.windows.net", "keyVaultDns": "vault.azure.net", "acrLoginServer": "azurecr.io"}}
	if r.URL.Query().Get("api-version") >= "2019-05-01" {
		return []any{d}
	}
	return d
}
