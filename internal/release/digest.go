package release

import (
	"context"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Digest is what an image's reference leads to, "sha256:…", at the first mirror that has it or at its source. The error is an *Error.
func (r Reader) Digest(ctx context.Context, image string, access Access) (string, error) {
	return fromMirrors(ctx, r, mirrorTimeout, image, access, func(ctx context.Context, image string, options []remote.Option) (string, *Error) {
		reference, err := name.ParseReference(image)
		if err != nil {
			return "", &Error{Image: image, Reason: ReasonInvalidReference, Cause: err}
		}
		descriptor, err := remote.Get(reference, append(slices.Clone(options), remote.WithContext(ctx))...)
		if err != nil {
			return "", remoteError(image, err)
		}
		return descriptor.Digest.String(), nil
	})
}
