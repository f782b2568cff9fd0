package azure

import (
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// Session is a signed-in view of one subscription in one cloud.
type Session struct {
	Credentials
	arm        *arm.Client
	credential azcore.TokenCredential
	options    policy.ClientOptions
	suffixes   endpoints
}

type endpoints struct {
	blob  string
	graph string
}

// NewSession signs in lazily: the first call to Azure asks for the token. An empty cloud name is AzurePublicCloud.
func NewSession(c Credentials, cloudName string) (*Session, error) {
	configuration, suffixes, err := cloudByName(cloudName)
	if err != nil {
		return nil, err
	}
	options := policy.ClientOptions{
		Cloud:     configuration,
		Telemetry: policy.TelemetryOptions{ApplicationID: "hypershift"},
	}
	credential, err := newCredential(c, options)
	if err != nil {
		return nil, fmt.Errorf("cannot prepare the Azure sign-in: %w", err)
	}
	client, err := arm.NewClient("hypershift", "v1.0.0", credential, &arm.ClientOptions{ClientOptions: options})
	if err != nil {
		return nil, fmt.Errorf("cannot prepare the Azure client: %w", err)
	}
	return &Session{Credentials: c, arm: client, credential: credential, options: options, suffixes: suffixes}, nil
}

// newCredential uses the client secret when there is one, otherwise the SDK's default chain, so that a signed-in Azure CLI
// or a workload identity serves as well.
func newCredential(c Credentials, options policy.ClientOptions) (azcore.TokenCredential, error) {
	if c.ClientSecret != "" {
		return azidentity.NewClientSecretCredential(c.TenantID, c.ClientID, c.ClientSecret,
			&azidentity.ClientSecretCredentialOptions{ClientOptions: options})
	}
	return azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: options, TenantID: c.TenantID})
}

func cloudByName(name string) (cloud.Configuration, endpoints, error) {
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
		return cloud.AzurePublic, endpoints{"blob.core.windows.net", "https://graph.microsoft.com"}, nil
	case "AzureUSGovernmentCloud":
		return cloud.AzureGovernment, endpoints{"blob.core.usgovcloudapi.net", "https://graph.microsoft.us"}, nil
	case "AzureChinaCloud":
		return cloud.AzureChina, endpoints{"blob.core.chinacloudapi.cn", "https://microsoftgraph.chinacloudapi.cn"}, nil
	case "AzureGermanCloud":
		return sovereign("https://login.microsoftonline.de/", "https://management.microsoftazure.de", "https://management.core.cloudapi.de/"),
			endpoints{"blob.core.cloudapi.de", "https://graph.microsoft.de"}, nil
	case "AzureBleuCloud":
		return sovereign("https://login.sovcloud-identity.fr/", "https://management.sovcloud-api.fr", "https://management.sovcloud-api.fr/"),
			endpoints{"blob.storage.sovcloud-api.fr", "https://graph.svc.sovcloud.fr"}, nil
	}
	return cloud.Configuration{}, endpoints{}, fmt.Errorf("--cloud %q is unknown; use AzurePublicCloud, AzureUSGovernmentCloud, AzureChinaCloud, AzureGermanCloud or AzureBleuCloud", name)
}

// BlobEndpoint is the URL of a storage account's blob service.
func (s *Session) BlobEndpoint(account string) string {
	return "https://" + account + "." + s.suffixes.blob
}
