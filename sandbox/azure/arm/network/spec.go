package network

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Spec is what the gateway serves of networks.
var Spec = provider.Spec{Namespace: "Microsoft.Network", Kinds: updating(slices.Concat(networkKinds, balancerKinds)),
	Routes: []provider.Route{{Method: "GET", Pattern: "subscriptions/*/providers/microsoft.network/locations/*/usages", Handle: usages}}}

// updating has a creation that is under way show as an update: older api-versions of this provider know no other state for it.
func updating(kinds []*provider.Kind) []*provider.Kind {
	for _, k := range kinds {
		k.Started = "Updating"
	}
	return kinds
}

const networkDemand = "The name can be up to %s characters long. It must begin with a word character, and it must end with a word character or with '_'. The name may contain word characters or '.', '-', '_'."

// commonName is the rule for all but virtual networks.
var commonName = networkName("1", "80")

func networkName(shortest, longest string) *provider.NameRule {
	rest := map[string]string{"1": `{0,78}\w)?`, "2": `{0,62}\w)`}[shortest]
	return &provider.NameRule{Pattern: provider.Pattern(`^[A-Za-z0-9]([\w.-]` + rest + `$`), Code: "InvalidResourceName", Demand: strings.ReplaceAll(networkDemand, "%s", longest)}
}

// maxPublicIPs is how many public addresses a subscription may have in a region, as usages shows it.
const maxPublicIPs = 1000

func usages(c *provider.Call) (*provider.Reply, error) {
	used := provider.Usage("PublicIPAddresses", "Public IP Addresses", len(c.Within("", typePublicIP)), maxPublicIPs)
	return provider.Answer(http.StatusOK, wire.Doc{"value": []any{used}}), nil
}
