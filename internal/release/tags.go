package release

import (
	"context"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Tags are those of the repository in which an image lies, of the first mirror that has them or of the source. The error is an *Error.
func (r Reader) Tags(ctx context.Context, image string, access Access) ([]string, error) {
	return fromMirrors(ctx, r, mirrorTimeout, image, access, func(ctx context.Context, image string, options []remote.Option) ([]string, *Error) {
		reference, err := name.ParseReference(image)
		if err != nil {
			return nil, &Error{Image: image, Reason: ReasonInvalidReference, Cause: err}
		}
		tags, err := remote.List(reference.Context(), append(slices.Clone(options), remote.WithContext(ctx))...)
		if err != nil {
			return nil, remoteError(image, err)
		}
		return tags, nil
	})
}
