package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Payload is the release that a hosted cluster is to run.
type Payload struct {
	Image  string
	Access release.Access
	// Releases looks it up.
	Releases release.Provider
	// Minors are those that the installed operator runs, such as 4.21; nil where that is not known, for the reason MinorsErr.
	Minors    []string
	MinorsErr error
	// Arch of the machines: amd64 or arm64.
	Arch string
}

const (
	pullSecretCheck = "pull secret"
	payloadCheck    = "release payload"
	versionCheck    = "release version"
)

// Release looks at the payload: that the pull secret opens its registry, and its images' registries too, that its kind runs, for the machines'
// architecture, and that the operator runs its version. The release is nil where it could not be read.
func Release(ctx context.Context, p Payload) ([]Check, *release.Release) {
	found, err := p.Releases.Lookup(ctx, p.Image, p.Access)
	if err != nil {
		return []Check{unread(err)}, nil
	}
	checks := []Check{Verdict(pullSecretCheck, Fail, true, "opens "+p.Image, "")}
	checks = append(checks, p.kind(found), p.version(found))
	return checks, found
}

// unread is a payload that could not be read, under the name of what is wrong.
func unread(err error) Check {
	var failure *release.Error
	if !errors.As(err, &failure) {
		return OfError(payloadCheck, Fail, err, "check --release-image")
	}
	switch failure.Reason {
	case release.ReasonUnauthorized, release.ReasonInvalidPullSecret:
		return Check{Name: pullSecretCheck, Status: Fail, Detail: err.Error(), Remedy: "give a pull secret with credentials for this registry by --pull-secret"}
	case release.ReasonUnreachable, release.ReasonPending:
		return Check{Name: payloadCheck, Status: Warn, Detail: err.Error(), Remedy: "the operator reads it, too, perhaps by another way; look from where it runs"}
	}
	return Check{Name: payloadCheck, Status: Fail, Detail: err.Error(), Remedy: "correct --release-image"}
}

// kind is what the payload carries, and for which machines.
func (p Payload) kind(found *release.Release) Check {
	if arch := string(found.Architecture); found.Architecture != release.ArchMulti && p.Arch != "" && arch != "" && !strings.EqualFold(arch, p.Arch) {
		return Check{Name: payloadCheck, Status: Fail, Detail: fmt.Sprintf("%s is for %s, and the machines are %s", p.Image, arch, p.Arch), Remedy: "give a payload for several architectures, or another --arch"}
	}
	return Verdict(payloadCheck, Fail, true, fmt.Sprintf("kind %s, for %s", found.Kind(), found.Architecture), "")
}

// version is held against what the operator says that it runs.
func (p Payload) version(found *release.Release) Check {
	if p.MinorsErr != nil {
		return Skipped(versionCheck, p.MinorsErr.Error(), "install the operator, and look again")
	}
	parsed, err := version.ParseSemantic(found.Version)
	if err != nil {
		return OfError(versionCheck, Fail, fmt.Errorf("version %q of the payload: %w", found.Version, err), "give another --release-image")
	}
	minor := fmt.Sprintf("%d.%d", parsed.Major(), parsed.Minor())
	return Verdict(versionCheck, Fail, slices.Contains(p.Minors, minor), fmt.Sprintf("%s; the operator runs %s", found.Version, strings.Join(p.Minors, ", ")), "give a release of one of these minor versions, or install another operator")
}
