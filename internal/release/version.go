package release

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

const (
	// lastOfMajor4 is the minor version that 5.0 renumbers: 4.23 and 5.0 are one release line under two names.
	lastOfMajor4 = 23
	// lastOpenShiftSDN is the newest minor version that installs OpenShiftSDN; OVNKubernetes begins after it.
	lastOpenShiftSDN = 10
)

// The range of releases this build runs. Below 4.8 no annotation helps: payloads had another form.
var (
	oldestSupported = version.MustParseSemantic("4.14.0")
	newestSupported = version.MustParseSemantic("5.1.0")
	oldestReadable  = version.MustParseSemantic("4.8.0")
)

// Minor counts minor versions across the renumbering of 4.23 to 5.0, so that differences are distances.
func Minor(v *version.Version) int {
	minor := int(v.Minor())
	if v.Major() >= 5 {
		return minor + lastOfMajor4*int(v.Major()-4)
	}
	return minor
}

// AtLeast tells whether a release version is of this minor version or a newer one, pre-releases included.
func AtLeast(v string, major, minor uint) (bool, error) {
	parsed, err := version.ParseSemantic(v)
	if err != nil {
		return false, fmt.Errorf("release version %q is not a semantic version: %w", v, err)
	}
	return Minor(parsed) >= Minor(version.MajorMinor(major, minor)), nil
}

// SupportedMinors lists the minor versions this build runs, the newest first. 5.0 and 4.23 are two names of one.
func SupportedMinors() []string {
	var minors []string
	for minor := int(newestSupported.Minor()); minor >= 0; minor-- {
		minors = append(minors, fmt.Sprintf("%d.%d", newestSupported.Major(), minor))
	}
	for minor := lastOfMajor4; minor >= int(oldestSupported.Minor()); minor-- {
		minors = append(minors, fmt.Sprintf("%d.%d", oldestSupported.Major(), minor))
	}
	return minors
}

// Policy says to which releases a cluster or a node pool may go.
type Policy struct {
	// Current is the version it runs; nil before the first is complete.
	Current *version.Version
	// Begun is the version of an upgrade to which etcd or the API server has moved already, as Begun tells; nil without one.
	Begun *version.Version
	// Network is the plugin of the cluster; empty means any.
	Network hyperv1.NetworkType
	// AnyVersion drops the limits of what this build supports, as the annotation skip-release-image-validation asks for.
	AnyVersion bool
}

// Check parses a release's version and tells why it may not be rolled out.
func (p Policy) Check(v string) (*version.Version, error) {
	target, err := version.ParseSemantic(v)
	if err != nil {
		return nil, fmt.Errorf("release version %q is not a semantic version; use a release image: %w", v, err)
	}
	if err := p.inRange(target); err != nil {
		return nil, err
	}
	for _, runs := range []*version.Version{p.Begun, p.Current} {
		if runs != nil && Minor(target) < Minor(runs) {
			return nil, fmt.Errorf("release %s is older than %s, which runs: a minor version cannot be taken back; "+
				"choose a release of the same or a newer minor version", target, runs)
		}
	}
	return target, p.fitsNetwork(target)
}

func (p Policy) inRange(target *version.Version) error {
	if target.Major() < 4 || Minor(target) < Minor(oldestReadable) {
		return fmt.Errorf("release %s is not supported: the oldest that can be read is %s; choose a newer one", target, MinorName(oldestReadable))
	}
	if !p.AnyVersion && (Minor(target) < Minor(oldestSupported) || Minor(target) > Minor(newestSupported)) {
		return fmt.Errorf("release %s is not supported: this operator runs %s to %s; choose one of these, or set annotation %s", target,
			MinorName(oldestSupported), MinorName(newestSupported), hyperv1.SkipReleaseImageValidation)
	}
	return nil
}

func (p Policy) fitsNetwork(target *version.Version) error {
	switch {
	case p.Network == hyperv1.OpenShiftSDN && p.Current == nil && Minor(target) > lastOpenShiftSDN:
		return fmt.Errorf("network type %s cannot be used with release %s: it ended with 4.%d; use %s",
			p.Network, target, lastOpenShiftSDN, hyperv1.OVNKubernetes)
	case p.Network == hyperv1.OpenShiftSDN && p.Current != nil && Minor(target) != Minor(p.Current):
		return fmt.Errorf("release %s cannot replace %s: network type %s does not go over a minor version", target, p.Current, p.Network)
	case p.Network == hyperv1.OVNKubernetes && p.Current == nil && Minor(target) <= lastOpenShiftSDN:
		return fmt.Errorf("network type %s cannot be used with release %s: it begins after 4.%d; choose a newer release", p.Network, target, lastOpenShiftSDN)
	}
	return nil
}

// MinorName is the version without its patch level, such as 4.21.
func MinorName(v *version.Version) string { return fmt.Sprintf("%d.%d", v.Major(), v.Minor()) }
