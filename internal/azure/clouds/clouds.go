// Package clouds knows where the services of each of Azure's clouds are.
package clouds

import (
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"

	"github.com/hypershift-on-azure/hypershift/internal/field"
)

// Endpoints are what the SDK does not know of a cloud.
type Endpoints struct {
	Blob  string // suffix of storage accounts
	Graph string // address of Microsoft Graph
}

// Names are those of the clouds that there are.
var Names = []string{"AzurePublicCloud", "AzureUSGovernmentCloud", "AzureChinaCloud", "AzureGermanCloud", "AzureBleuCloud"}

// Named finds a cloud; no name is AzurePublicCloud.
func Named(name string) (cloud.Configuration, Endpoints, error) {
	sovereign := func(authority, manager, audience string) cloud.Configuration {
		return cloud.Configuration{
			ActiveDirectoryAuthorityHost: authority,
			Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
				cloud.ResourceManager: {Endpoint: manager, Audience: audience},
			},
		}
	}
	switch name {
	case "", "AzurePublicCloud":
		return cloud.AzurePublic, Endpoints{Blob: "blob.core.windows.net", Graph: "https://graph.microsoft.com"}, nil
	case "AzureUSGovernmentCloud":
		return cloud.AzureGovernment, Endpoints{Blob: "blob.core.usgovcloudapi.net", Graph: "https://graph.microsoft.us"}, nil
	case "AzureChinaCloud":
		return cloud.AzureChina, Endpoints{Blob: "blob.core.chinacloudapi.cn", Graph: "https://microsoftgraph.chinacloudapi.cn"}, nil
	case "AzureGermanCloud":
		return sovereign("https://login.microsoftonline.de/", "https://management.microsoftazure.de", "https://management.core.cloudapi.de/"),
			Endpoints{Blob: "blob.core.cloudapi.de", Graph: "https://graph.microsoft.de"}, nil
	case "AzureBleuCloud":
		return sovereign("https://login.sovcloud-identity.fr/", "https://management.sovcloud-api.fr", "https://management.sovcloud-api.fr/"),
			Endpoints{Blob: "blob.storage.sovcloud-api.fr", Graph: "https://graph.svc.sovcloud.fr"}, nil
	}
	last := len(Names) - 1
	return cloud.Configuration{}, Endpoints{}, fmt.Errorf("--cloud %q is unknown; use %s or %s%s", name,
		strings.Join(Names[:last], ", "), Names[last], field.Suggest(name, Names))
}
