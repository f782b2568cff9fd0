package hostedcluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/version"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// recheckRelease is how soon a payload that was found wrong is looked at again: an image may be pushed without any event here.
const recheckRelease = time.Minute

// lastOfMajor4 is the minor version that 5.0 renumbers.
const lastOfMajor4 = 23

// The range of releases this operator runs.
var (
	oldestRelease = version.MustParseSemantic("4.14.0")
	newestMinor   = version.MustParseSemantic("5.1.0")
)

// lookupRelease reads the payload of the control plane and reports it in ValidReleaseImage.
func (p *pass) lookupRelease(ctx context.Context) error {
	access, err := p.releaseAccess(ctx)
	if apierrors.IsNotFound(err) {
		return p.rejectRelease(hyperv1.SecretNotFoundReason, err)
	}
	if err != nil {
		return err
	}
	p.pullSecret = access.PullSecret
	found, err := p.Releases.Lookup(ctx, p.controlPlaneImage(), access)
	if err != nil {
		reason := hyperv1.InvalidImageReason
		p.conditions().False(hyperv1.ValidReleaseImage, reason, err.Error())
		var typed *release.Error
		if errors.As(err, &typed) && !typed.Transient() {
			return &waiting{what: err.Error(), after: recheckRelease}
		}
		return err
	}
	if problem := p.invalidRelease(found); problem != nil {
		return p.rejectRelease(hyperv1.InvalidImageReason, problem)
	}
	p.release = found
	p.hc.Status.PayloadArch = found.Architecture
	p.helperImage = p.controlPlaneOperatorImage()
	p.conditions().True(hyperv1.ValidReleaseImage, hyperv1.AsExpectedReason, "Release "+found.Version+" can be used.")
	return nil
}

func (p *pass) rejectRelease(reason string, err error) error {
	p.conditions().False(hyperv1.ValidReleaseImage, reason, err.Error())
	return &waiting{what: err.Error(), after: recheckRelease}
}

func (p *pass) releaseAccess(ctx context.Context) (release.Access, error) {
	secret, err := p.readSecret(ctx, p.hc.Spec.PullSecret.Name)
	if err != nil {
		return release.Access{}, fmt.Errorf("spec.pullSecret: %w", err)
	}
	access := release.Access{PullSecret: secret.Data[hyperv1.PullSecretKey]}
	if p.hc.Spec.AdditionalTrustBundle == nil {
		return access, nil
	}
	bundle, err := p.readConfigMap(ctx, p.hc.Spec.AdditionalTrustBundle.Name)
	if err != nil {
		return release.Access{}, fmt.Errorf("spec.additionalTrustBundle: %w", err)
	}
	access.TrustBundle = []byte(bundle.Data[hyperv1.TrustBundleKey])
	return access, nil
}

// controlPlaneImage is the payload of what runs on the management cluster.
func (p *pass) controlPlaneImage() string {
	if p.hc.Spec.ControlPlaneRelease != nil {
		return p.hc.Spec.ControlPlaneRelease.Image
	}
	return p.hc.Spec.Release.Image
}

func (p *pass) invalidRelease(found *release.Release) error {
	parsed, err := version.ParseSemantic(found.Version)
	if err != nil {
		return fmt.Errorf("release version %q is not a semantic version", found.Version)
	}
	if _, skip := p.hc.Annotations[hyperv1.SkipReleaseImageValidation]; !skip {
		if parsed.LessThan(oldestRelease) || minorOrdinal(parsed) > minorOrdinal(newestMinor) {
			return fmt.Errorf("release %s is not supported: this operator runs %d.%d to %d.%d; annotation %s skips the check", parsed,
				oldestRelease.Major(), oldestRelease.Minor(), newestMinor.Major(), newestMinor.Minor(), hyperv1.SkipReleaseImageValidation)
		}
	}
	if current := p.currentVersion(); current != nil && minorOrdinal(parsed) < minorOrdinal(current) {
		return fmt.Errorf("release %s is older than %s, which the cluster runs; a minor version cannot be taken back", parsed, current)
	}
	// The payload's own operator may be replaced by ours; everything else has to be in it.
	required := make([]string, 0, len(release.RequiredKeys))
	for _, key := range release.RequiredKeys {
		if key != release.KeyHypershift {
			required = append(required, key)
		}
	}
	if missing := found.Missing(required...); len(missing) > 0 {
		return fmt.Errorf("release %s has no images for %s", parsed, strings.Join(missing, ", "))
	}
	return nil
}

// minorOrdinal makes distances between minor versions comparable across the renumbering: 5.0 is 4.23 under another name.
func minorOrdinal(v *version.Version) uint {
	if v.Major() >= 5 {
		return lastOfMajor4 + v.Minor()
	}
	return v.Minor()
}

// currentVersion is the newest version that was rolled out completely; nil before the first.
func (p *pass) currentVersion() *version.Version {
	if p.hc.Status.Version == nil {
		return nil
	}
	for _, entry := range p.hc.Status.Version.History {
		if entry.State != hyperv1.CompletedUpdate {
			continue
		}
		if parsed, err := version.ParseSemantic(entry.Version); err == nil {
			return parsed
		}
	}
	return nil
}

// gateUpgrade holds a change of the minor version back while the cluster says it is not upgradeable.
func (p *pass) gateUpgrade(context.Context) error {
	current := p.currentVersion()
	if current == nil || p.hc.Status.Version.Desired.Image == p.hc.Spec.Release.Image {
		return nil
	}
	forced, isForced := p.hc.Annotations[hyperv1.ForceUpgradeToAnnotation]
	wanted := version.MustParseSemantic(p.release.Version)
	upgradeable := kube.Find(p.hc.Status.Conditions, hyperv1.ClusterVersionUpgradeable)
	var problem string
	switch {
	case upgradeable == nil || upgradeable.Status != "False":
	case isForced && forced != p.hc.Spec.Release.Image:
		problem = fmt.Sprintf("Annotation %s allows %q, not the desired %q.", hyperv1.ForceUpgradeToAnnotation, forced, p.hc.Spec.Release.Image)
	case isForced, p.hc.Spec.ControlPlaneRelease != nil:
	case wanted.Major() == current.Major() && wanted.Minor() == current.Minor():
	default:
		problem = fmt.Sprintf("The upgrade from %s to %s is blocked: %s", current, wanted, upgradeable.Message)
	}
	if problem == "" {
		return nil
	}
	p.blockedUpgrade = problem
	return &waiting{what: problem}
}

func (p *pass) controlPlaneOperatorImage() string {
	switch {
	case p.hc.Annotations[hyperv1.ControlPlaneOperatorImageAnnotation] != "":
		return p.hc.Annotations[hyperv1.ControlPlaneOperatorImageAnnotation]
	case p.ControlPlaneOperatorImage != "":
		return p.ControlPlaneOperatorImage
	case p.release.Images[release.KeyHypershift] != "":
		return p.release.Images[release.KeyHypershift]
	}
	return p.OperatorImage
}

func firstImage(candidates ...string) string {
	for _, image := range candidates {
		if image != "" {
			return image
		}
	}
	return ""
}
