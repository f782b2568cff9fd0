package azure

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
)

// UploadBlob writes a blob with the session's Entra token, never with the account key.
func (s *Session) UploadBlob(ctx context.Context, account, container, name, contentType string, content []byte) error {
	url := s.BlobEndpoint(account)
	client, err := azblob.NewClient(url, s.credential, &azblob.ClientOptions{ClientOptions: s.options})
	if err != nil {
		return failure.Wrap("upload", url+"/"+container+"/"+name, err)
	}
	_, err = client.UploadBuffer(ctx, container, name, content, &azblob.UploadBufferOptions{
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: to.Ptr(contentType)},
	})
	return failure.Wrap("upload", url+"/"+container+"/"+name, err)
}

// DeleteBlob removes a blob; an absent one is success.
func (s *Session) DeleteBlob(ctx context.Context, account, container, name string) error {
	url := s.BlobEndpoint(account)
	client, err := azblob.NewClient(url, s.credential, &azblob.ClientOptions{ClientOptions: s.options})
	if err != nil {
		return failure.Wrap("delete", url, err)
	}
	_, err = client.DeleteBlob(ctx, container, name, nil)
	if err = failure.Wrap("delete", url+"/"+container+"/"+name, err); failure.IsNotFound(err) {
		return nil
	}
	return err
}
