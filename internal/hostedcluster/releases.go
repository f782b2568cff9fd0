package hostedcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

// recheckRelease is how soon a payload that was found wrong is looked at again: an image may be pushed without any event here.
const recheckRelease = time.Minute

// askAgain is how soon the answer of a registry is looked for that is slow.
const askAgain = 2 * time.Second

// firstWithOperator is the minor version of 4 from which on this operator's own image may run a control plane whose payload has none.
const firstWithOperator = 9

// lookupRelease reads the payload of the control plane, and that of the data plane where it is another one, and reports on them in
// ValidReleaseImage. What is wrong with a payload stops everything that would change the cluster.
func (p *pass) lookupRelease(ctx context.Context) error {
	access, err := p.releaseAccess(ctx)
	if apierrors.IsNotFound(err) {
		return p.rejectRelease(hyperv1.SecretNotFoundReason, err)
	}
	if err != nil {
		return err
	}
	p.pullSecret = access.PullSecret
	if p.imageAccess, err = p.withKnownMirrors(ctx, access); err != nil {
		return err
	}
	dataPlane, err := p.usableRelease(ctx, p.hc.Spec.Release.Image, access)
	if err != nil {
		return err
	}
	controlPlane := dataPlane
	if p.controlPlaneImage() != p.hc.Spec.Release.Image {
		if controlPlane, err = p.usableRelease(ctx, p.controlPlaneImage(), access); err != nil {
			return err
		}
	}
	p.release = controlPlane
	p.hc.Status.PayloadArch = dataPlane.Architecture
	p.helperImage = p.controlPlaneOperatorImage()
	p.conditions().True(hyperv1.ValidReleaseImage, hyperv1.AsExpectedReason, "Release "+p.release.Version+" can be used.")
	return nil
}

func (p *pass) rejectRelease(reason string, err error) error {
	p.conditions().False(hyperv1.ValidReleaseImage, reason, err.Error())
	return &steps.Waiting{For: "a release that can be used: " + err.Error(), After: recheckRelease}
}

// usableRelease reads a payload and checks it.
func (p *pass) usableRelease(ctx context.Context, image string, access release.Access) (*release.Release, error) {
	found, err := p.Releases.Lookup(ctx, image, access)
	var unread *release.Error
	switch {
	case release.Pending(err):
		return nil, &steps.Waiting{For: err.Error(), After: askAgain}
	case errors.As(err, &unread) && unread.Reason == release.ReasonArchNotFound:
		return nil, p.rejectRelease(hyperv1.PayloadArchNotFoundReason, err)
	case errors.As(err, &unread) && !unread.Transient():
		return nil, p.rejectRelease(hyperv1.InvalidImageReason, err)
	case err != nil:
		// Unreachable now: the back-off of errors asks again sooner than a payload that is wrong.
		p.conditions().False(hyperv1.ValidReleaseImage, hyperv1.InvalidImageReason, err.Error())
		return nil, err
	}
	if err := p.releaseAllowed(image, found); err != nil {
		return nil, p.rejectRelease(hyperv1.InvalidImageReason, err)
	}
	return found, nil
}

func (p *pass) releaseAccess(ctx context.Context) (release.Access, error) {
	secret, err := p.readSecret(ctx, p.hc.Spec.PullSecret.Name)
	if err != nil {
		return release.Access{}, fmt.Errorf("spec.pullSecret: %w", err)
	}
	before := kube.Find(p.hc.Status.Conditions, hyperv1.ValidReleaseImage)
	access := release.Access{
		Tenant:     p.hc.Namespace,
		PullSecret: secret.Data[hyperv1.PullSecretKey],
		Mirrors:    release.ContentSources(p.hc.Spec.ImageContentSources),
		Recheck:    before != nil && before.Status == metav1.ConditionFalse,
	}
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

// withKnownMirrors adds the mirrors of the management cluster, which lookups of releases add themselves.
func (p *pass) withKnownMirrors(ctx context.Context, access release.Access) (release.Access, error) {
	if p.Mirrors == nil {
		return access, nil
	}
	known, err := p.Mirrors.List(ctx)
	if err != nil {
		return release.Access{}, fmt.Errorf("read the management cluster's mirrors: %w", err)
	}
	p.mirrors = release.FormatMirrors(known)
	access.Mirrors = append(slices.Clone(access.Mirrors), known...)
	return access, nil
}

// controlPlaneImage is the payload of what runs on the management cluster.
func (p *pass) controlPlaneImage() string {
	if p.hc.Spec.ControlPlaneRelease != nil {
		return p.hc.Spec.ControlPlaneRelease.Image
	}
	return p.hc.Spec.Release.Image
}

// releaseAllowed applies the version policy. A release that is the control plane's alone counts as forced: nothing compares it with
// what runs.
func (p *pass) releaseAllowed(image string, found *release.Release) error {
	_, skip := p.hc.Annotations[hyperv1.SkipReleaseImageValidation]
	policy := release.Policy{AnyVersion: skip}
	if image == p.hc.Spec.Release.Image {
		policy.Current, policy.Network = p.currentVersion(), p.hc.Spec.Networking.NetworkType
	}
	parsed, err := policy.Check(found.Version)
	if err != nil {
		return err
	}
	if found.Images[release.KeyHypershift] == "" && release.Minor(parsed) < firstWithOperator {
		return fmt.Errorf("release %s has no image %s, and this operator cannot stand in before 4.%d; choose a newer release",
			parsed, release.KeyHypershift, firstWithOperator)
	}
	missing := slices.DeleteFunc(found.Missing(release.Required(p.hc.Spec.Platform.Type)...), func(key string) bool { return p.substitute(key) != "" })
	if len(missing) == 0 {
		return nil
	}
	problem := fmt.Errorf("release %s has no images for %s; use a complete release image", parsed, strings.Join(missing, ", "))
	p.missingImages = true
	p.conditions().False(hyperv1.ValidReleaseInfo, hyperv1.MissingReleaseImagesReason, problem.Error())
	return problem
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
	wanted, err := version.ParseSemantic(p.release.Version)
	if err != nil {
		return fmt.Errorf("release version %q: %w", p.release.Version, err)
	}
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
	return &steps.Stopped{Because: problem}
}

// controlPlaneOperatorImage is also the image of the helpers in pods. The payload's may be absent: this operator's has the same program.
func (p *pass) controlPlaneOperatorImage() string {
	return firstImage(p.hc.Annotations[hyperv1.ControlPlaneOperatorImageAnnotation], p.ControlPlaneOperatorImage,
		p.release.Images[release.KeyHypershift], p.OperatorImage)
}

// componentImage of a Cluster API manager: the HostedCluster's annotation, else what this operator was started with, else the payload's.
func (p *pass) componentImage(key string) string {
	return firstImage(p.substitute(key), p.release.Images[key])
}

// substitute replaces the payload's image of a component; empty when nothing does.
func (p *pass) substitute(key string) string {
	switch key {
	case release.KeyClusterAPI:
		return firstImage(p.hc.Annotations[hyperv1.CAPIManagerImageAnnotation], p.ClusterAPIImage)
	case release.KeyAzureProvider:
		return firstImage(p.hc.Annotations[hyperv1.CAPIProviderAzureImageAnnotation], p.AzureProviderImage)
	}
	return ""
}

func firstImage(candidates ...string) string {
	for _, image := range candidates {
		if image != "" {
			return image
		}
	}
	return ""
}
