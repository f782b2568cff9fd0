package azure

import (
	"context"
	"errors"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
)

// PutIf is Put that takes effect only while the resource is at the etag; an empty etag means that there is none yet. It is not
// repeated when the answer is lost: the second call would find the work of the first and take it for somebody else's.
func (s *Session) PutIf(ctx context.Context, id, apiVersion, etag string, body Resource) (*Resource, error) {
	condition := http.Header{"If-Match": {etag}}
	if etag == "" {
		condition = http.Header{"If-None-Match": {"*"}}
	}
	ctx = policy.WithRetryOptions(policy.WithHTTPHeader(ctx, condition), policy.RetryOptions{MaxRetries: -1})
	return s.Put(ctx, id, apiVersion, body)
}

// DeleteIf is Delete that takes effect only while the resource is at the etag; an absent one is success.
func (s *Session) DeleteIf(ctx context.Context, id, apiVersion, etag string) error {
	return s.Delete(policy.WithHTTPHeader(ctx, http.Header{"If-Match": {etag}}), id, apiVersion)
}

// IsChanged tells that the condition of PutIf or DeleteIf does not hold.
func IsChanged(err error) bool {
	var e *failure.Error
	return errors.As(err, &e) && e.Status == http.StatusPreconditionFailed
}
