package calls

import (
	"net/http"
	"strings"
)

// Refusal is an answer of real Azure for a reason that lies with the subscription, the directory, the region or other customers.
type Refusal struct {
	Because string `json:"because"` // quota, capacity, policy, feature, terms, name, directory or lock
	Code    string `json:"code"`    // as Azure says it
	Remedy  string `json:"remedy"`
}

// What may be refused of every type.
var (
	policy = Refusal{"policy", "RequestDisallowedByPolicy", "ask who governs the subscription for an exemption, or tag and place resources as the policy wants (--tags, --resource-group-tags, --location)"}
	lock   = Refusal{"lock", "ScopeLocked", "take the lock off: az lock delete"}
)

func quota(code, what string) Refusal {
	return Refusal{"quota", code, "ask for more " + what + ": az quota, or a support request"}
}

// refusals are those of a type in the order of how often people meet them. Causes and limits are those of
// https://learn.microsoft.com/azure/azure-resource-manager/management/azure-subscription-service-limits and
// https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors. The codes of networks' quotas
// are not on these pages and were never seen from real Azure.
var refusals = map[string][]Refusal{
	"microsoft.compute/virtualmachines": {
		quota("OperationNotAllowed", "vCPUs of the size's family in the region (az vm list-usage)"),
		{"capacity", "SkuNotAvailable", "another size, zone or region: az vm list-skus --all shows restrictions"},
		{"capacity", "AllocationFailed", "wait, or another size or zone"},
		{"capacity", "OverconstrainedZonalAllocationRequest", "another zone, or a size without a local disk"},
		{"feature", "InvalidParameter", "register the feature for encryption at host: az feature register --namespace Microsoft.Compute --name EncryptionAtHost"},
		{"terms", "MarketplacePurchaseEligibilityFailed", "accept the image's terms (az vm image terms accept), in a subscription that may buy"},
	},
	"microsoft.compute/disks":           {quota("OperationNotAllowed", "disks of this kind in the region")},
	"microsoft.network/virtualnetworks": {quota("VnetCountLimitReached", "virtual networks")},
	"microsoft.network/publicipaddresses": {
		quota("PublicIPCountLimitReached", "public addresses of SKU Standard (az network list-usages)"),
	},
	"microsoft.network/loadbalancers":                                               {quota("LoadBalancerCountLimitReached", "load balancers of SKU Standard")},
	"microsoft.network/networksecuritygroups":                                       {quota("NetworkSecurityGroupCountLimitReached", "network security groups")},
	"microsoft.network/networkinterfaces":                                           {quota("NetworkInterfaceCountLimitReached", "network interfaces")},
	"microsoft.network/dnszones":                                                    {{"name", "BadRequest", "a domain that is reserved or delegated to too many zones of other customers already: another name"}},
	"microsoft.network/privatednszones":                                             {quota("PrivateDnsZoneCountLimitReached", "private DNS zones")},
	"microsoft.authorization/roleassignments":                                       {quota("RoleAssignmentLimitExceeded", "role assignments (4000 in a subscription)"), {"policy", "AuthorizationFailed", "the right to give roles has a condition: ask its owner for these roles and principals"}},
	"microsoft.managedidentity/userassignedidentities/federatedidentitycredentials": {{"policy", "RequestDisallowedByPolicy", "a policy allows federation with listed issuers alone: have the issuer's host added"}},
	"microsoft.storage/storageaccounts": {
		{"name", "StorageAccountAlreadyTaken", "another name: it is unique over all customers"},
		{"policy", "RequestDisallowedByPolicy", "public blobs are often forbidden: publish the issuer elsewhere with --issuer-url"},
		quota("MaxStorageAccountsCountPerSubscriptionExceeded", "storage accounts"),
	},
	"microsoft.keyvault/vaults":     {{"name", "VaultAlreadyExists", "another name: it is unique over all customers, deleted vaults included"}},
	"microsoft.resources/providers": {{"directory", "AuthorizationFailed", "an owner registers the provider once: az provider register"}},
	"entra/token":                   {{"directory", "AADSTS53003", "conditional access forbids the sign-in: have the identity or the network excepted"}, {"directory", "AADSTS50076", "sign in with multi-factor authentication: az login"}},
	"graph/applications":            {{"directory", "Authorization_RequestDenied", "who administers the directory lets you register applications, or makes it for you"}},
	"graph/serviceprincipals":       {{"directory", "Authorization_RequestDenied", "as for applications"}},
}

// refusalsOf are those of a request that makes or changes something; one that deletes meets locks alone.
func refusalsOf(method, name string) []Refusal {
	own := refusals[strings.ToLower(name)]
	if !strings.HasPrefix(strings.ToLower(name), "microsoft.") {
		return own
	}
	switch method {
	case http.MethodDelete:
		return []Refusal{lock}
	case http.MethodPut, http.MethodPatch:
		if len(own) > 0 && own[len(own)-1].Code == policy.Code {
			return own
		}
		return append(own[:len(own):len(own)], policy)
	}
	return own
}
