package arm

import (
	"net/http"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// route is a path that is not a plain document. A star stands for one segment.
type route struct {
	method, pattern string
	handle          func(*call) (*reply, error)
}

// routes is filled by init to break the cycle between handlers and the table.
var routes []route

func init() {
	const imagePath = "subscriptions/*/providers/microsoft.compute/locations/*/publishers"
	const vmPath = "subscriptions/*/resourcegroups/*/providers/microsoft.compute/virtualmachines"
	const zonePath = "subscriptions/*/resourcegroups/*/providers/microsoft.network/"
	routes = []route{
		{"GET", "tenants", (*call).tenants},
		{"GET", "subscriptions", (*call).subscriptions},
		{"GET", "subscriptions/*", (*call).subscription},
		{"GET", "subscriptions/*/locations", (*call).locations},
		{"GET", "providers", (*call).providers},
		{"GET", "subscriptions/*/providers", (*call).providers},
		{"GET", "subscriptions/*/providers/*", (*call).provider},
		{"POST", "subscriptions/*/providers/*/register", (*call).registerProvider},
		{"POST", "subscriptions/*/providers/*/unregister", (*call).unregisterProvider},
		{"GET", "subscriptions/*/resources", (*call).resources},
		{"GET", "subscriptions/*/resourcegroups/*/resources", (*call).resources},
		{"POST", "subscriptions/*/providers/microsoft.storage/checknameavailability", (*call).storageNameAvailable},
		{"GET", "subscriptions/*/providers/microsoft.compute/skus", (*call).skus},
		{"GET", "subscriptions/*/providers/microsoft.compute/locations/*/vmsizes", (*call).vmSizes},
		{"GET", "subscriptions/*/providers/microsoft.compute/locations/*/usages", (*call).usages},
		{"GET", "subscriptions/*/providers/microsoft.network/locations/*/usages", (*call).usages},
		{"GET", imagePath, (*call).imageList},
		{"GET", imagePath + "/*/artifacttypes/vmimage/offers", (*call).imageList},
		{"GET", imagePath + "/*/artifacttypes/vmimage/offers/*/skus", (*call).imageList},
		{"GET", imagePath + "/*/artifacttypes/vmimage/offers/*/skus/*/versions", (*call).imageList},
		{"GET", imagePath + "/*/artifacttypes/vmimage/offers/*/skus/*/versions/*", (*call).imageVersion},
		{"GET", vmPath + "/*/instanceview", (*call).instanceViewOf},
		{"GET", zonePath + "dnszones/*/recordsets", (*call).recordSets},
		{"GET", zonePath + "dnszones/*/all", (*call).recordSets},
		{"GET", zonePath + "privatednszones/*/all", (*call).recordSets},
		{"GET", "subscriptions/*/providers/microsoft.keyvault/deletedvaults", (*call).deletedVaults},
		{"GET", "subscriptions/*/providers/microsoft.keyvault/locations/*/deletedvaults/*", (*call).deletedVault},
		{"POST", "subscriptions/*/providers/microsoft.keyvault/locations/*/deletedvaults/*/purge", (*call).purgeVault},
		{"POST", "subscriptions/*/providers/microsoft.keyvault/checknameavailability", (*call).vaultNameAvailable},
		{"GET", "subscriptions/*/providers/microsoft.marketplaceordering/offertypes/*/publishers/*/offers/*/plans/*/agreements/*", (*call).agreement},
		{"POST", "subscriptions/*/resourcegroups/*/providers/microsoft.resources/deployments/*/validate", (*call).validateDeployment},
		{"POST", "subscriptions/*/providers/microsoft.resources/deployments/*/validate", (*call).validateDeployment},
		{"GET", "subscriptions/*/resourcegroups/*/providers/microsoft.resources/deployments/*/operations", (*call).deploymentOperations},
		{"GET", "subscriptions/*/providers/microsoft.resources/deployments/*/operations", (*call).deploymentOperations},
	}
}

func findRoute(method, raw string) func(*call) (*reply, error) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	segs := strings.Split(strings.ToLower(raw[1:]), "/")
	for _, r := range routes {
		if r.method == method && matches(r.pattern, segs) {
			return r.handle
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

func (c *call) tenants() (*reply, error) {
	return answer(http.StatusOK, Doc{"value": []any{Doc{"id": "/tenants/" + c.Tenant, "tenantId": c.Tenant, "displayName": "Sandbox",
		"defaultDomain": "sandbox.onmicrosoft.com", "tenantCategory": "Home", "tenantType": "AAD", "countryCode": "US", "domains": []any{"sandbox.onmicrosoft.com"}}}}), nil
}

func (c *call) subscriptionDoc() Doc {
	return Doc{"id": "/subscriptions/" + c.Subscription, "subscriptionId": c.Subscription, "tenantId": c.Tenant, "displayName": "Sandbox",
		"state": "Enabled", "authorizationSource": "RoleBased", "managedByTenants": []any{},
		"subscriptionPolicies": Doc{"locationPlacementId": "Public_2014-09-01", "quotaId": "PayAsYouGo_2014-09-01", "spendingLimit": "Off"}}
}

func (c *call) subscriptions() (*reply, error) {
	list := []any{}
	if c.allowedBelow("", "/subscriptions/"+c.Subscription) {
		list = append(list, c.subscriptionDoc())
	}
	return answer(http.StatusOK, Doc{"value": list, "count": Doc{"type": "Total", "value": len(list)}}), nil
}

func (c *call) subscription() (*reply, error) {
	if !strings.EqualFold(c.path.Name(), c.Subscription) {
		return nil, failf(http.StatusNotFound, "SubscriptionNotFound", "The subscription '%s' could not be found.", c.path.Name())
	}
	return answer(http.StatusOK, c.subscriptionDoc()), nil
}

// resources lists tracked resources: those that have a life of their own.
func (c *call) resources() (*reply, error) {
	match := parseFilter(c.req.URL.Query().Get("$filter"))
	if group := c.path.ResourceGroup(); group != "" && c.get(group) == nil {
		return nil, groupNotFound(lastSegment(group))
	}
	out := []any{}
	for _, r := range c.within(c.path.Up(), "") {
		ns, _, _ := strings.Cut(r.Type, "/")
		if strings.Count(r.Type, "/") != 1 || ns == "Microsoft.Resources" || ns == "Microsoft.Authorization" || !match(r) || !c.visible(r) {
			continue
		}
		d := Doc{"id": r.ID, "name": r.Name, "type": r.Type, "location": r.Body["location"], "provisioningState": wire.Props(r.Body)["provisioningState"]}
		for _, optional := range []string{"tags", "sku", "kind", "zones", "managedBy", "identity"} {
			if v := r.Body[optional]; v != nil {
				d[optional] = v
			}
		}
		out = append(out, d)
	}
	return answer(http.StatusOK, Doc{"value": out}), nil
}

// cloudMetadata is what clients read to learn a cloud's endpoints; the newer form is an array.
func cloudMetadata(r *http.Request) any {
	d := Doc{"name": "AzureCloud", "portal": "https://portal.azure.com",
		"authentication":  Doc{"loginEndpoint": "https://login.microsoftonline.com", "audiences": []any{"https://management.core.windows.net/", "https://management.azure.com/"}, "tenant": "common", "identityProvider": "AAD"},
		"resourceManager": "https://management.azure.com/", "graph": "https://graph.windows.net/", "graphAudience": "https://graph.windows.net/",
		"microsoftGraphResourceId": "https://graph.microsoft.com/", "gallery": "https://gallery.azure.com/", "batch": "https://batch.core.windows.net/",
		"suffixes": Doc{"storage": "core.windows.net", "keyVaultDns": "vault.azure.net", "acrLoginServer": "azurecr.io"}}
	if r.URL.Query().Get("api-version") >= "2019-05-01" {
		return []any{d}
	}
	return d
}
