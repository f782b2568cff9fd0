package azure

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"k8s.io/utils/ptr"

	"github.com/hypershift-on-azure/hypershift/internal/azure/clouds"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
)

const (
	blockSize = 4 << 20
	// clockSkew is how far this machine's clock may be ahead of Azure's when a signature begins to count.
	clockSkew = 5 * time.Minute
)

// BlobStore writes blobs of one storage account, signed in with federated tokens and nothing else.
type BlobStore struct {
	endpoint string
	client   *azblob.Client
}

// Blobs opens a storage account with the identity. A nil client reaches Azure as the environment says.
func (f Federation) Blobs(account string, client *http.Client, assertion func(context.Context) (string, error)) (*BlobStore, error) {
	_, suffixes, err := clouds.Named(f.Cloud)
	if err != nil {
		return nil, err
	}
	credential, options, err := f.credential(client, assertion)
	if err != nil {
		return nil, err
	}
	endpoint := "https://" + account + "." + suffixes.Blob
	opened, err := azblob.NewClient(endpoint, credential, &azblob.ClientOptions{ClientOptions: options})
	if err != nil {
		return nil, failure.Wrap("open", endpoint, err)
	}
	return &BlobStore{endpoint: endpoint, client: opened}, nil
}

// Upload writes a file as a new blob and returns the blob's URL. A blob of the name is left as it is, and an error; what was cut off is
// no blob. The metadata is read back with the blob, in headers x-ms-meta-NAME.
func (b *BlobStore) Upload(ctx context.Context, container, name string, file *os.File, metadata map[string]string) (string, error) {
	address := b.endpoint + "/" + container + "/" + name
	info, err := file.Stat()
	if err != nil {
		return "", fmt.Errorf("read %s: %w", file.Name(), err)
	}
	described := map[string]*string{}
	for key, value := range metadata {
		described[key] = to.Ptr(value)
	}
	_, err = b.client.UploadFile(ctx, container, name, file, &azblob.UploadFileOptions{
		BlockSize: blockSize, Metadata: described,
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}},
	})
	if err != nil {
		return "", failure.Wrap("upload", address, err)
	}
	found, err := b.client.ServiceClient().NewContainerClient(container).NewBlobClient(name).GetProperties(ctx, nil)
	if err != nil {
		return "", failure.Wrap("look at", address, err)
	}
	if size := ptr.Deref(found.ContentLength, -1); size != info.Size() {
		return "", fmt.Errorf("upload %s: it should have %d bytes and has %d; delete it and begin anew", address, info.Size(), size)
	}
	return address, nil
}

// SignBlobURL adds a signature to a blob's URL with which anybody reads this one blob, by HTTPS, for as long as life says. It is made
// with a key that Azure delegates to the session's identity, never with the account's.
func (s *Session) SignBlobURL(ctx context.Context, address string, now time.Time, life time.Duration) (string, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("%q is no URL of a blob", address)
	}
	account, suffix, _ := strings.Cut(parsed.Host, ".")
	container, name, ok := strings.Cut(strings.TrimPrefix(parsed.Path, "/"), "/")
	if !ok || parsed.Scheme != "https" || name == "" || suffix != s.suffixes.Blob {
		return "", fmt.Errorf("%q is no blob of this cloud: https://ACCOUNT.%s/CONTAINER/NAME", address, s.suffixes.Blob)
	}
	client, err := service.NewClient(s.BlobEndpoint(account), s.credential, &service.ClientOptions{ClientOptions: s.options})
	if err != nil {
		return "", failure.Wrap("sign", address, err)
	}
	begin, end := now.UTC().Add(-clockSkew), now.UTC().Add(life)
	delegated, err := client.GetUserDelegationCredential(ctx, service.KeyInfo{
		Start: to.Ptr(begin.Format(sas.TimeFormat)), Expiry: to.Ptr(end.Format(sas.TimeFormat))}, nil)
	if err != nil {
		return "", failure.Wrap("sign", address, err)
	}
	signed, err := sas.BlobSignatureValues{Protocol: sas.ProtocolHTTPS, StartTime: begin, ExpiryTime: end, ContainerName: container, BlobName: name,
		Permissions: (&sas.BlobPermissions{Read: true}).String()}.SignWithUserDelegation(delegated)
	if err != nil {
		return "", failure.Wrap("sign", address, err)
	}
	parsed.RawQuery = signed.Encode()
	return parsed.String(), nil
}
