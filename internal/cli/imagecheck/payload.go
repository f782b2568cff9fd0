// Package imagecheck asks registries from the user's machine: whether a release payload can run, and whether images are there.
package imagecheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// patience bounds what one question to a registry may take: a registry that only the clusters reach must not hold up who types.
const patience = 20 * time.Second

// Warn tells of something that does not end the command; formats have no line end.
type Warn func(format string, args ...any)

// Payload is a release image that somebody typed.
type Payload struct {
	// Flag that named it, such as --release-image, for messages.
	Flag, Image string
	Access      release.Access
	// Releases looks it up; nil reads the registry with the proxy and the trust of this machine.
	Releases release.Provider
}

// Check refuses an image that cannot run: what is no payload. What cannot be read
// from this machine it warns of, and leaves it to the operator, which may reach other registries; the release is nil then.
func (p Payload) Check(ctx context.Context, warn Warn) (*release.Release, error) {
	releases := p.Releases
	if releases == nil {
		releases = release.Reader{}
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := releases.Lookup(limited, p.Image, p.Access)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, err
	case unusable(err):
		return nil, fmt.Errorf("%s: %w", p.Flag, err)
	default:
		warn("warning: cannot see from here whether the payload of %s can run, the operator will: %v", p.Flag, err)
		return nil, nil
	}
	return found, nil
}

// unusable tells whether the image was read and is the wrong one.
func unusable(err error) bool {
	var failure *release.Error
	return errors.As(err, &failure) && slices.Contains([]release.Reason{release.ReasonNotAPayload, release.ReasonArchNotFound}, failure.Reason)
}
