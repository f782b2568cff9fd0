package calls

import (
	"strings"
	"testing"
)

const log = `{"plane":"arm","method":"PUT","url":"https://management.azure.com/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm?api-version=1","status":201,"userAgent":"cluster-api-provider-azure/v1 azsdk-go"}
{"plane":"arm","method":"PUT","url":"https://management.azure.com/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm2?api-version=1","status":200,"userAgent":"cluster-api-provider-azure/v1 azsdk-go"}
{"plane":"arm","method":"PUT","url":"https://management.azure.com/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/no?api-version=1","status":409,"userAgent":"cluster-api-provider-azure/v1 azsdk-go"}
{"plane":"arm","method":"GET","url":"https://management.azure.com/subscriptions/s/resourceGroups/g?api-version=1","status":200}
{"plane":"arm","method":"PUT","url":"https://management.azure.com/subscriptions/s/resourcegroups/g?api-version=1","status":201,"userAgent":"hypershift/v1"}
{"plane":"arm","method":"DELETE","url":"https://management.azure.com/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n?api-version=1","status":202,"userAgent":"hypershift/v1"}
{"plane":"arm","method":"POST","url":"https://management.azure.com/subscriptions/s/providers/Microsoft.Compute/register?api-version=1","status":200,"userAgent":"hypershift/v1"}
{"plane":"entra","method":"POST","url":"https://login.microsoftonline.com/t/oauth2/v2.0/token","status":200,"userAgent":"hypershift/v1"}
{"plane":"graph","method":"PATCH","url":"https://graph.microsoft.com/v1.0/applications(appId='x')","status":204,"userAgent":"hypershift/v1"}
{"plane":"arm","method":"PUT","url":"https://management.azure.com/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/providers/Microsoft.Authorization/roleAssignments/r","status":0}
`

// Writes that were accepted are counted by client, method and type, and each says what real Azure may answer. Reads are not listed, nor
// what was refused or had no answer.
func TestRead(t *testing.T) {
	found, err := Read(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	codes, counts := map[string]string{}, map[string]int{}
	for _, c := range found {
		key := c.Client + " " + c.Method + " " + c.Type
		counts[key] = c.Count
		for _, r := range c.Refusals {
			if r.Because == "" || r.Remedy == "" {
				t.Errorf("%s: %s has no cause or no remedy", key, r.Code)
			}
			codes[key] += r.Code + " "
		}
	}
	for key, want := range map[string]string{
		"cluster-api-provider-azure PUT Microsoft.Compute/virtualMachines": "OperationNotAllowed SkuNotAvailable AllocationFailed OverconstrainedZonalAllocationRequest InvalidParameter MarketplacePurchaseEligibilityFailed RequestDisallowedByPolicy ",
		"hypershift PUT Microsoft.Resources/resourceGroups":                "RequestDisallowedByPolicy ",
		"hypershift DELETE Microsoft.Network/virtualNetworks/subnets":      "ScopeLocked ",
		"hypershift POST Microsoft.Resources/providers":                    "AuthorizationFailed ",
		"hypershift POST entra/token":                                      "AADSTS53003 AADSTS50076 ",
		"hypershift PATCH graph/applications":                              "Authorization_RequestDenied ",
	} {
		if codes[key] != want {
			t.Errorf("%s: %q, want %q", key, codes[key], want)
		}
		delete(codes, key)
	}
	if len(codes) > 0 || len(found) != 6 {
		t.Errorf("%d calls, too many: %v", len(found), codes)
	}
	if n := counts["cluster-api-provider-azure PUT Microsoft.Compute/virtualMachines"]; n != 2 {
		t.Errorf("%d virtual machines", n)
	}
}

func TestTypeOf(t *testing.T) {
	for path, want := range map[string]string{
		"/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/providers/Microsoft.Authorization/roleAssignments/r": "Microsoft.Authorization/roleAssignments",
		"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm/start":                                              "Microsoft.Compute/virtualMachines",
		"/subscriptions/s": "Microsoft.Resources/subscriptions",
	} {
		if got := typeOf(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestReadRefusesWhatIsNoLog(t *testing.T) {
	if _, err := Read(strings.NewReader("no\n")); err == nil || !strings.Contains(err.Error(), "access log") {
		t.Error(err)
	}
}
