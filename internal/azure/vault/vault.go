// Package vault encrypts and decrypts with keys of Azure's key vaults.
package vault

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/security/keyvault/azkeys"

	"github.com/hypershift-on-azure/hypershift/internal/azure/clouds"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
)

// Key is one version of an RSA key in a key vault, and who uses it.
type Key struct {
	Vault, Name, Version string
	// ManagedHSM: the vault is a managed HSM.
	ManagedHSM bool
	// Cloud is AzurePublicCloud when empty.
	Cloud string
	// TenantID and ClientID are the identity's.
	TenantID, ClientID string
}

// ID is the key's address.
func (k Key) ID() (string, error) {
	suffix, err := k.suffix()
	if err != nil {
		return "", err
	}
	return "https://" + k.Vault + "." + suffix + "/keys/" + k.Name + "/" + k.Version, nil
}

func (k Key) suffix() (string, error) {
	suffixes := map[string]string{"": "azure.net", "AzurePublicCloud": "azure.net", "AzureUSGovernmentCloud": "usgovcloudapi.net", "AzureChinaCloud": "azure.cn",
		"AzureGermanCloud": "microsoftazure.de", "AzureBleuCloud": "sovcloud-api.fr"}
	suffix, known := suffixes[k.Cloud]
	switch {
	case !known:
		return "", fmt.Errorf("cloud %q has no key vaults that are known here", k.Cloud)
	case k.ManagedHSM:
		return "managedhsm." + suffix, nil
	}
	return "vault." + suffix, nil
}

// Vault encrypts and decrypts small values with a key that never leaves its vault: each call goes there.
type Vault struct {
	key    Key
	id     string
	client *azkeys.Client
}

// WithTokenFile signs in with the federated token in a file, which is read again whenever it is needed.
func WithTokenFile(key Key, tokenFile string) (*Vault, error) {
	return open(key, http.DefaultClient, func(options policy.ClientOptions) (azcore.TokenCredential, error) {
		return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
			ClientOptions: options, ClientID: key.ClientID, TenantID: key.TenantID, TokenFilePath: tokenFile, DisableInstanceDiscovery: true})
	})
}

// WithAssertion signs in with federated tokens that the function makes. A nil client reaches Azure as the environment says.
func WithAssertion(key Key, client *http.Client, assertion func(context.Context) (string, error)) (*Vault, error) {
	if client == nil {
		client = http.DefaultClient
	}
	return open(key, client, func(options policy.ClientOptions) (azcore.TokenCredential, error) {
		return azidentity.NewClientAssertionCredential(key.TenantID, key.ClientID, assertion,
			&azidentity.ClientAssertionCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true})
	})
}

func open(key Key, client *http.Client, signIn func(policy.ClientOptions) (azcore.TokenCredential, error)) (*Vault, error) {
	configuration, _, err := clouds.Named(key.Cloud)
	if err != nil {
		return nil, err
	}
	suffix, err := key.suffix()
	if err != nil {
		return nil, err
	}
	id, err := key.ID()
	if err != nil {
		return nil, err
	}
	options := policy.ClientOptions{Cloud: configuration, Telemetry: policy.TelemetryOptions{ApplicationID: "hypershift"}, Transport: client}
	credential, err := signIn(options)
	if err != nil {
		return nil, fmt.Errorf("prepare to sign in to key vault %s: %w", key.Vault, err)
	}
	keys, err := azkeys.NewClient("https://"+key.Vault+"."+suffix, credential, &azkeys.ClientOptions{ClientOptions: options})
	if err != nil {
		return nil, fmt.Errorf("prepare the client of key vault %s: %w", key.Vault, err)
	}
	return &Vault{key: key, id: id, client: keys}, nil
}

// oaep is what both directions use.
var oaep = azkeys.EncryptionAlgorithmRSAOAEP256

// Encrypt takes what fits into one RSA block: 190 bytes with a key of 2048 bits.
func (v *Vault) Encrypt(ctx context.Context, plain []byte) ([]byte, error) {
	out, err := v.client.Encrypt(ctx, v.key.Name, v.key.Version, azkeys.KeyOperationParameters{Algorithm: &oaep, Value: plain}, nil)
	if err != nil {
		return nil, v.wrap("encrypt with key", err)
	}
	return out.Result, nil
}

// Decrypt opens what Encrypt made with this version of the key.
func (v *Vault) Decrypt(ctx context.Context, sealed []byte) ([]byte, error) {
	out, err := v.client.Decrypt(ctx, v.key.Name, v.key.Version, azkeys.KeyOperationParameters{Algorithm: &oaep, Value: sealed}, nil)
	if err != nil {
		return nil, v.wrap("decrypt with key", err)
	}
	return out.Result, nil
}

// wrap says what to do about the refusals of a vault, which shares its codes with the resource manager.
func (v *Vault) wrap(op string, err error) error {
	wrapped := failure.Wrap(op, v.id, err)
	var e *failure.Error
	var answer *azcore.ResponseError
	if !errors.As(wrapped, &e) || !errors.As(err, &answer) {
		return wrapped
	}
	switch answer.StatusCode {
	case http.StatusForbidden:
		e.Remedy = fmt.Sprintf("give identity %s the role \"Key Vault Crypto User\" on vault %s, and check that the key is enabled", v.key.ClientID, v.key.Vault)
	case http.StatusNotFound:
		e.Remedy = "check the names of the vault and the key, and the key's version"
	}
	return wrapped
}
