package azure

import (
	"context"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/hypershift-on-azure/hypershift/internal/azure/clouds"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
)

// As is a view of the same subscription, signed in as the client that the assertion is presented for. The assertion is asked
// for each time a token is needed.
func (s *Session) As(clientID string, assertion func(context.Context) (string, error)) (*Session, error) {
	credential, err := azidentity.NewClientAssertionCredential(s.TenantID, clientID, assertion,
		&azidentity.ClientAssertionCredentialOptions{ClientOptions: s.options})
	if err != nil {
		return nil, failure.Wrap(signInAs, clientID, err)
	}
	return s.with(clientID, credential)
}

// WithSecret is a view of the same subscription, signed in as a service principal with its secret.
func (s *Session) WithSecret(clientID, secret string) (*Session, error) {
	credential, err := azidentity.NewClientSecretCredential(s.TenantID, clientID, secret,
		&azidentity.ClientSecretCredentialOptions{ClientOptions: s.options})
	if err != nil {
		return nil, failure.Wrap(signInAs, clientID, err)
	}
	return s.with(clientID, credential)
}

const signInAs = "sign in as"

func (s *Session) with(clientID string, credential azcore.TokenCredential) (*Session, error) {
	client, err := arm.NewClient("hypershift", "v1.0.0", credential, &arm.ClientOptions{ClientOptions: s.options})
	if err != nil {
		return nil, failure.Wrap(signInAs, clientID, err)
	}
	as := *s
	as.ClientID, as.ClientSecret, as.credential, as.arm = clientID, "", credential, client
	return &as, nil
}

// SignIn asks for an access token and says why there is none.
func (s *Session) SignIn(ctx context.Context) error {
	_, err := s.credential.GetToken(ctx, s.managerToken())
	return failure.Wrap(signInAs, s.ClientID, err)
}

// Federation is an identity that is taken on with federated tokens, and nothing else.
type Federation struct {
	// Cloud is AzurePublicCloud when empty.
	Cloud              string
	TenantID, ClientID string
}

// SignIn asks for an access token that nobody uses, and says why there is none. A nil client reaches Azure as the environment says.
func (f Federation) SignIn(ctx context.Context, client *http.Client, assertion func(context.Context) (string, error)) error {
	credential, options, err := f.credential(client, assertion)
	if err != nil {
		return err
	}
	_, err = credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{options.Cloud.Services[cloud.ResourceManager].Audience + "/.default"}})
	return failure.Wrap(signInAs, f.ClientID, err)
}

// credential takes the identity on, with the options of everybody who uses it.
func (f Federation) credential(client *http.Client, assertion func(context.Context) (string, error)) (azcore.TokenCredential, policy.ClientOptions, error) {
	configuration, _, err := clouds.Named(f.Cloud)
	if err != nil {
		return nil, policy.ClientOptions{}, err
	}
	if client == nil {
		client = http.DefaultClient
	}
	options := policy.ClientOptions{Cloud: configuration, Telemetry: policy.TelemetryOptions{ApplicationID: "hypershift"}, Transport: client}
	credential, err := azidentity.NewClientAssertionCredential(f.TenantID, f.ClientID, assertion, &azidentity.ClientAssertionCredentialOptions{
		ClientOptions: options,
		// Another request to Entra, for what the cloud's name says already.
		DisableInstanceDiscovery: true,
	})
	return credential, options, failure.Wrap(signInAs, f.ClientID, err)
}
