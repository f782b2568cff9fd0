package release

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/hypershift-on-azure/hypershift/internal/release/signature"
)

// signed looks for a signature of one of the keys where the image itself was found.
func signed(ctx context.Context, image, digest string, keys *signature.Keys, options []remote.Option) *Error {
	reference, err := name.ParseReference(image)
	if err != nil {
		return &Error{Image: image, Reason: ReasonInvalidReference, Cause: err}
	}
	hash, err := v1.NewHash(digest)
	if err != nil {
		return remoteError(image, fmt.Errorf("%w: %w", errUnusable, err))
	}
	at := signature.Tag(reference.Context().Digest(digest))
	signatures, err := remote.Image(at, append(slices.Clone(options), remote.WithContext(ctx))...)
	if err == nil {
		err = keys.Verify(hash, signatures)
	}
	var status *transport.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &status) && status.StatusCode == http.StatusNotFound:
		return &Error{Image: image, Reason: ReasonUnsigned, Cause: fmt.Errorf("%s: %w", at, signature.ErrNone)}
	case errors.Is(err, signature.ErrNone), errors.Is(err, signature.ErrUntrusted):
		return &Error{Image: image, Reason: ReasonUnsigned, Cause: fmt.Errorf("%s: %w", at, err)}
	}
	failure := remoteError(image, fmt.Errorf("read its signatures, %s: %w", at, err))
	if failure.Reason == ReasonNotAPayload {
		failure.Reason = ReasonUnsigned
	}
	return failure
}

// fixed refuses a payload that a name leads to, or that leads by a name to an image: the signature says nothing of where it leads later.
func (r *Release) fixed() error {
	if !byDigest(r.Image) {
		return &Error{Image: r.Image, Reason: ReasonMovable, Cause: fmt.Errorf("a tag may be moved after its signature was verified; today it leads to %s", r.ByDigest())}
	}
	for _, key := range slices.Sorted(maps.Keys(r.Images)) {
		if !byDigest(r.Images[key]) {
			return &Error{Image: r.Image, Reason: ReasonMovable, Cause: fmt.Errorf("its image for %s is %q", key, r.Images[key])}
		}
	}
	return nil
}

func byDigest(image string) bool {
	_, digest, found := strings.Cut(image, "@")
	_, err := v1.NewHash(digest)
	return found && err == nil
}
