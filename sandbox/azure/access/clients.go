package access

import "strings"

// clients by what their user agents have in them; the first that fits counts.
var clients = []struct{ name, mark string }{
	{"hypershift", "hypershift"},
	{"cluster-api-provider-azure", "cluster-api-provider-azure"},
	{"azure-service-operator", "aso-controller"},
	{"cloud-provider-azure", "kubernetes-cloudprovider"},
	{"external-dns", "externaldns"},
	{"az", "azurecli"},
	{"azure-sdk-for-go", "azsdk-go"},
	{"azure-sdk-for-python", "azsdk-python"},
}

// ClientUnknown is a client whose user agent says nothing, such as a test that writes its requests by hand.
const ClientUnknown = "unknown"

// ClientOf names a client by its user agent.
func ClientOf(userAgent string) string {
	userAgent = strings.ToLower(userAgent)
	for _, c := range clients {
		if strings.Contains(userAgent, c.mark) {
			return c.name
		}
	}
	return ClientUnknown
}
