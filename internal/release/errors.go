package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/hypershift-on-azure/hypershift/internal/egress"
)

// Reason says why an image could not be read.
type Reason string

const (
	// ReasonInvalidReference means that the image name does not parse.
	ReasonInvalidReference Reason = "InvalidReference"
	// ReasonInvalidPullSecret means that the pull secret or trust bundle does not parse.
	ReasonInvalidPullSecret Reason = "InvalidPullSecret"
	// ReasonUnauthorized means that the registry refused the credentials.
	ReasonUnauthorized Reason = "Unauthorized"
	// ReasonNotFound means that the registry has no such image.
	ReasonNotFound Reason = "NotFound"
	// ReasonUnreachable means that the registry did not answer, or answered with an error that may pass.
	ReasonUnreachable Reason = "Unreachable"
	// ReasonPending means that the registry was asked and has not answered yet; the answer is there for a later call.
	ReasonPending Reason = "Pending"
	// ReasonRefusedAddress means that the image leads to an address that the operator does not reach for tenants.
	ReasonRefusedAddress Reason = "RefusedAddress"
	// ReasonNotAPayload means that the image exists but is not a usable release payload.
	ReasonNotAPayload Reason = "NotAPayload"
	// ReasonUnsigned means that none of the keys that the installation trusts has signed the payload.
	ReasonUnsigned Reason = "Unsigned"
	// ReasonMovable means that a name of an image may lead elsewhere later, where nobody has signed what it leads to.
	ReasonMovable Reason = "Movable"
	// ReasonNotAnImage means that what the registry has under the name has no configuration that can be read.
	ReasonNotAnImage Reason = "NotAnImage"
	// ReasonArchNotFound means that the image does not say for which known architecture it is.
	ReasonArchNotFound Reason = "ArchNotFound"
)

var remedies = map[Reason]string{
	ReasonInvalidReference:  "correct the image reference",
	ReasonInvalidPullSecret: "replace the pull secret by a valid dockerconfigjson and the trust bundle by PEM certificates",
	ReasonUnauthorized:      "add credentials for this registry to the pull secret",
	ReasonNotFound:          "check repository and tag or digest",
	ReasonUnreachable:       "check registry, proxy and trust bundle; it is tried again",
	ReasonPending:           "the answer is waited for",
	ReasonRefusedAddress:    "use a registry that is reached by https at a public address",
	ReasonNotAPayload:       "use a release payload: an image that carries release-manifests/image-references",
	ReasonUnsigned:          "sign it by 'hypershift payload sign' with one of the keys of 'install --release-signature-keys', or use a release that is signed; a copy needs its signature beside it",
	ReasonMovable:           "name it by digest: this installation takes signed releases only",
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
	return fmt.Sprintf("read image %q: %s: %s; %s", e.Image, e.Reason, shortened(e.Cause), remedies[e.Reason])
}

func (e *Error) Unwrap() error { return e.Cause }

// causeBytes is what a message says of a cause at most: a registry may answer with megabytes, and messages end in conditions and logs.
const causeBytes = 1024

func shortened(cause error) string {
	text := strings.ToValidUTF8(fmt.Sprint(cause), "\uFFFD")
	if len(text) <= causeBytes {
		return text
	}
	return strings.ToValidUTF8(text[:causeBytes], "") + " …"
}

// Transient tells whether the same call may succeed later without a change by the user.
func (e *Error) Transient() bool { return e.Reason == ReasonUnreachable || e.Reason == ReasonPending }

// Pending tells whether the answer is on its way; when to ask again is then a matter of a moment, and nothing is known of the image.
func Pending(err error) bool {
	var failure *Error
	return errors.As(err, &failure) && failure.Reason == ReasonPending
}

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
	case errors.Is(err, egress.ErrRefused):
		reason = ReasonRefusedAddress
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
