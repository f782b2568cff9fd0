package cloud

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/kubeclient"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
)

// The management cluster's service accounts are known to Azure: its issuer's documents are public blobs.
const (
	issuerAccount   = "hypershiftmanagement"
	issuerContainer = "oidc"
	// IssuerURL is the issuer of the management cluster's tokens.
	IssuerURL  = "https://" + issuerAccount + ".blob.core.windows.net/" + issuerContainer
	issuerKeys = "/openid/v1/jwks"
	// IssuerKeysURL is where its keys are.
	IssuerKeysURL = IssuerURL + issuerKeys

	// storageScope is what a token for blobs is asked for with.
	storageScope = "https://storage.azure.com/.default"

	apiStorage = "2023-05-01"
	apiRoles   = "2022-04-01"
	// blobContributor is the built-in role Storage Blob Data Contributor.
	blobContributor = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
)

// issuerObjects hold the documents, and let the service principal write them.
func issuerObjects() []armObject {
	account := groupID(names.ManagementGroup) + "/providers/Microsoft.Storage/storageAccounts/" + issuerAccount
	return []armObject{
		{account, apiStorage, object{"location": names.Location, "kind": "StorageV2", "sku": object{"name": "Standard_LRS"},
			"properties": object{"allowBlobPublicAccess": true}}},
		{account + "/blobServices/default/containers/" + issuerContainer, apiStorage, object{"properties": object{"publicAccess": "Blob"}}},
		{account + "/providers/Microsoft.Authorization/roleAssignments/5e41ce00-0000-4000-8000-000000000010", apiRoles, object{"properties": object{
			"principalId": names.ClientID, "principalType": "ServicePrincipal",
			"roleDefinitionId": "/subscriptions/" + names.SubscriptionID + "/providers/Microsoft.Authorization/roleDefinitions/" + blobContributor}}},
	}
}

// PublishIssuer writes what the API server of the kubeconfig says about its tokens to where Azure looks for it.
func PublishIssuer(ctx context.Context, dir, kubeconfig string) error {
	config, err := kubeclient.Config(kubeconfig)
	if err != nil {
		return err
	}
	server, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	storage, err := newARM(ctx, dir, storageScope)
	if err != nil {
		return err
	}
	return storage.publish(ctx, server, config.Host)
}

// publish copies the documents of the API server at the address.
func (a *arm) publish(ctx context.Context, server *http.Client, host string) error {
	for _, document := range []string{"/.well-known/openid-configuration", issuerKeys} {
		text, err := fetch(ctx, server, host+document)
		if err != nil {
			return fmt.Errorf("the issuer's %s: %w", document, err)
		}
		if err := a.putBlobOnceAllowed(ctx, IssuerURL+document, text); err != nil {
			return fmt.Errorf("publish the issuer's %s: %w", document, err)
		}
	}
	return nil
}

func fetch(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}

// roleSpread is how long a new role assignment is waited for.
const roleSpread = time.Minute

// putBlobOnceAllowed writes a blob as soon as the role for it has spread.
func (a *arm) putBlobOnceAllowed(ctx context.Context, url string, content []byte) error {
	ctx, cancel := context.WithTimeout(ctx, roleSpread)
	defer cancel()
	for {
		err := a.putBlob(ctx, url, content)
		var refused *statusError
		if !errors.As(err, &refused) || refused.status != http.StatusForbidden {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}

func (a *arm) putBlob(ctx context.Context, url string, content []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, url, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Ms-Version", "2023-11-03")
	request.Header.Set("X-Ms-Blob-Type", "BlockBlob")
	return a.do(request, nil)
}
