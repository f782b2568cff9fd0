package arm

import (
	"regexp"
	"strings"
	"sync"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/roles"
)

// nameRule is what Azure demands of the names of a type, from "Naming rules and restrictions for Azure resources".
type nameRule struct {
	pattern *regexp.Regexp
	code    string
	demand  string

	shortest, longest int // 0: what the pattern says
}

func (r nameRule) takes(name string) bool {
	return r.pattern.MatchString(name) && len(name) >= r.shortest && (r.longest == 0 || len(name) <= r.longest)
}

const networkDemand = "The name can be up to %s characters long. It must begin with a word character, and it must end with a word character or with '_'. The name may contain word characters or '.', '-', '_'."

func networkName(shortest, longest string) nameRule {
	rest := map[string]string{"1": `{0,78}\w)?`, "2": `{0,62}\w)`}[shortest]
	return nameRule{pattern: regexp.MustCompile(`^[A-Za-z0-9]([\w.-]` + rest + `$`), code: "InvalidResourceName", demand: strings.ReplaceAll(networkDemand, "%s", longest)}
}

// nameRules by lower-cased type. Storage accounts and containers check theirs with their other properties.
var nameRules = sync.OnceValue(func() map[string]nameRule {
	zone := nameRule{pattern: regexp.MustCompile(`^(?i)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)+$`), code: "BadRequest", demand: "A zone name has at least two labels of up to 63 letters, digits, hyphens and underscores."}
	out := map[string]nameRule{
		typeResourceGroup:    {pattern: regexp.MustCompile(`^[\w.()-]{0,89}[\w()-]$`), code: "InvalidResourceGroup", demand: "The name can only be a letter, digit, '-', '.', '(', ')' or '_', must not end with '.' and has at most 90 characters."},
		roles.AssignmentType: {pattern: regexp.MustCompile(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`), code: "InvalidRoleAssignmentId", demand: "The role assignment ID must be a GUID."},
		entra.IdentityType:   {pattern: regexp.MustCompile(`^[A-Za-z0-9][\w-]{2,127}$`), code: "InvalidResourceName", demand: "The name has 3 to 128 letters, digits, hyphens and underscores and begins with a letter or a digit."},
		entra.CredentialType: {pattern: regexp.MustCompile(`^[A-Za-z0-9][\w-]{2,119}$`), code: "InvalidResourceName", demand: "The name has 3 to 120 letters, digits, hyphens and underscores and begins with a letter or a digit."},
		"Microsoft.KeyVault/vaults": {pattern: regexp.MustCompile(`^(?i)[a-z](-?[a-z0-9])*$`), code: "VaultNameNotValid", shortest: 3, longest: 24,
			demand: "The vault name has 3 to 24 letters, digits and hyphens, begins with a letter, ends with a letter or a digit and has no two hyphens in a row."},
		"Microsoft.Network/dnsZones":        zone,
		"Microsoft.Compute/disks":           {pattern: regexp.MustCompile(`^[\w.-]{1,80}$`), code: "InvalidParameter", demand: "The name has up to 80 letters, digits, underscores, periods and hyphens."},
		"Microsoft.Network/privateDnsZones": zone,
		"Microsoft.Compute/virtualMachines": {pattern: regexp.MustCompile(`^\w([\w.-]{0,62}\w)?$`), code: "InvalidParameter", demand: "The name has up to 64 letters, digits, periods, underscores and hyphens, and does not end with a period or a hyphen."},
		"Microsoft.Network/virtualNetworks": networkName("2", "64"),
	}
	for _, typ := range []string{"virtualNetworks/subnets", "networkSecurityGroups", "networkSecurityGroups/securityRules", "loadBalancers", "publicIPAddresses", "networkInterfaces", "natGateways", "routeTables", "privateEndpoints"} {
		out["Microsoft.Network/"+typ] = networkName("1", "80")
	}
	lower := map[string]nameRule{}
	for typ, r := range out {
		lower[strings.ToLower(typ)] = r
	}
	return lower
})

func checkName(p Path) error {
	r, ok := nameRules()[strings.ToLower(p.Type)]
	if !ok || r.takes(p.Name()) {
		return nil
	}
	return badRequest(r.code, "The name '%s' is invalid. %s", p.Name(), r.demand)
}
