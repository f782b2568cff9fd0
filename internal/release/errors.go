package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Reason says why an image could not be read.
type Reason string

const (
	// ReasonInvalidReference: the image name does not parse.
	ReasonInvalidReference Reason = "InvalidReference"
	// ReasonInvalidPullSecret: the pull secret or trust bundle does not parse.
	ReasonInvalidPullSecret Reason = "InvalidPullSecret"
	// ReasonUnauthorized: the registry refused the credentials.
	ReasonUnauthorized Reason = "Unauthorized"
	// ReasonNotFound: the registry has no such image.
	ReasonNotFound Reason = "NotFound"
	// ReasonUnreachable: the registry did not answer, or answered with an error that may pass.
	ReasonUnreachable Reason = "Unreachable"
	// ReasonNotAPayload: the image exists but is not a usable release payload.
	ReasonNotAPayload Reason = "NotAPayload"
	// ReasonNotAnImage: what the registry has under the name has no configuration that can be read.
	ReasonNotAnImage Reason = "NotAnImage"
	// ReasonArchNotFound: the image does not say for which known architecture it is.
	ReasonArchNotFound Reason = "ArchNotFound"
)

var remedies = map[Reason]string{
	ReasonInvalidReference:  "correct the image reference",
	ReasonInvalidPullSecret: "replace the pull secret by a valid dockerconfigjson and the trust bundle by PEM certificates",
	ReasonUnauthorized:      "add credentials for this registry to the pull secret",
	ReasonNotFound:          "check repository and tag or digest",
	ReasonUnreachable:       "check registry, proxy and trust bundle; it is tried again",
	ReasonNotAPayload:       "use an OpenShift-style release image",
	ReasonNotAnImage:        "use an image whose manifest and configuration can be read",
	ReasonArchNotFound:      "use a release image for amd64, arm64, ppc64le or s390x, or one for several",
}

// errUnusable marks content that another attempt will find unchanged.
var errUnusable = errors.New("unusable content")

// Error is every error of this package.
type Error struct {
	Image  string
	Reason Reason
	Cause  error
}

func (e *Error) Error() string {
	return fmt.Sprintf("read image %q: %s: %v; %s", e.Image, e.Reason, e.Cause, remedies[e.Reason])
}

func (e *Error) Unwrap() error { return e.Cause }

// Transient tells whether the same call may succeed later without a change by the user.
func (e *Error) Transient() bool { return e.Reason == ReasonUnreachable }

// remoteError classifies what a registry call returned. What is not known to be the image's fault may pass.
func remoteError(image string, err error) *Error {
	var (
		known     *Error
		status    *transport.Error
		syntax    *json.SyntaxError
		wrongType *json.UnmarshalTypeError
	)
	reason := ReasonUnreachable
	switch {
	case errors.As(err, &known):
		return &Error{Image: image, Reason: known.Reason, Cause: known.Cause}
	case errors.Is(err, errUnusable), errors.Is(err, remote.ErrSchema1), errors.As(err, &syntax), errors.As(err, &wrongType):
		reason = ReasonNotAPayload
	case errors.As(err, &status) && (status.StatusCode == http.StatusUnauthorized || status.StatusCode == http.StatusForbidden):
		reason = ReasonUnauthorized
	case errors.As(err, &status) && status.StatusCode == http.StatusNotFound:
		reason = ReasonNotFound
	}
	return &Error{Image: image, Reason: reason, Cause: err}
}
