package azure

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/hypershift-on-azure/hypershift/internal/azure/clouds"
)

// Session is a signed-in view of one subscription in one cloud.
type Session struct {
	Credentials
	arm        *arm.Client
	credential azcore.TokenCredential
	options    policy.ClientOptions
	suffixes   clouds.Endpoints
	audience   string // of the resource manager's tokens
	http       *http.Client
}

// Option changes how a session reaches Azure.
type Option func(*Session)

// WithHTTPClient sends every call through the client. Without it the proxy and the trusted authorities come from the environment.
func WithHTTPClient(client *http.Client) Option {
	return func(s *Session) { s.http = client }
}

// connections keeps as many idle connections to one host as calls may be under way.
var connections = func() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = callsAtOnce
	return &http.Client{Transport: transport}
}()

// NewSession signs in lazily: the first call to Azure asks for the token. An empty cloud name is AzurePublicCloud.
func NewSession(c Credentials, cloudName string, opts ...Option) (*Session, error) {
	configuration, suffixes, err := clouds.Named(cloudName)
	if err != nil {
		return nil, err
	}
	s := &Session{Credentials: c, suffixes: suffixes, http: connections}
	for _, opt := range opts {
		opt(s)
	}
	s.audience = configuration.Services[cloud.ResourceManager].Audience
	manager, err := url.Parse(configuration.Services[cloud.ResourceManager].Endpoint)
	if err != nil {
		return nil, fmt.Errorf("the resource manager of cloud %q: %w", cloudName, err)
	}
	options := policy.ClientOptions{
		Cloud:     configuration,
		Telemetry: policy.TelemetryOptions{ApplicationID: "hypershift"},
		Transport: gated{client: s.http, manager: manager.Host, throttle: throttleOf(c.SubscriptionID)},
	}
	credential, err := newCredential(c, options)
	if err != nil {
		return nil, fmt.Errorf("cannot prepare the Azure sign-in: %w", err)
	}
	client, err := arm.NewClient("hypershift", "v1.0.0", credential, &arm.ClientOptions{ClientOptions: options})
	if err != nil {
		return nil, fmt.Errorf("cannot prepare the Azure client: %w", err)
	}
	s.arm, s.credential, s.options = client, credential, options
	return s, nil
}

// publicTimeout and publicLimit bound the read of a public document.
const (
	publicTimeout = 30 * time.Second
	publicLimit   = 1 << 20
)

// ReadPublic reads a document as anyone may, without signing in, and returns the HTTP status with it.
func (s *Session) ReadPublic(ctx context.Context, address string) ([]byte, int, error) {
	return s.readPublic(ctx, address, publicLimit)
}

func (s *Session) readPublic(ctx context.Context, address string, limit int64) ([]byte, int, error) {
	ctx, cancel := context.WithTimeout(ctx, publicTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, err
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	return body, resp.StatusCode, err
}

// newCredential uses the client secret when there is one, otherwise the SDK's default chain, so that a signed-in Azure CLI
// or a workload identity serves as well. The authority is one of ours, so nobody has to be asked whether it can be trusted.
func newCredential(c Credentials, options policy.ClientOptions) (azcore.TokenCredential, error) {
	if c.ClientSecret != "" {
		return azidentity.NewClientSecretCredential(c.TenantID, c.ClientID, c.ClientSecret,
			&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true})
	}
	return azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: options, TenantID: c.TenantID})
}

// BlobEndpoint is the URL of a storage account's blob service.
func (s *Session) BlobEndpoint(account string) string {
	return "https://" + account + "." + s.suffixes.Blob
}
