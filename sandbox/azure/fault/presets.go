package fault

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Preset is a named fault of real Azure.
type Preset struct {
	Summary string
	Rule    Rule
}

const writes = "PUT,POST,PATCH,DELETE"

// presets by name. A rule that names one keeps what it sets itself.
var presets = map[string]Preset{
	"latency":        {"every answer takes 100 ms longer", Rule{Latency: Duration(100 * time.Millisecond)}},
	"throttled":      {"429 with Retry-After", Rule{Status: http.StatusTooManyRequests, Code: "TooManyRequests", Message: "The request is being throttled as the limit has been reached.", RetryAfter: Duration(time.Second)}},
	"conflict":       {"409: another operation is in progress", Rule{Plane: ARM, Method: "PUT,PATCH,DELETE", Status: http.StatusConflict, Code: "AnotherOperationInProgress", Message: "Another operation on this or dependent resource is in progress."}},
	"server-error":   {"503, the service is unavailable", Rule{Status: http.StatusServiceUnavailable, Code: "ServiceUnavailable", Message: "The service is temporarily unavailable. Please try again."}},
	"reset":          {"the connection is reset before anything happens", Rule{Reset: Before}},
	"lost-reply":     {"a write takes effect, then the connection is reset", Rule{Plane: ARM, Method: writes, Reset: After}},
	"operation-slow": {"long-running operations take longer", Rule{Plane: ARM, Method: writes, Operation: OperationSlow, Seconds: 30}},
	"operation-failed": {"long-running operations are accepted, then fail", Rule{Plane: ARM, Method: writes, Operation: OperationFail, Code: "InternalExecutionError",
		Message: "An internal execution error occurred. Please retry later."}},
	"principal-not-found": {"a new identity cannot be given a role yet: PrincipalNotFound", Rule{Plane: ARM, Method: "PUT", Path: "Microsoft.Authorization/roleAssignments/*", Propagate: Identity, Seconds: 5}},
	"role-delay":          {"a new role assignment grants nothing yet: 403, then ok", Rule{Propagate: Role, Seconds: 5}},
	"federation-delay":    {"a new federated credential is not known yet, and a refusal is remembered: AADSTS70021", Rule{Plane: Entra, Method: "POST", Propagate: Federation, Code: "70021", Seconds: 5}},
	"quota-exceeded":      {"the quota for a resource type is used up", create("Microsoft.Compute/virtualMachines/*", http.StatusConflict, "QuotaExceeded", "Operation could not be completed as it results in exceeding the approved quota of this subscription in this region.")},
	"policy-denied":       {"a policy forbids the creation of resources", create("", http.StatusForbidden, "RequestDisallowedByPolicy", "Resource was disallowed by policy. Policy identifiers: '[{\"policyAssignment\":{\"name\":\"sandbox\"}}]'.")},
	"name-taken":          {"the name of a storage account is another customer's", create("Microsoft.Storage/storageAccounts/*", http.StatusConflict, "StorageAccountAlreadyTaken", "The storage account name is already taken.")},
	"vault-denied":        {"a key vault refuses the use of its keys", Rule{Plane: Vault, Method: "POST", Status: http.StatusForbidden, Code: "Forbidden", Message: "Caller is not authorized to perform action on resource."}},
	"sku-not-available":   {"no capacity for the size of a virtual machine", create("Microsoft.Compute/virtualMachines/*", http.StatusConflict, "SkuNotAvailable", "The requested VM size for resource is currently not available in this location. Please try another size or deploy to a different location or different zone.")},
	"marketplace":         {"the subscription may not buy the image", create("Microsoft.Compute/virtualMachines/*", http.StatusBadRequest, "MarketplacePurchaseEligibilityFailed", "Marketplace purchase eligibility check returned errors.")},
	"group-not-found":     {"a resource group is not there yet where it is needed", once(create("resourceGroups/*/providers/**", http.StatusNotFound, "ResourceGroupNotFound", "The resource group could not be found."))},
	"public-access-disabled": {"a policy turns public blobs off on storage accounts", Rule{Plane: ARM, Method: "PUT,PATCH", Path: "Microsoft.Storage/storageAccounts/*",
		Patch: map[string]any{"properties": map[string]any{"allowBlobPublicAccess": false}}}},
	"paging":  {"lists come in pages with a nextLink", Rule{Plane: ARM, Method: "GET", PageSize: 2}},
	"id-case": {"ids in answers are spelled in another case", Rule{Plane: ARM, IDCase: true}},
	"clock":   {"the clock of the token service is ahead: expired tokens, AADSTS700024", Rule{Plane: Entra, Clock: Duration(2 * time.Hour)}},
}

func create(path string, status int, code, message string) Rule {
	return Rule{Plane: ARM, Method: "PUT", Path: path, Create: true, Status: status, Code: code, Message: message}
}

func once(r Rule) Rule {
	r.Count = 1
	return r
}

// Presets returns the named faults.
func Presets() map[string]Preset { return maps.Clone(presets) }

// complete fills what a rule leaves empty from its preset.
func complete(r Rule) (Rule, error) {
	if r.Chance > 0 && r.Seed == 0 {
		r.Seed = 1
	}
	if r.Preset == "" {
		return r, nil
	}
	p, ok := presets[r.Preset]
	if !ok {
		return r, fmt.Errorf("fault: there is no preset %q: use one of %s", r.Preset, strings.Join(slices.Sorted(maps.Keys(presets)), ", "))
	}
	// JSON leaves zero values out, so what is set stays on top of a copy of the preset.
	base, err := json.Marshal(p.Rule)
	if err != nil {
		return r, err
	}
	own, err := json.Marshal(r)
	if err != nil {
		return r, err
	}
	var out Rule
	if err := json.Unmarshal(base, &out); err != nil {
		return r, err
	}
	err = json.Unmarshal(own, &out)
	return out, err
}
